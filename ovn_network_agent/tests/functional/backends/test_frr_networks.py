# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Networks of tenants in FRR: static routes, and the prefix list."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_prefix_list
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.functional.backends import static_routes
from ovn_network_agent.tests.functional.frr import base

NET, SIX, HOST = '10.7.0.0/24', '2001:db8:7::/64', '10.7.1.5/32'
VIA, VIA6 = '198.51.100.1', '2001:db8:1::1'


def network(prefix=NET, via=VIA, tag=None):
    return resources.Announcement(
        '', prefix, f'{via} {base.BRIDGE} onlink', tag)


def entry(prefix=NET, length=24):
    return resources.PrefixListEntry(base.LIST, prefix, length, length)


class NetworksTest(static_routes.StaticTestCase):

    def setUp(self):
        super().setUp()
        self.start('tenant_network')

    def start(self, *drivers):
        limits.fix(configs.conf(
            bridge_dev=base.BRIDGE, drivers=['fip_route', *drivers],
            ovn__ovn_nb_remote=['unix:/nowhere'],
            ovn__ovn_sb_remote=['unix:/nowhere'], frr__vrf_name='',
            frr__frr_prefix_list=base.LIST))
        self.addCleanup(limits.forget)

    def static(self):
        return [line for line in self.frr.running()
                if line.startswith(('ip route ', 'ipv6 route '))]

    def test_announced_and_withdrawn(self):
        """FRR installs it though it knows no way to the gateway port."""
        self.frr.configure(f'ip prefix-list {base.LIST} permit {NET}',
                           f'ip prefix-list {base.LIST} permit {HOST}')
        wanted = {network(), network(SIX, VIA6), network(HOST)}
        self.assertEqual({}, self.create(*wanted))
        self.assertEqual(wanted, self.read())
        self.assertIn(f'ip route {NET} {VIA} {base.BRIDGE} '
                      f'tag {ownership.NETWORK_TAG} onlink', self.static())
        base.wait_until(lambda: {NET, HOST} <= self.frr.learned(), 'learned')
        self.assertEqual({each.ref for each in wanted},
                         self.backend.in_effect([*wanted]))
        tagged = network(tag=4400001)
        self.assertEqual({}, self.backend.apply(backends.Delta(
            update=((network(), tagged),))))
        self.assertEqual({tagged, *wanted} - {network()}, self.read())
        self.assertEqual({}, self.delete(tagged, *wanted - {network()}))
        self.assertEqual(set(), self.read())
        self.assertEqual([], self.static())

    def test_the_operators_routes_survive(self):
        """Without the agent's tag, such a route is nobody else's."""
        self.frr.configure(
            f'ip route {NET} {VIA} {base.BRIDGE} onlink',
            f'ip route {HOST} {VIA} {base.BRIDGE} onlink',
            f'ip route 10.8.0.0/24 {base.BRIDGE}')
        before = self.static()
        self.assertEqual(set(), self.read())
        self.assertIn('other properties', self.create(network())[
            network().ref])
        self.assertEqual(before, self.static())

    def test_without_the_driver(self):
        """The next agent may remove what a former one has left."""
        self.assertEqual({}, self.create(network()))
        self.start()
        self.assertIn(network(HOST).ref, self.create(network(HOST)))
        self.assertEqual({network()}, self.read())
        self.assertEqual({}, self.delete(network()))
        self.assertEqual(set(), self.read())

    def test_prefix_list(self):
        """A network, and the host routes of the same network."""
        backend = frr_prefix_list.PrefixListBackend(self.conf)
        wanted = {entry(), entry(length=32), entry(SIX, 64)}

        def change(**delta):
            return backend.apply(backends.Delta(**delta))
        self.assertEqual({}, change(create=[*wanted]))
        self.assertEqual(wanted, {*backend.read(frozenset())})
        first, second = ownership.prefix_list_numbers(NET)[:2]
        lines = [line for line in self.frr.running() if f'permit {NET}'
                 in line]
        self.assertEqual({f'permit {NET}', f'permit {NET} ge 32 le 32'}, {
            line.partition(f' {number} ')[2] for line in lines
            for number in (first, second) if f' {number} ' in line})
        self.assertEqual({}, change(delete=[entry()]))
        self.assertEqual(wanted - {entry()}, {*backend.read(frozenset())})
        self.assertEqual({}, change(delete=[*wanted - {entry()}]))
        self.assertEqual([], backend.read(frozenset()))
