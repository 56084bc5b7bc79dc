# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits of the root side for the devices of provider segments."""

import errno

from oslotest import base

from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.tests.unit import world


class SegmentLimitsTest(base.BaseTestCase):

    def limits(self, **options):
        return limits.from_conf(world.conf(
            further_bridges=['br-two'], **options))

    def refused(self, function, *args):
        error = self.assertRaises(OSError, function, *args)
        self.assertEqual(errno.EPERM, error.errno, args)

    def test_devices_of_served_bridges(self):
        within = self.limits()
        for dev in ('br-ex', 'br-two', 'br-ex.101', 'br-two.4094'):
            within.check_address(dev, '169.254.169.254/32')
            within.check_neighbour(dev)
            within.check_sysctl(f'net/ipv4/conf/{dev}/proxy_arp')
            within.check_proxy(dev, '2001:db8::10')
            within.check_advertisement(dev, ['2001:db8::/64'])
            for path in (f'conf/{dev}/proxy_ndp', f'neigh/{dev}/proxy_delay'):
                checks.sysctl(f'net/ipv6/{path}', '1')
                within.check_sysctl(f'net/ipv6/{path}')
            within.check_route(254, '198.51.100.10/32', dev, '', 10)
            within.check_rule(rules.Rule(
                2001, 0, '198.51.100.0/24', None, dev, None, 0))
            within.check_removal(rules.Rule(
                2001, 0, '198.51.100.0/24', None, dev, None, 0))

    def test_other_devices(self):
        within = self.limits()
        for dev in ('eth0', 'br-int', 'br-ex.0', 'br-ex.4095', 'br-ex.1.1',
                    'br-int.5', 5, None):
            self.refused(within.check_neighbour, dev)
            self.refused(within.check_proxy, dev, '2001:db8::10')
            self.refused(within.check_advertisement, dev, [])
            self.refused(within.check_address, dev, '169.254.169.254/32')
            self.refused(within.check_route, 254, '198.51.100.10/32', dev,
                         '', 10)
            self.refused(within.check_rule, rules.Rule(
                2001, 0, '198.51.100.0/24', None, dev, None, 0))

    def test_no_other_address_and_no_wider_route(self):
        within = self.limits()
        self.refused(within.check_address, 'br-ex.101', '192.0.2.1/24')
        self.refused(within.check_route, 254, '0.0.0.0/0', 'br-ex.101', '',
                     10)

    def test_advertised_prefixes(self):
        within = self.limits()
        for prefix in ('::/0', '2000::/3', 'fe80::/64', 'ff02::/16'):
            self.refused(within.check_advertisement, 'br-ex', [prefix])
        within = self.limits(network_cidr=['2001:db8::/48', '192.0.2.0/24'])
        within.check_advertisement('br-ex', ['2001:db8:0:1::/64'])
        for prefix in ('2001:db8:1::/64', '2001:db8::/47'):
            self.refused(within.check_advertisement, 'br-ex', [prefix])

    def test_proxies_for_addresses_of_the_named_networks(self):
        within = self.limits(network_cidr=['2001:db8::/64'])
        within.check_proxy('br-ex', '2001:db8::10')
        self.refused(within.check_proxy, 'br-ex', '2001:db8:1::10')

    def test_bridges(self):
        within = self.limits()
        for name in ('br-ex', 'br-two'):
            within.check_bridge(name)
            within.check_up(name)
        for name in ('br-int', 'br-ex.101', '', None):
            self.refused(within.check_bridge, name)
            self.refused(within.check_up, name)

    def test_vlan_devices(self):
        within = self.limits()
        within.check_vlan('br-two.7', 'br-two', 7)
        for item in (('br-two.7', 'br-two', 8), ('br-two.7', 'br-ex', 7),
                     ('br-two', 'br-two', 0), ('br-two.0', 'br-two', 0),
                     ('br-two.4095', 'br-two', 4095), ('eth0.7', 'eth0', 7),
                     ('x', 'br-two', 7)):
            self.refused(within.check_vlan, *item)

    def test_next_hops_without_a_vrf(self):
        within = self.limits(frr__vrf_name='')
        for hop in ('br-ex', 'br-two', 'br-ex.101'):
            within.check_next_hop(hop)
        self.refused(within.check_next_hop, 'eth0')
        self.refused(self.limits().check_next_hop, 'br-ex.101')
