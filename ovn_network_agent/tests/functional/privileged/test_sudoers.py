# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The sudoers lines that are shipped, with the real sudo."""

import errno
import os
import shlex
import shutil
import subprocess
import sys

from ovn_network_agent import privileged
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.tests.functional.privileged import children
from ovn_network_agent.tests.functional.privileged import sudoers_child


@needs.needs(shutil.which('sudo') and shutil.which('visudo'), 'needs sudo')
class SudoersTest(base.KernelTestCase):

    def pinned(self):
        """Commands of the file, a list of str."""
        text = sudoers_child.SUDOERS.read_text().replace('\\\n', ' ')
        alias = next(line for line in text.splitlines()
                     if line.startswith('Cmnd_Alias '))
        return [shlex.join(shlex.split(command)) for command
                in alias.partition('=')[2].split(',')]

    def test_visudo_takes_them(self):
        subprocess.run(
            ['visudo', '--check', '--strict', '--quiet',
             f'--file={sudoers_child.SUDOERS}'], check=True)

    def test_no_word_is_free(self):
        for command in self.pinned():
            self.assertEqual(set(), set('*?[]^$!') & set(command), command)

    def test_the_agent_runs_these_and_gets_nothing_else(self):
        path = os.path.dirname(sys.executable)
        got = children.run(sudoers_child,
                           PATH=f'{path}:{os.environ["PATH"]}')
        prefix = 'sudo -n '
        self.assertEqual(
            sorted(prefix + command for command in self.pinned()),
            sorted(got['commands'].values()))
        self.assertEqual({c.name for c in privileged.CONTEXTS},
                         set(got['commands']))
        self.assertEqual(sudoers_child.NUMBER, got['uid'])
        # They work, and know their files alone.
        self.assertEqual([], got['call'])
        self.assertEqual([errno.EPERM], got['other'])
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])
        self.assertEqual([], got['left'])
        self.assertEqual([], got['through'])
