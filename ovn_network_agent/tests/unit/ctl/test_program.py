# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The help of ovn-network-agent-ctl, and what it says to a typo."""

import contextlib
import inspect
import io
import os
import re

from oslotest import base

from ovn_network_agent.cmd import ctl
from ovn_network_agent.ctl import program
from ovn_network_agent.tests import tools

PAGE = os.path.join(tools.ROOT, 'doc', 'source', 'reference', 'ctl.rst')
# What a help says of a default that is a word or a number.
DEFAULT = re.compile(r'(?:default: (?P<after>[\w.:/-]+)|'
                     r'(?P<before>[\d.]+)(?: seconds)? by default)')


class HelpTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.parser = ctl.parser()
        self.commands = self.parser.commands()

    def test_everything_is_described(self):
        self.assertLess(5, len(self.commands))
        for name, parser in {'': self.parser, **self.commands}.items():
            self.assertTrue(parser.description.endswith('.'), name)
            for action in parser.actions():
                self.assertTrue(action.help or action.dest == 'command',
                                (name, action.dest))

    def test_the_exit_statuses(self):
        said = self.parser.format_help()
        for status in (program.OK, program.FAILED, program.USAGE,
                       program.WAITED, program.NOT_RUNNING):
            self.assertRegex(said, rf'\b{status} [a-z]')
        late = re.search(r'; 3 (.*?); 4 ', said, re.S)[1]
        self.assertEqual(self._late(), set(re.findall('"([a-z-]+)"', late)))
        self.assertIn('exit status', self.commands['health'].format_help())

    def _late(self):
        """The commands whose code has the status of what was too late."""
        return {name for name, parser in self.commands.items()
                if 'WAITED' in self._used(parser.get_default('function'))}

    def _used(self, function):
        """Names in a function, and in those of its module that it calls."""
        found, left = set(), [function]
        while left:
            called = left.pop()
            for name in set(called.__code__.co_names) - found:
                found.add(name)
                own = called.__globals__.get(name)
                if inspect.isfunction(own):
                    left.append(own)
        return found

    def test_everything_is_on_the_page(self):
        """The page is the manual page, too."""
        with open(PAGE) as opened:
            page = opened.read()
        synopsis, _title, rest = page.partition('\nOptions\n')
        for name, parser in self.commands.items():
            self.assertRegex(synopsis, rf'\[OPTION\]... {name} ')
            self.assertRegex(rest, rf'(?m)^``{name}\b')
        for name, parser in {'': self.parser, **self.commands}.items():
            for option in {*parser.options()} - {'-h', '--help', '--version'}:
                self.assertIn(option, page, name)

    def test_every_default_is_that_of_the_code(self):
        found = 0
        for name, parser in {'': self.parser, **self.commands}.items():
            for action in parser.actions():
                values = {'default': action.default, 'const': action.const}
                match = DEFAULT.search((action.help or '') % values)
                said = match and (match['after'] or match['before'])
                if said in (None, 'all', 'at'):
                    # Of a number or an address the help has to tell.
                    self.assertIn(action.default, (
                        None, False, '', [], '==SUPPRESS=='),
                        (name, action.dest))
                    continue
                found += 1
                self.assertIn(said.rstrip(':,;'), [
                    f'{value:g}' if isinstance(value, float) else str(value)
                    for value in values.values()], (name, action.dest))
        self.assertLess(4, found)


class TypoTest(base.BaseTestCase):

    def said(self, *argv):
        """The message about a command line that cannot be used."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            error = self.assertRaises(SystemExit, ctl.main, argv)
        self.assertEqual(program.USAGE, error.code)
        return said.getvalue()

    def test_the_nearest_name(self):
        for argv, meant in (
                (['statsu'], 'status'), (['undrian', '--wait'], 'undrain'),
                (['status', '--jsno'], '--json'),
                (['drain', '--wiat'], '--wait'),
                (['drain', '--timout=5'], '--timeout'),
                (['--sokcet', '/run/x', 'status'], '--socket'),
                (['fips', '--state', 'announcd'], 'announced')):
            self.assertIn(f'did you mean {meant}?', self.said(*argv))

    def test_nothing_is_near(self):
        said = self.said('xyzzy')
        self.assertNotIn('did you mean', said)
        self.assertIn('drain, undrain, status', said)
        self.assertNotIn('did you mean', self.said('status', '--qqq'))
