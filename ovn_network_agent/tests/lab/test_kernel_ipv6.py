# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the drivers want for a router with IPv6, in the kernel.

The privileged side has the limits of an agent without other drivers.
"""

import os
import socket

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import address
from ovn_network_agent.backends.kernel import link
from ovn_network_agent.backends.kernel import neighbour
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.backends.kernel import rule
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

FIP, FIP6 = '198.51.100.10', '2001:db8:100::10'
# In the order of the stages.
BACKENDS = (link.LinkBackend, link.SysctlBackend, address.AddressBackend,
            neighbour.NeighbourBackend, route.RouteBackend, rule.RuleBackend)
SHOWN = ('route show table all proto 44', '-N rule show')


class TestKernelIpv6(base.KernelTestCase):

    rules_file = ''
    driver_devices = ()

    def setUp(self):
        super().setUp()
        self.ip('link add vrf-provider type vrf table 10')
        self.ip('link set vrf-provider up')
        self.bridge_up()
        self.conf = self.configure('vrf-provider', announce_method='kernel')
        self.backends = [made(self.conf) for made in BACKENDS]

    def wanted(self, *networks, fips=(FIP, FIP6)):
        """The resources of the kernel that two drivers want, each once."""
        devices = (model.Device('br-ex', cloud.BRIDGE_MAC, True),
                   model.Device('vrf-provider', '', True, 10, True))
        node = cloud.node(devices=devices)
        router = cloud.router(fips=fips, ports=(
            cloud.port(networks=networks),))
        found = {}
        for name in ('veth_leak', 'fip_route'):
            driver = world.driver(name, self.conf)
            for each in (*driver.resources(node, node),
                         *world.wanted(driver, router, node)):
                found.setdefault(each.ref, each)
        return list(found.values())

    def made(self, wanted):
        """Make resources; returns the failures."""
        failures = {}
        for backend in self.backends:
            mine = tuple(r for r in wanted if r.kind in {
                kind.kind for kind in backend.kinds})
            failures.update(backend.apply(backends.Delta(create=mine)))
        return failures

    def removed(self, wanted):
        for backend in reversed(self.backends):
            mine = tuple(r for r in wanted if not r.retained and r.kind in {
                kind.kind for kind in backend.kinds})
            self.assertEqual({}, backend.apply(backends.Delta(delete=mine)))

    def six(self):
        """Routes and rules of the agent, lines."""
        return [line.strip() for command in SHOWN
                for line in self.ip('-6 ' + command).splitlines()
                if 'route' in command or 'proto 44' in line]

    def test_all_comes_and_goes(self):
        wanted = self.wanted('198.51.100.1/24', '2001:db8:100::1/64')
        # A second time there is nothing to do.
        for _time in range(2):
            self.assertEqual({}, self.made(wanted))
        known = frozenset(r.ref for r in wanted)
        there = {each for backend in self.backends
                 for each in backend.read(known)}
        self.assertEqual(set(), {r for r in wanted if any(
            r.kind == kind.kind for backend in self.backends
            for kind in backend.kinds)} - there)
        shown = ' '.join(self.six())
        for text in (f'{FIP6} dev br-ex',
                     f'{FIP6} via fe80::a9fe:1 dev veth-provider table 10',
                     'default via fe80::a9fe:2 dev veth-default table 200',
                     'from 2001:db8:100::/64 lookup 200'):
            self.assertIn(text, shown)
        self.removed(wanted)
        self.assertEqual([], self.six())
        self.assertNotIn('a9fe', self.ip('-6 address show'))

    def test_the_way_of_packets(self):
        """In by the pair, out through the pair, and nowhere else."""
        with open('/proc/sys/net/ipv6/conf/all/forwarding', 'w') as opened:
            opened.write('1')
        self.ip('address add 2001:db8:5::1/64 dev br-ex-peer nodad')
        self.ip('route add ::/0 via 2001:db8:5::2')
        self.assertEqual({}, self.made(self.wanted('2001:db8:100::1/64')))
        client, found = '2001:db8:c::1', []
        with connection.Connection() as kernel:
            for dst, src, dev in (
                    (FIP6, client, 'veth-default'), (client, FIP6, 'br-ex'),
                    ('2001:db8:100::99', client, 'veth-default'),
                    (client, 'fd00::5', 'br-ex')):
                found.append(lookups.look_up(
                    kernel, dst, src, socket.if_nametoindex(dev)))
        self.assertEqual(
            [(254, FIP6 + '/128', 'br-ex', None),
             (200, '::/0', 'veth-default', 'fe80::a9fe:2')],
            [(each.table, each.dst, each.dev, each.via)
             for each in found[:2]])
        for each in found[2:]:
            self.assertIn('blackhole', each.error)

    def test_without_a_network_of_ipv6(self):
        """Nothing of IPv6, and no sysctl."""
        before = self.sysctls()
        self.assertEqual({}, self.made(self.wanted('198.51.100.1/24')))
        self.assertEqual([], self.six())
        self.assertNotIn('a9fe', self.ip('-6 address show'))
        self.assertEqual(before, self.sysctls())

    def test_no_sysctl_of_ipv6_changes(self):
        before = self.sysctls()
        self.made(self.wanted('198.51.100.1/24', '2001:db8:100::1/64'))
        self.assertEqual(before, self.sysctls())

    def sysctls(self):
        """Values of IPv6 that belong to all devices, and to the bridge."""
        found = {}
        for dev in ('all', 'default', 'br-ex'):
            directory = f'/proc/sys/net/ipv6/conf/{dev}'
            for name in sorted(os.listdir(directory)):
                path = os.path.join(directory, name)
                if os.path.isfile(path) and os.stat(path).st_mode & 0o400:
                    try:
                        with open(path) as opened:
                            found[dev, name] = opened.read()
                    except OSError:
                        # stable_secret has no value yet.
                        found[dev, name] = None
        return found

    def test_a_device_without_ipv6_costs_ipv6_alone(self):
        """Trap T64: all of IPv4 is there."""
        with open('/proc/sys/net/ipv6/conf/br-ex/disable_ipv6',
                  'w') as opened:
            opened.write('1')
        wanted = self.wanted('198.51.100.1/24', '2001:db8:100::1/64')
        failures = self.made(wanted)
        self.assertEqual(
            {resources.Ref('address', ('br-ex', 'fe80::a9fe:a9fe/64')),
             *(resources.Ref('kernel_route', (254, prefix))
               for prefix in ('2001:db8:100::1/128', FIP6 + '/128'))},
            set(failures))
        self.assertIn(FIP, self.routes())

    def test_the_address_is_of_use_at_once(self):
        self.made(self.wanted('2001:db8:100::1/64'))
        found, = [each for shown in self.shown('-6 address show dev br-ex')
                  for each in shown.get('addr_info', ())
                  if each['local'] == 'fe80::a9fe:a9fe']
        self.assertNotIn('tentative', found)
