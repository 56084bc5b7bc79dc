# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the program says and returns before it needs OVN."""

import os
import re
import subprocess

from ovn_network_agent import version
from ovn_network_agent.tests.functional.cmd import base


class ProgramTest(base.ProgramTestCase):

    def test_version(self):
        ended = self.run_agent('--version')
        self.assertEqual(0, ended.returncode)
        self.assertEqual('ovn-network-agent ' + version.STRING,
                         ended.stdout.strip())

    def test_help_names_the_options_of_the_command_line(self):
        ended = self.run_agent('--help')
        self.assertEqual(0, ended.returncode)
        for option in ('--config-file', '--dry-run', '--check-config'):
            self.assertIn(option, ended.stdout)
        said = ''.join(ended.stdout.split())
        self.assertIn('Defaultstothefirstovn-network-agent.confin~/.ovn-',
                      said)
        self.assertNotIn('DefaultstoNone', said)
        self.assertNotIn('Default:None', said)
        self.assertIn('exitstatus:0:stopped', said.lower())
        self.assertIn('onagatewaynode', said)

    def refused(self, *arguments):
        """What the program says of arguments that it cannot use."""
        ended = self.run_agent(*arguments)
        self.assertEqual(2, ended.returncode, ended.stderr)
        self.assertNotIn('Traceback', ended.stderr)
        return ended.stderr

    def test_a_file_that_is_not_there(self):
        """Or is a folder, or no configuration."""
        for path in ('/nowhere/agent.conf', self.directory,
                     self.config('this is not a line\n')):
            self.assertIn(path, self.refused('--config-file', path))

    def test_names_that_are_unknown(self):
        self.assertIn('--no-such-thing', self.refused('--no-such-thing'))
        self.assertIn('did you mean --dry-run?', self.refused('--dyr-run'))
        # Beside an error, and beside names of Neutron's options.
        self.assertIn('did you mean ovn_nb_remote?', self.refused(
            '--check-config', '--config-file', self.config(
                '[ovn]\novn_nb_remotes = tcp:192.0.2.1:6641\n'
                'ovn_sb_connection = tcp:192.0.2.1:6642\n', remotes=False)))

    def check_with_etc(self, *args, **files):
        """Errors of a check with these files alone in the agent's /etc.

        :param files: bridge_dev that a file sets, by the name of the file;
            none of them can be used, so each is named
        :returns: set of the values that were found
        """
        etc = os.path.join(self.directory, 'etc')
        for name, device in files.items():
            path = os.path.join(etc, name.replace('__', '.conf.d/') + '.conf')
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w') as opened:
                opened.write(f'[DEFAULT]\nbridge_dev = {device}\n')
        ended = subprocess.run(
            ['unshare', '--mount', 'sh', '-c',
             'mount -t tmpfs none /etc && mkdir /etc/ovn-network-agent && '
             'mount --bind "$0" /etc/ovn-network-agent && exec "$@"', etc,
             *self.command('--check-config', *args)],
            env={**self.env, 'HOME': self.directory}, cwd=self.directory,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=base.LIMIT)
        self.assertEqual(2, ended.returncode, ended.stderr)
        return set(re.findall(r"bridge_dev: '([^']*)'", ended.stderr))

    def test_where_files_are_looked_for(self):
        """Row CFG-03: in /etc, unless the command line names files."""
        named = self.config('', bridge_dev='named-by-an-argument')
        files = {'ovn-network-agent': 'of-the-main-file'}
        self.assertEqual({'of-the-main-file'}, self.check_with_etc(**files))
        files['ovn-network-agent__10-more'] = 'of-the-directory'
        self.assertEqual({'of-the-directory'}, self.check_with_etc(**files))
        self.assertEqual({'named-by-an-argument'}, self.check_with_etc(
            '--config-file', named, '--config-dir', self.site, **files))
        # Of several the last one on the line counts.
        arguments = [['--config-file', named], [
            '--config-dir', '/etc/ovn-network-agent/ovn-network-agent.conf.d']]
        for order, wanted in ((arguments, 'of-the-directory'),
                              (arguments[::-1], 'named-by-an-argument')):
            self.assertEqual({wanted}, self.check_with_etc(
                *order[0], *order[1], **files))

    def test_strict_makes_a_warning_fatal(self):
        config = self.config('[nonsense]\nx = 1\n', colour='red')
        self.assertEqual(0, self.run_agent(
            '--check-config', '--config-file', config).returncode)
        ended = self.run_agent('--check-config', '--strict',
                               '--config-file', config)
        self.assertEqual(2, ended.returncode, ended.stderr)
        for word in ('colour', 'nonsense'):
            self.assertIn(word, ended.stderr)
        self.assertEqual('', ended.stdout)
        ended = self.run_agent('--strict', '--config-file', config)
        self.assertEqual(2, ended.returncode)
        self.assertIn('--check-config', ended.stderr)

    def test_no_template_for_the_completion(self):
        ended = self.run_agent('--shell_completion', 'bash')
        self.assertNotIn('configuration file', ended.stderr)
