# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The completions of fish and zsh, in a fish and in a zsh."""

import pathlib
import shutil
import subprocess

from oslotest import base

from ovn_network_agent.tests import completing
from ovn_network_agent.tests import needs

FOLDER = (pathlib.Path(__file__).resolve().parents[4] / 'contrib' /
          'completion')
PROGRAM = 'ovn-network-agent-ctl'
# A terminal of zsh, in which the function of the completion shows what it got.
_ZSH = '''
zmodload zsh/zpty
zpty shell zsh -f -i
ask() { zpty -w shell "$1"; zpty -r -m shell found "*$2*"; }
ask "PROMPT=; unsetopt zle_bracketed_paste 2>/dev/null; print rea''dy" ready
ask "fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -D" ''
ask "LISTMAX=0; zstyle ':completion:*' list-colors ''; print se''t" set
zpty -w -n shell "$2"$'\\t'
zpty -r -m shell found "*$3*" && print -r -- "$found"
zpty -d shell
'''


@needs.needs(shutil.which('fish') and shutil.which('zsh'),
             'runs fish and zsh')
class ShellsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.agent = self.useFixture(completing.Agent())

    def run_shell(self, *argv):
        done = subprocess.run(
            argv, capture_output=True, text=True, cwd=self.agent.path,
            env=self.agent.environment, timeout=60)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        return done.stdout

    def fish(self, line):
        """What fish offers for the last word."""
        shown = self.run_shell(
            'fish', '--no-config', '-c', f'source {FOLDER}/fish/{PROGRAM}.fish'
            f'; complete -C "{PROGRAM} {line}"')
        return {each.partition('\t')[0] for each in shown.splitlines()}

    def test_fish(self):
        self.assertEqual({'drain'}, self.fish('dra'))
        self.assertEqual({'announced'}, self.fish('fips --state ann'))
        self.assertEqual({'frr-daemons'}, self.fish('doctor frr-d'))
        self.assertEqual({'frr_static'}, self.fish('resync frr_s'))
        self.assertEqual({'router1'}, self.fish('drain --router '))
        self.assertEqual({'198.51.100.10', '198.51.100.11'},
                         self.fish('explain 198'))
        self.assertEqual([], self.agent.owned())

    def zsh(self, line, wanted):
        """What zsh makes of a line and a tabulator, until it shows a text."""
        return self.run_shell('zsh', '-f', '-c', _ZSH, 'zsh',
                              str(FOLDER / 'zsh'), f'{PROGRAM} {line}', wanted)

    def test_zsh(self):
        for line, wanted in (('dra', 'drain '), ('doctor frr-d', 'daemons'),
                             ('fips --state ann', 'announced'),
                             ('drain --router r', 'router1'),
                             ('explain 2001', '2001:db8::1')):
            self.assertIn(wanted, self.zsh(line, wanted))
        self.assertEqual([], self.agent.owned())

    def test_syntax(self):
        for path in FOLDER.rglob('*'):
            if path.is_file():
                self.run_shell(path.parent.name, '-n', str(path))
