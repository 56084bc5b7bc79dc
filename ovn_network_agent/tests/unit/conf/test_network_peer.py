# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent.conf import validate
from ovn_network_agent.tests.unit.conf import base


class NetworkPeerTest(base.ConfTestCase):

    def test_priorities_have_an_order(self):
        text = '[DEFAULT]\ndrivers = {}\n[network_peer]\nallow_priority = {}'
        for priority in (499, 500):
            found, = validate.problems(self.load(text.format(
                'network_peer', priority)))
            self.assertIn('[network_peer] allow_priority', found)
            self.assertIn('drop_priority (500)', found)
        for drivers, priority in (('network_peer', 501), ('fip_route', 1)):
            self.assertEqual([], validate.problems(self.load(text.format(
                drivers, priority))))

    def test_egress_addresses_come_behind_what_drops(self):
        text = ('[DEFAULT]\ndrivers = {}\n[egress_ip]\npolicy_priority = {}'
                '\n[network_peer]\ndrop_priority = 200\n')
        both = 'network_peer,egress_ip'
        for priority in (200, 600):
            found, = validate.problems(self.load(text.format(both, priority)))
            self.assertIn(f'[egress_ip] policy_priority = {priority}', found)
            self.assertIn('drop_priority is 200', found)
            self.assertIn('choose a number below it', found)
        for drivers, priority in ((both, 199), ('network_peer', 600),
                                  ('egress_ip', 600)):
            self.assertEqual([], validate.problems(self.load(text.format(
                drivers, priority))))
