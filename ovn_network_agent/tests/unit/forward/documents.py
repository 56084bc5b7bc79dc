# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Texts of files of rules, and the messages about bad ones."""

import textwrap

from oslotest import base

from ovn_network_agent.files import flaws
from ovn_network_agent.forward import rules

NAME = '/etc/rules.yaml'


def vips(text):
    """The VIPs of a text."""
    return rules.parse(textwrap.dedent(text).encode(), NAME)


class RulesTestCase(base.BaseTestCase):

    def bad(self, text):
        """The messages about a text, without the name of the file."""
        error = self.assertRaises(flaws.BadFile, vips, text)
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
