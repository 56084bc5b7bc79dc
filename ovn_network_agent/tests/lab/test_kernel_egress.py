# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Egress addresses on a link in a VRF, on a kernel that has VRFs."""

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.egress import base


class VrfTest(base.EgressTestCase):

    vrf = 'vrf-x'

    def test_both_families(self):
        """Whatever the kernel demands of the source of a packet."""
        for strict in ('0', '1', '2'):
            self.filter_sources(strict)
            self.run_pass(self.host(), self.host(6))
            for family in (4, 6):
                for target in (base.NEAR[family], base.FAR[family]):
                    self.reaches(base.MACHINE[family], target)
                self.assertFalse(self.pings(base.OTHER[family],
                                            base.FAR[family]))
            self.assertEqual(0, self.counted('untranslated'))
            self.run_pass()
        self.assertGreater(self.counted('translated'), 0)

    def test_the_routes_are_those_of_the_vrf(self):
        self.run_pass(self.host())
        table = ownership.EGRESS_TABLES[
            self.shown('link show out0')[0]['ifindex']]
        self.assertEqual({
            'default': '203.0.113.1', '203.0.113.0/24': None,
            '203.0.114.0/24': '203.0.113.1'}, {
                route['dst']: route.get('gateway') for route in
                self.shown(f'route show table {table}')})
