# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits of the privileged side for the drivers."""

import errno

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.tests.unit import world


class LimitsTestCase(base.BaseTestCase):

    ERRORS = (errno.EPERM,)

    def refused(self, function, *args):
        error = self.assertRaises(OSError, function, *args)
        self.assertIn(error.errno, self.ERRORS, args)

    def all_refused(self, calls):
        """Pairs of (function, arguments), each refused."""
        for function, args in calls:
            self.refused(function, *args)


class SegmentLimitsTest(LimitsTestCase):

    def limits(self, **options):
        return limits.from_conf(world.conf(
            further_bridges=['br-two'], **options))

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
        self.refused(within.check_route, 254, '0.0.0.0/0', 'br-ex.101', '', 10)

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


BACK, OUT, DROP = ownership.EGRESS_PRIORITIES
TABLE, WAY_BACK = ownership.EGRESS_TABLES[1], ownership.EGRESS_BACK_TABLE
MACHINE = '10.0.1.9/32'
# The device with the index 1.
LINK = 'lo'
MARK = (ownership.MARK_EGRESS, ownership.MARK_EGRESS)


def rule(priority, table, src=None, dst=None, iif=None, fwmark=None,
         suppress=None):
    return rules.Rule(priority, table, src, dst, iif, fwmark,
                      ownership.RULE_PROTOCOL, suppress)


class EgressLimitsTest(LimitsTestCase):

    def limits(self, *drivers, **options):
        return limits.from_conf(world.conf(
            drivers=list(drivers or ['egress_ip']), **options))

    def calls(self, within):
        """What the driver needs: (function, arguments)."""
        for each in (rule(BACK, WAY_BACK, fwmark=MARK),
                     rule(BACK, WAY_BACK, dst=MACHINE, iif='eth1'),
                     rule(DROP, 0, fwmark=MARK),
                     rule(OUT, TABLE, src=MACHINE, iif='br-ex'),
                     rule(OUT, TABLE, src='fd01::9/128', iif='br-ex.7'),
                     rule(DROP, 0, src=MACHINE, iif='br-ex'),
                     rule(DROP, 0, src='10.0.1.0/24', iif='br-ex')):
            yield within.check_rule, (each,)
        yield within.check_route, (WAY_BACK, MACHINE, 'br-ex',
                                   '198.51.100.1', 0)
        for text in ('203.0.113.7/32', '2001:db8:7::7/128'):
            yield within.check_address, ('eth1', text)
        for path in ('net/ipv4/conf/eth1/forwarding',
                     'net/ipv6/conf/eth1/ndisc_notify'):
            yield within.check_sysctl, (path,)
        yield within.egress.check_loaded, ()

    def test_what_the_driver_wants(self):
        for function, args in self.calls(self.limits()):
            function(*args)

    def test_nothing_without_the_driver(self):
        self.all_refused(self.calls(self.limits(
            'fip_route', 'provider_port', 'tenant_network')))

    def test_nothing_else(self):
        within = self.limits(port_forward__port_forward_dev='loopback1')
        calls = [(within.check_rule, (each,)) for each in (
            rule(BACK, WAY_BACK, dst='10.0.1.0/24', iif='eth1'),
            rule(BACK, WAY_BACK, dst=MACHINE, iif='br-ex'),
            rule(BACK, WAY_BACK, dst=MACHINE),
            rule(BACK, 254, dst=MACHINE, iif='eth1'),
            rule(DROP, 0, dst=MACHINE, iif='eth1'),
            rule(BACK, WAY_BACK, src=MACHINE, dst=MACHINE, iif='eth1'),
            rule(BACK, WAY_BACK, dst=MACHINE, iif='eth1', fwmark=MARK),
            rule(BACK, WAY_BACK, fwmark=(0x200, 0x200)),
            rule(BACK, WAY_BACK, fwmark=MARK, iif='eth1'),
            rule(BACK, WAY_BACK, fwmark=MARK, src=MACHINE),
            rule(BACK, 254, fwmark=MARK),
            rule(OUT, WAY_BACK, fwmark=MARK),
            rule(DROP, TABLE, fwmark=MARK),
            rule(OUT, TABLE, src='10.0.1.0/24', iif='br-ex'),
            rule(OUT, TABLE, src=MACHINE, iif='eth1'),
            rule(OUT, TABLE, src=MACHINE),
            rule(OUT, 254, src=MACHINE, iif='br-ex'),
            rule(OUT, TABLE, src=MACHINE, iif='br-ex', suppress=0),
            rule(OUT, TABLE, src=MACHINE, iif='br-ex', fwmark=(1, 1)),
            rule(DROP, TABLE, src=MACHINE, iif='br-ex'),
            rule(DROP, 0, src=MACHINE, iif='eth1'),
            rule(DROP, 0, iif='br-ex'),
            rule(DROP + 1, 0, src=MACHINE, iif='br-ex'))]
        calls += [(within.check_route, args) for args in (
            (WAY_BACK, '10.0.1.0/24', 'br-ex', '198.51.100.1', 0),
            (WAY_BACK, MACHINE, 'br-ex', '', 0),
            (WAY_BACK, MACHINE, 'eth1', '198.51.100.1', 0),
            (TABLE, '0.0.0.0/0', 'br-ex', '198.51.100.1', 0),
            (TABLE + 1, '0.0.0.0/0', LINK, '198.51.100.1', 0),
            (TABLE, '0.0.0.0/0', LINK, '198.51.100.1', 0),
            (254, '0.0.0.0/0', 'eth1', '198.51.100.1', 0))]
        calls += [(within.check_address, args) for args in (
            ('eth1', '203.0.113.7/24'), ('br-ex', '203.0.113.7/32'),
            ('eth1', '224.0.0.1/32'), ('eth1', '127.0.0.1/32'),
            ('eth1', '0.0.0.0/32'), (LINK, '203.0.113.7/32'),
            ('veth-default', '203.0.113.7/32'),
            ('eth1', 'fe80::1/128'))]
        calls += [(within.check_sysctl, (path,)) for path in (
            'net/ipv4/conf/eth1/proxy_arp', f'net/ipv4/conf/{LINK}/forwarding',
            'net/ipv4/conf/eth1/accept_local',
            # Of all devices of the node.
            'net/ipv4/conf/all/forwarding',
            'net/ipv4/conf/default/forwarding')]
        self.all_refused(calls)

    def test_a_gateway_may_be_on_the_link(self):
        self.assertTrue(self.limits().is_onlink(TABLE, 'eth1'))
        self.assertFalse(self.limits().is_onlink(254, 'eth1'))


PORT, VRF, BRIDGE = 'vrf01234567-89', 'vrf-1001', 'br-1001'
OF_VNI, LOCAL = 10_001_001, '192.0.2.11'
HOST = '192.168.50.10/32'


class EvpnLimitsTest(LimitsTestCase):

    ERRORS = (errno.EPERM, errno.EINVAL)

    def limits(self, drivers=('evpn',), **options):
        return limits.from_conf(world.conf(
            **{'drivers': list(drivers), 'evpn__local_ip': LOCAL, **options}))

    def calls(self, within):
        """What the driver needs: (function, arguments)."""
        yield within.evpn.check_devices, (1001, OF_VNI, LOCAL, 4789, 1450, '')
        yield within.evpn.check_port, (PORT, 1001, 'br-ex')
        for text in ('192.168.50.1/32', '169.254.169.254/32', 'fe80::1/64',
                     f'{ownership.SEGMENT_LINK_LOCAL}/64'):
            yield within.check_address, (PORT, text)
        yield within.check_neighbour, (PORT,)
        yield within.check_proxy, (PORT, '2001:db8:50::1')
        yield within.check_advertisement, (PORT, ['2001:db8:50::/64'])
        for dev in (PORT, VRF, BRIDGE):
            yield within.check_sysctl, (f'net/ipv4/conf/{dev}/forwarding',)
            for ipv6 in (None, True):
                yield within.check_rule, (rules.Rule(
                    ownership.EVPN_RULE_PRIORITY, 0, None, None, dev, None,
                    ownership.RULE_PROTOCOL, None, ipv6),)
        for dst, dev, via in (
                (HOST, PORT, ''), ('2001:db8:50::10/128', PORT, ''),
                ('10.7.0.0/16', PORT, '192.168.50.254'),
                ('100.64.0.1/32', VRF, ''), ('fd53::1/128', VRF, '')):
            yield within.check_route, (OF_VNI, dst, dev, via, 0)

    def test_what_the_driver_wants(self):
        for function, args in self.calls(self.limits()):
            function(*args)
        # The networks of the provider are not those of tenants.
        for function, args in self.calls(self.limits(
                network_cidr=['203.0.113.0/24'])):
            function(*args)

    def test_tunnels_of_a_device(self):
        of_device = self.limits(evpn__local_ip='',
                                evpn__local_device='lo').evpn
        devices = 1001, OF_VNI, LOCAL, 4789, 1450, ''
        of_device.check_devices(*devices, source=LOCAL)
        self.refused(of_device.check_devices, *devices)
        self.refused(of_device.check_devices, *devices, '192.0.2.12')
        self.refused(of_device.check_devices, 1001, OF_VNI, '', 4789, 1450, '')

    def test_nothing_without_the_driver(self):
        self.all_refused(self.calls(self.limits(
            drivers=['fip_route', 'provider_port', 'tenant_network'])))

    def test_a_gateway_may_be_on_the_link(self):
        within = self.limits()
        self.assertTrue(within.is_onlink(254, PORT))
        for dev in (VRF, BRIDGE, 'ovs01234567-89'):
            self.assertFalse(within.is_onlink(254, dev))

    def test_the_tunnels_are_in_the_vrf_of_the_uplink(self):
        within = self.limits(frr__vrf_name='vrf-provider')
        within.evpn.check_devices(1001, OF_VNI, LOCAL, 4789, 1450,
                                  'vrf-provider')
        self.refused(within.evpn.check_devices, 1001, OF_VNI, LOCAL, 4789,
                     1450, 'vrf-other')

    def test_options(self):
        within = self.limits(
            evpn__udp_dstport=4790, evpn__underlay_mtu=9000,
            evpn__table_base=20_000_000, further_bridges=['br-two'])
        within.evpn.check_devices(1001, 20_001_001, LOCAL, 4790, 8950, '')
        within.evpn.check_port(PORT, 1001, 'br-two')
        self.refused(within.evpn.check_devices, 1001, OF_VNI, LOCAL, 4790,
                     8950, '')
        self.refused(within.check_route, OF_VNI, HOST, PORT, '', 0)

    def test_without_an_address_of_the_tunnels(self):
        within = limits.from_conf(world.conf(drivers=['evpn']))
        self.refused(within.evpn.check_devices, 1001, OF_VNI, '', 4789, 1450,
                     '')

    def test_the_vrf_of_the_uplink_keeps_its_table(self):
        """The range of the VNIs may have that table."""
        within = self.limits(('evpn', 'fip_route', 'veth_leak'),
                             evpn__table_base=1000,
                             frr__vrf_name='vrf-provider')
        own = within.pair[0]
        within.check_route(5000, '198.51.100.10/32', 'veth-provider', own,
                           5000)
        self.refused(within.check_route, 5001, '198.51.100.10/32',
                     'veth-provider', own, 5000)
