# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits of the privileged side for the driver evpn."""

import errno

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.tests.unit import world

PORT, VRF, BRIDGE = 'vrf01234567-89', 'vrf-1001', 'br-1001'
TABLE, LOCAL = 10_001_001, '192.0.2.11'
HOST = '192.168.50.10/32'


class EvpnLimitsTest(base.BaseTestCase):

    def limits(self, drivers=('evpn',), **options):
        return limits.from_conf(world.conf(
            **{'drivers': list(drivers), 'evpn__local_ip': LOCAL, **options}))

    def refused(self, function, *args):
        error = self.assertRaises(OSError, function, *args)
        self.assertIn(error.errno, (errno.EPERM, errno.EINVAL), args)

    def calls(self, within):
        """What the driver needs: (function, arguments)."""
        yield within.evpn.check_devices, (1001, TABLE, LOCAL, 4789, 1450, '')
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
            yield within.check_route, (TABLE, dst, dev, via, 0)

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
        devices = 1001, TABLE, LOCAL, 4789, 1450, ''
        of_device.check_devices(*devices, source=LOCAL)
        self.refused(of_device.check_devices, *devices)
        self.refused(of_device.check_devices, *devices, '192.0.2.12')
        self.refused(of_device.check_devices, 1001, TABLE, '', 4789, 1450, '')

    def test_nothing_without_the_driver(self):
        for function, args in self.calls(self.limits(
                drivers=['fip_route', 'provider_port', 'tenant_network'])):
            self.refused(function, *args)

    def test_a_gateway_may_be_on_the_link(self):
        within = self.limits()
        self.assertTrue(within.is_onlink(254, PORT))
        for dev in (VRF, BRIDGE, 'ovs01234567-89'):
            self.assertFalse(within.is_onlink(254, dev))

    def test_the_tunnels_are_in_the_vrf_of_the_uplink(self):
        within = self.limits(frr__vrf_name='vrf-provider')
        within.evpn.check_devices(1001, TABLE, LOCAL, 4789, 1450,
                                  'vrf-provider')
        self.refused(within.evpn.check_devices, 1001, TABLE, LOCAL, 4789,
                     1450, 'vrf-other')

    def test_options(self):
        within = self.limits(
            evpn__udp_dstport=4790, evpn__underlay_mtu=9000,
            evpn__table_base=20_000_000, further_bridges=['br-two'])
        within.evpn.check_devices(1001, 20_001_001, LOCAL, 4790, 8950, '')
        within.evpn.check_port(PORT, 1001, 'br-two')
        self.refused(within.evpn.check_devices, 1001, TABLE, LOCAL, 4790,
                     8950, '')
        self.refused(within.check_route, TABLE, HOST, PORT, '', 0)

    def test_without_an_address_of_the_tunnels(self):
        within = limits.from_conf(world.conf(drivers=['evpn']))
        self.refused(within.evpn.check_devices, 1001, TABLE, '', 4789, 1450,
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
