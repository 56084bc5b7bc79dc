# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Text of others can neither end a line nor change a screen."""

from oslotest import base

from ovn_network_agent.common import control_characters


class PrintableTest(base.BaseTestCase):

    def test_a_line(self):
        for text, shown in (
                ('', ''), ('router 1', 'router 1'), ('Zürich', 'Zürich'),
                ('a\nb\r\tc', 'a\\nb\\r\\tc'), ('\x1b[2J', '\\x1b[2J'),
                ('\u202eabc', '\\u202eabc'), ('\ud800', '\\ud800')):
            self.assertEqual(shown, control_characters.line(text))

    def test_lines(self):
        self.assertEqual('one\n  two\\x07\n  ',
                         control_characters.lines('one\ntwo\x07\n'))
        self.assertEqual('one', control_characters.lines('one'))
