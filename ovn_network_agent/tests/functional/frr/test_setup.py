# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a real FRR lacks, and that the lines which are named help."""

from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.watches import node_conflicts

FAMILY = ('router bgp 65001', 'address-family ipv4 unicast')


class SetupTest(base.FrrTestCase):

    def setUp(self):
        super().setUp()
        self.addCleanup(self.frr.restart_bgpd)

    def lacks(self):
        return node_conflicts.frr(self.conf)

    def test_redistribution(self):
        self.frr.configure(*FAMILY, 'no redistribute static')
        text, = self.lacks()
        self.assertIn('"router bgp 65001" / "address-family ipv4 unicast" / '
                      '"redistribute static"', text)
        self.frr.configure(*FAMILY, 'redistribute static')
        self.assertEqual([], self.lacks())
        # The other method.
        self.conf.set_override('announce_method', 'kernel', 'fip_route')
        text, = self.lacks()
        self.assertIn('"redistribute kernel"', text)
        self.frr.configure(*FAMILY, 'redistribute kernel')
        self.assertEqual([], self.lacks())

    def test_a_filter(self):
        without = f'no neighbor 10.0.0.2 prefix-list {base.LIST} out'
        self.frr.configure(*FAMILY, without)
        text, = self.lacks()
        self.assertIn(f'"neighbor ADDRESS prefix-list {base.LIST} out"', text)
        # A route map that the routes pass does as well.
        self.frr.configure('route-map INNER permit 10',
                           f'match ip address prefix-list {base.LIST}')
        self.addCleanup(self.frr.configure, 'no route-map INNER')
        self.frr.configure('route-map OUT permit 10', 'call INNER')
        self.addCleanup(self.frr.configure, 'no route-map OUT')
        self.assertEqual([text], self.lacks())
        for line in ('neighbor 10.0.0.2 route-map OUT out',
                     'redistribute static route-map OUT'):
            self.frr.configure(*FAMILY, line)
            self.assertEqual([], self.lacks(), line)
            self.frr.configure(*FAMILY, 'no ' + line)
            if line.startswith('redistribute'):
                self.frr.configure(*FAMILY, 'redistribute static')
            self.assertEqual([text], self.lacks(), line)
        self.conf.set_override('frr_prefix_list', '', 'frr')
        self.assertEqual([], self.lacks())

    def test_a_description(self):
        """The list is then there without an entry, and denies nothing."""
        described = f'ip prefix-list {base.LIST} description ours'
        self.frr.configure('ip route 203.0.113.9/32 ' + base.BRIDGE)
        self.addCleanup(self.frr.configure, 'no ' + described.removesuffix(
            ' ours'), 'no ip route 203.0.113.9/32 ' + base.BRIDGE)
        self.frr.wait_for_session()
        self.frr.configure(described)
        # The agent's last entry comes and goes.
        entry = f'ip prefix-list {base.LIST} seq 5 permit 198.51.100.0/24'
        self.frr.configure(entry)
        self.frr.configure('no ' + entry)
        base.wait_until(lambda: '203.0.113.9/32' in self.frr.learned(),
                        'learned')
        text, = self.lacks()
        self.assertIn(f'"no ip prefix-list {base.LIST} description"', text)
        self.frr.configure(f'no ip prefix-list {base.LIST} description')
        base.wait_until(lambda: not self.frr.learned(), 'withdrawn')
        self.assertEqual([], self.lacks())

    def test_no_neighbour_and_no_instance(self):
        self.frr.configure('router bgp 65001', 'no neighbor 10.0.0.2')
        self.assertIn('has no neighbours', ' '.join(self.lacks()))
        self.frr.configure('no router bgp 65001')
        none, redistribution = self.lacks()
        self.assertIn('add "router bgp ASN"', none)
        self.assertIn('"redistribute static"', redistribution)

    def test_another_vrf(self):
        self.conf.set_override('vrf_name', 'blue', 'frr')
        self.root_side(vrf_name='blue')
        unknown, none, redistribution = self.lacks()
        self.assertIn('zebra does not know VRF blue', unknown)
        self.assertIn('add "router bgp ASN vrf blue"', none)
        self.assertIn('BGP of VRF blue does not redistribute',
                      redistribution)
        self.frr.configure(
            'router bgp 65001 vrf blue', 'neighbor 10.9.9.9 remote-as 65003',
            'address-family ipv4 unicast', 'redistribute static',
            f'neighbor 10.9.9.9 prefix-list {base.LIST} out')
        self.addCleanup(self.frr.configure, 'no router bgp 65001 vrf blue')
        text, = self.lacks()
        self.assertIn('zebra does not know VRF blue', text)
