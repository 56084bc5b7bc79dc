# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The networks whose packets to VIPs are let in."""

from ovn_network_agent import model
from ovn_network_agent.model import port_forwards
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import test_port_forward


class GuardTest(test_port_forward.PortForwardTestCase):

    def test_provider_networks_and_the_guard(self):
        # Row PF-13.
        router = cloud.router(ports=(
            cloud.port(networks=('198.51.100.1/24', '2001:db8::1/64')),
            cloud.port(2, local=False, networks=('192.0.2.1/24',))))
        four = {('ip', 'provider_networks', '198.51.100.0/24'),
                ('ip', 'guarded', 'veth-default')}
        six = {('ip6', 'provider_networks', '2001:db8::/64'),
               ('ip6', 'guarded', 'veth-default')}
        self.assertEqual(four, self.elements(router,
                                             port_forwards.Extent((4,))))
        self.assertEqual(four | six, self.elements(
            router, port_forwards.Extent((4, 6))))

    def test_networks_of_a_standby_switch_no_guard_on(self):
        ports = [model.GroupPort('cr-lrp-1', chassis, 'lrp-1', (network,
                                                                'fd00::1/64'))
                 for chassis, network in (
                     (cloud.OTHER, '198.51.100.1/24'),
                     (cloud.CHASSIS, '192.0.2.1/24'))]
        group = model.GatewayGroup('HA_Chassis_Group', ports=tuple(ports))

        def wants(versions, **options):
            return {r.key for r in self.driver(**options).resources(
                group, cloud.node(extent=versions and port_forwards.Extent(
                    versions)))}

        four = {('ip', 'provider_networks', '198.51.100.0/24')}
        six = {('ip6', 'provider_networks', 'fd00::/64')}
        self.assertEqual(four, wants((4,)))
        self.assertEqual(four | six, wants((4, 6)))
        self.assertEqual(set(), wants(None))
        self.assertEqual(set(), wants(
            (4, 6), fip_route__standby_prepare=False))
        self.assertEqual(six, wants((4, 6), network_cidr=['203.0.113.0/24']))

    def test_no_network_no_guard(self):
        # Trap T63, row PF-14.
        router = cloud.router(ports=(cloud.port(networks=()),))
        self.assertEqual(set(), self.elements(router,
                                              port_forwards.Extent((4,))))

    def test_no_guard_in_the_default_vrf(self):
        self.assertEqual(
            {('ip', 'provider_networks', '198.51.100.0/24')},
            self.elements(cloud.router(), port_forwards.Extent((4,)),
                          frr__vrf_name=''))

    def test_networks_by_hand(self):
        options = {'network_cidr': ['203.0.113.0/25', '203.0.113.128/25']}
        self.assertEqual(set(), self.elements(
            cloud.router(), port_forwards.Extent((4,)), **options))
        node = cloud.node(extent=port_forwards.Extent((4,)))
        self.assertEqual(
            {('ip', 'provider_networks', '203.0.113.0/24'),
             ('ip', 'guarded', 'veth-default')},
            {r.key for r in self.driver(**options).resources(node, node)})
