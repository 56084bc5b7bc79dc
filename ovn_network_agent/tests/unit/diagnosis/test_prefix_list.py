# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Entries of a prefix list that match an address."""

from oslotest import base

from ovn_network_agent.common import ip_text
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines
from ovn_network_agent.tests.unit.diagnosis import healthy


class PrefixListTest(base.BaseTestCase):

    def test_lengths(self):
        for entry, matched in (
                (('198.51.100.0/24', 32, 32), True),
                (('198.51.100.0/24', 0, 0), False),
                (('198.51.100.0/24', 0, 32), True),
                (('198.51.100.0/24', 25, 0), True),
                (('198.51.100.0/24', 0, 31), False),
                (('198.51.100.10/32', 0, 0), True),
                (('192.0.2.0/24', 32, 32), False),
                (('any', 0, 0), True)):
            self.assertIs(matched, prefix_list_lines.matches(
                output.Entry(5, 'permit', *entry),
                ip_text.address(healthy.FIP)), entry)
