# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The completion of bash, generated from the parsers and run in a bash."""

import os
import subprocess

import fixtures
from oslotest import base

from ovn_network_agent.tests import tools

completion = tools.load('completion')
RUN = '''
source "$1" || exit
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"_${1//-/_}"
printf '%s\\n' "${COMPREPLY[@]}"
'''


class CompletionTest(base.BaseTestCase):

    def complete(self, *words):
        """What a bash offers for the last word, a set.

        :param words: the words on the line, the program first
        """
        ended = subprocess.run(
            ['bash', '--norc', '-c', RUN, 'bash',
             str(completion.FOLDER / words[0]), *words],
            capture_output=True, text=True, check=True,
            cwd=self.useFixture(fixtures.TempDir()).path)
        self.assertEqual('', ended.stderr)
        return {*ended.stdout.split()}

    def ctl(self, *words):
        return self.complete('ovn-network-agent-ctl', *words)

    def test_the_files_are_up_to_date(self):
        for path, text in completion.files().items():
            self.assertEqual(text, path.read_text(),
                             'run tools/completion.py --write')
            ended = subprocess.run(['bash', '-n', str(path)])
            self.assertEqual(0, ended.returncode)

    def test_commands(self):
        self.assertLessEqual({'drain', 'undrain', 'status', 'health',
                              '--socket', '--version'}, self.ctl(''))
        self.assertEqual({'status'}, self.ctl('stat'))
        self.assertEqual({'--config-file', '--config-dir'},
                         self.ctl('--conf'))

    def test_options_of_a_command(self):
        self.assertEqual({'--wait'}, self.ctl('drain', '--w'))
        self.assertIn('--force', self.ctl('drain', '--router', 'r1', ''))
        self.assertNotIn('--force', self.ctl('undrain', ''))
        # The value of an option before the command is no command.
        self.assertEqual({'--json'}, self.ctl(
            '--socket', 'drain', 'status', '--j'))

    def test_values(self):
        self.assertEqual({'announced'}, self.ctl('fips', '--state', 'ann'))
        self.assertEqual(set(), self.ctl('drain', '--timeout', ''))
        folder = self.useFixture(fixtures.TempDir()).path
        path = os.path.join(folder, 'control.ctl')
        open(path, 'w').close()
        self.assertEqual({path}, self.ctl('--socket',
                                          os.path.join(folder, 'con')))

    def test_the_agent(self):
        self.assertEqual({'--dry-run'}, self.complete(
            'ovn-network-agent', '--dr'))
        self.assertLessEqual({'--check-config', '--config-file', '--version'},
                             self.complete('ovn-network-agent', ''))
        folder = self.useFixture(fixtures.TempDir()).path
        os.mkdir(os.path.join(folder, 'etc'))
        self.assertEqual({folder + '/etc'}, self.complete(
            'ovn-network-agent', '--config-file', folder + '/e'))
