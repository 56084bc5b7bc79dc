# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The sample configuration, and the help of the command line."""

import collections
import contextlib
from importlib import metadata
import io
import os
import pathlib
import re
import subprocess
import sys

from oslo_config import cfg
from oslo_config import generator

from ovn_network_agent.conf import command_line
from ovn_network_agent.conf import opts
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.unit.conf import base

ROOT = pathlib.Path(__file__).resolve().parents[4]
TEXT = (ROOT / 'etc' / 'ovn-network-agent' /
        'ovn-network-agent.conf.sample').read_text()
GENERATOR = os.path.join('etc', 'oslo-config-generator',
                         'ovn-network-agent.conf')
VALIDATOR = 'import sys; from oslo_config import validator; ' \
    'sys.exit(validator.main())'


def all_set(text):
    """The sample with each option set: to its default, or to some text."""
    return re.sub(
        r'(?m)^#(\w+) = ?(.*)$', lambda match:
        f'{match[1]} = {match[2].replace("<None>", "some text")}', text)


def ours(text):
    """The parts from our own namespace.

    The others are texts of the installed libraries and change with them.
    """
    found = []
    for section in re.split(r'(?m)^(?=\[)', text):
        header = section.partition('\n')[0]
        for part in re.split(r'(?m)^(?=#\n# From )', section)[1:]:
            if part.startswith('#\n# From ovn_network_agent\n'):
                found.append((header, part.rstrip()))
    return found


class SampleTest(base.ConfTestCase):

    def test_is_current(self):
        path = self.file('', 'regenerated')
        conf = cfg.ConfigOpts()
        generator.register_cli_opts(conf)
        conf(['--namespace', 'ovn_network_agent', '--wrap-width', '79',
              '--output-file', path], default_config_files=[])
        generator.generate(conf)
        self.assertEqual(ours(pathlib.Path(path).read_text()), ours(TEXT),
                         'run "tox -e genconfig" and commit what changed')

    def test_mentions_every_option_once(self):
        # Two groups may have an option of the same name.
        for name, number in collections.Counter(
                opt.dest for _group, opt in opts.everything()).items():
            self.assertEqual(
                number, len(re.findall(f'(?m)^#{name} = ?', TEXT)), name)

    def validated(self, text):
        """The end of oslo-config-validator, and its output."""
        # The code of this tree, whatever is installed.
        done = subprocess.run(
            [sys.executable, '-c', VALIDATOR, '--config-file', GENERATOR,
             '--input-file', self.file(text, 'every.conf')], cwd=ROOT,
            capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_the_validator_accepts_every_option(self):
        text = all_set(TEXT)
        lines = [line.partition(' ')[0] for line in text.splitlines()
                 if not line.startswith('#')]
        for section in ('[agent]', '[oslo_reports]', '[privsep_kernel]'):
            self.assertIn(section, lines)
        for option in ('root_helper_daemon', 'ovn_nb_remote', 'log_file',
                       'file_event_handler', 'helper_command'):
            self.assertIn(option, lines)
        self.assertEqual(0, self.validated(text)[0], self.validated(text))
        status, said = self.validated(text + '[agent]\nnothing = 1\n')
        self.assertEqual(1, status)
        self.assertIn('nothing', said)

    def test_can_be_used_as_it_is(self):
        conf = configs.loaded('--config-file', self.file(TEXT))
        self.assertEqual('br-ex', conf.bridge_dev)


class CommandLineTest(base.ConfTestCase):

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
