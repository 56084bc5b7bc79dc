# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The completions, generated from the parsers; that of bash in a bash."""

import os
import subprocess

import fixtures
from oslotest import base

from ovn_network_agent.tests import completing
from ovn_network_agent.tests import tools

completion = tools.load('completion')
RUN = '''
source "$1" || exit
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"_shtab_${1//-/_}"
printf '%s\\n' "${COMPREPLY[@]}"
'''


class CompletionTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.agent = self.useFixture(completing.Agent())

    def complete(self, *words):
        """What a bash offers for the last word, a set.

        :param words: the words on the line, the program first
        """
        ended = subprocess.run(
            ['bash', '--norc', '-c', RUN, 'bash',
             str(completion.FOLDER / 'bash' / words[0]), *words],
            capture_output=True, text=True, check=True, cwd=self.agent.path,
            env=self.agent.environment)
        self.assertEqual('', ended.stderr)
        return {*ended.stdout.split()}

    def ctl(self, *words):
        return self.complete('ovn-network-agent-ctl', *words)

    def test_the_files_are_up_to_date(self):
        wanted = completion.files()
        for path, text in wanted.items():
            self.assertEqual(text, path.read_text(),
                             'run tools/completion.py --write')
        self.assertEqual(wanted.keys(), {
            path for path in completion.FOLDER.rglob('*') if path.is_file()})

    def test_commands(self):
        self.assertLessEqual({'drain', 'undrain', 'status', 'health'},
                             self.ctl(''))
        self.assertEqual({'status'}, self.ctl('stat'))
        self.assertEqual({'--config-file', '--config-dir'}, self.ctl('--conf'))

    def test_options_of_a_command(self):
        self.assertEqual({'--wait'}, self.ctl('drain', '--w'))
        self.assertIn('--force', self.ctl('drain', '--router', 'r1', '-'))
        self.assertNotIn('--force', self.ctl('undrain', '-'))
        # An option before the command has a value.
        self.assertEqual({'--json'}, self.ctl(
            '--socket', '/run/a.ctl', 'status', '--j'))

    def test_values(self):
        self.assertEqual({'announced'}, self.ctl('fips', '--state', 'ann'))
        self.assertEqual(set(), self.ctl('drain', '--timeout', 'x'))
        self.assertEqual({'frr-daemons'}, self.ctl('doctor', 'frr-d'))
        self.assertEqual({'frr_static'}, self.ctl('resync', 'flow', 'frr_s'))
        folder = self.useFixture(fixtures.TempDir()).path
        path = os.path.join(folder, 'control.ctl')
        open(path, 'w').close()
        self.assertEqual({path}, self.ctl('--socket',
                                          os.path.join(folder, 'con')))

    def test_values_of_the_running_agent(self):
        self.assertEqual({'198.51.100.10', '198.51.100.11'},
                         self.ctl('explain', '198'))
        self.assertEqual({'2001:db8::1'}, self.ctl('fips', '2001'))
        self.assertEqual({'router1'}, self.ctl('drain', '--router', 'r'))
        # A tenant names routers, and a shell expands what is offered.
        self.assertEqual({'router1'}, self.ctl('drain', '--router', ''))
        self.assertEqual([], self.agent.owned())

    def test_without_an_agent(self):
        self.agent.stop()
        self.assertEqual(set(), self.ctl('drain', '--router', ''))

    def test_the_agent(self):
        self.assertEqual({'--dry-run'}, self.complete(
            'ovn-network-agent', '--dr'))
        self.assertLessEqual({'--check-config', '--config-file', '--version'},
                             self.complete('ovn-network-agent', '-'))
        folder = self.useFixture(fixtures.TempDir()).path
        os.mkdir(os.path.join(folder, 'etc'))
        self.assertEqual({folder + '/etc'}, self.complete(
            'ovn-network-agent', '--config-file', folder + '/e'))
