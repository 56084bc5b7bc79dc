# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The options of the agent's command line, and their help."""

import contextlib
from importlib import metadata
import io

from oslotest import base

from ovn_network_agent.conf import command_line


class CommandLineTest(base.BaseTestCase):

    def said(self, *argv):
        """What the parser prints before it ends the program."""
        out, error = io.StringIO(), io.StringIO()
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(error)):
            self.assertRaises(SystemExit, command_line.parse, list(argv),
                              '1.2.3')
        return out.getvalue() + error.getvalue()

    def test_every_option_of_the_parser_is_known(self):
        """For the completion and for the manual page."""
        known = {text for texts, _value, _help in command_line.options()
                 for text in texts}
        self.assertEqual(set(), {
            word.strip(',') for line in self.said('--help').splitlines()
            if line.startswith('  -') for word in line.split('  ')[1].split()
            if word.startswith('-')} - known)

    def test_the_defaults_in_the_help_are_those_of_the_code(self):
        """The library would say None of each."""
        said = ' '.join(self.said('--help').split())
        found = 0
        for option in self.of_the_library():
            if '%(default)s' in (option.help or ''):
                found += 1
                self.assertIn(option.help.replace(
                    '%(default)s', option.default).replace('%%', '%'), said)
        self.assertLess(0, found)
        self.assertNotIn('None', said)

    def of_the_library(self):
        """The options as oslo.log declares them."""
        point, = metadata.entry_points(group='oslo.config.opts',
                                       name='oslo.log')
        ours = {option.dest for option in command_line.probe().registered}
        return [option for _group, options in point.load()()
                for option in options if option.dest in ours]

    def test_hints(self):
        for given, meant in (('--dyr-run', '--dry-run'),
                             ('--chek-config', '--check-config'),
                             ('--confg-file=/x', '--config-file')):
            self.assertIn(f'did you mean {meant}?', self.said(given))
        self.assertNotIn('did you mean', self.said('--xyzzy'))
