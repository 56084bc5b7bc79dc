# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tables and colours for people."""

import io
import os
import pty

import fixtures
from oslotest import base

from ovn_network_agent.ctl import program


class TablesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        for name, value in (('NO_COLOR', None), ('TERM', 'xterm')):
            self.useFixture(fixtures.EnvironmentVariable(name, value))

    def terminal(self):
        """The side of a pseudo-terminal that a program writes to."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        opened = os.fdopen(theirs, 'w')
        self.addCleanup(opened.close)
        return opened

    def test_columns_are_aligned(self):
        self.assertEqual(
            'A     B\n'
            'long  x\n'
            's     yy\n',
            program.render(['A', 'B'], [['long', 'x'], ['s', 'yy']]))

    def test_a_colour_takes_no_place(self):
        plain = program.render(['A', 'B'], [['x', 'y'], ['long', 'z']])
        stream = self.terminal()
        red = program.coloured('x', program.BAD, stream)
        self.assertEqual('\x1b[31mx\x1b[0m', red)
        self.assertEqual(plain, program.render(
            ['A', 'B'], [[red, 'y'], ['long', 'z']]).replace(red, 'x'))

    def test_only_a_terminal_gets_colours(self):
        self.assertEqual('x', program.coloured('x', program.BAD,
                                               io.StringIO()))

    def test_no_colours_where_nobody_wants_them(self):
        stream = self.terminal()
        for name, value in (('NO_COLOR', '1'), ('TERM', 'dumb')):
            with fixtures.EnvironmentVariable(name, value):
                self.assertEqual('x', program.coloured('x', program.BAD,
                                                       stream))
