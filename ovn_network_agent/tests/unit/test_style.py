# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The style checks: the same in tox, in tools/test and before a commit."""

import os
import pathlib
import re

from oslotest import base
import yaml

from ovn_network_agent.tests import tools

ROOT = pathlib.Path(tools.ROOT)
_SHELL = re.compile(r'#! ?/(usr/)?bin/(env )?(ba)?sh\n')
# Shell, without a first line that says so.
_SOURCED = {'devstack/settings', 'devstack/plugin.sh'}
_FOLDERS = ('.ci', 'contrib', 'devstack', 'tools')


def scripts():
    """Paths of the programs of the shell."""
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob('*')):
            if path.is_file() and path.suffix != '.pyc' and _SHELL.match(
                    path.read_text(encoding='utf-8', errors='replace')):
                yield os.path.relpath(path, ROOT)


class StyleTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.commands = tools.load('style').commands(
            (ROOT / 'tox.ini').read_text())
        with open(ROOT / '.pre-commit-config.yaml') as opened:
            repository, = yaml.safe_load(opened)['repos']
        self.hooks = repository['hooks']

    def test_a_commit_is_checked_as_tox_checks(self):
        self.assertEqual(5, len(self.commands))
        self.assertEqual(self.commands, [hook['entry'] for hook in self.hooks])
        self.assertEqual({False}, {hook['pass_filenames']
                                   for hook in self.hooks})

    def test_with_the_same_programs(self):
        lines = (ROOT / 'tools' / 'style-requirements.txt').read_text()
        self.assertEqual(
            {line.partition('#')[0].strip() for line in lines.splitlines()
             if not line.startswith('#')},
            {one for hook in self.hooks
             for one in hook['additional_dependencies']})

    def test_all_programs_of_the_shell_are_checked(self):
        shell, = [command for command in self.commands
                  if command.startswith('bashate ')]
        self.assertEqual(_SOURCED | set(scripts()), set(shell.split()[3:]))
