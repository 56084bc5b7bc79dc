# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Texts of files of rules, and the messages about bad ones."""

import textwrap

from oslotest import base

from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import rules

NAME = '/etc/rules.yaml'


def vips(text):
    """The VIPs of a text."""
    return rules.parse(textwrap.dedent(text).encode(), NAME)


class RulesTestCase(base.BaseTestCase):

    def bad(self, text):
        """The messages about a text, without the name of the file."""
        error = self.assertRaises(file_problems.BadFile, vips, text)
        for message in error.messages:
            self.assertTrue(message.startswith(NAME + ', line '), message)
        return [message.removeprefix(NAME + ', ')
                for message in error.messages]

    def says(self, text, *parts):
        """There is one message, and it has these parts."""
        messages = self.bad(text)
        self.assertEqual(1, len(messages), messages)
        for part in parts:
            self.assertIn(part, messages[0])

    def vip(self, key, rule='proto: tcp, port: 53, dest_addr: 10.0.0.5'):
        return f'''\
            port_forwards:
            - vip: 192.0.2.53
              {key}
              rules:
              - {{{rule}}}
            '''

    def rule(self, rule):
        return self.vip('manage_vip: true', rule)
