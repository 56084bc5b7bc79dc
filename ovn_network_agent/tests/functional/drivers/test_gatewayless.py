# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What routers of several networks get in NB, and on the node."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services

# Networks of a gateway port, and the virtual gateway in them.
ROUTERS = {
    'r24': (['198.51.100.1/24'], '198.51.100.254'),
    'r23': (['192.168.42.1/23'], '192.168.43.254'),
    'r16': (['10.0.0.1/16'], '10.0.255.254'),
    'r30': (['172.16.0.1/30'], '172.16.0.2'),
    'both': (['2001:db8:1::1/64', '192.0.2.1/24'], '192.0.2.254'),
    'small': (['203.0.113.1/31', '203.0.113.9/32'],
              ownership.LINK_LOCAL_GATEWAY),
    'v6': (['2001:db8:2::1/64'], None)}
# What IPv6 has of its own beside IPv4.
KINDS = (resources.Announcement, resources.KernelRoute,
         resources.AnnouncedRoute, resources.Rule, resources.PrefixListEntry)


class GatewaylessTest(services.ServiceTestCase):

    def setUp(self):
        super().setUp()
        for number, (name, (networks, _gateway)) in enumerate(
                ROUTERS.items()):
            self.cloud.add_router(name, networks, cloud.CHASSIS,
                                  mac=f'fa:16:3e:00:00:{number:02x}')
        for address in ('192.0.2.10', '2001:db8:1::10'):
            self.cloud.add_nat('both', address)
        self.service = self.agent()

    def test_the_virtual_gateway(self):
        """Rows NB-01 and NB-02; a start takes long, so this is one test."""
        wanted = {'lrp-' + name: gateway for name, (_networks, gateway)
                  in ROUTERS.items() if gateway}
        self.eventually(lambda: {
            row['output_port']: row['nexthop']
            for row in self.nb.rows('Logical_Router_Static_Route')
            if ':' not in row['ip_prefix']} == wanted, 'routes')
        self.eventually(lambda: {
            row['logical_port']: row['ip']
            for row in self.nb.rows('Static_MAC_Binding')
            if ':' not in row['ip']} == wanted, 'bindings')
        self._ipv6_outside_of_the_networks()
        self._ipv6_takes_nothing_from_ipv4()

    def _ipv6_outside_of_the_networks(self):
        """Row ST-11: flows alone."""
        self.cloud.add_nat('both', '2001:db8:9::10')
        # They come after what is announced.
        self.eventually(lambda: {'2001:db8:1::10/128', '2001:db8:9::10/128'} <=
                        {flow.dst for flow in
                         self.world.found(resources.Flow).values()}, 'flows')
        self.assertIn('2001:db8:1::10/128', self.announced())
        self.assertEqual([], [
            key for kind in KINDS for key in self.world.found(kind)
            if '2001:db8:9:' in str(key)])

    def _ipv6_takes_nothing_from_ipv4(self):
        """Row FIP-23, trap T64: IPv4 is the same without IPv6."""
        self.eventually(lambda: {
            '192.0.2.10/32', '2001:db8:1::10/128', '2001:db8:2::1/128'} <=
                        self.announced(), 'announced')
        self.cloud.remove_nat('both', '2001:db8:9::10')
        entries = self.world.found(resources.PrefixListEntry).values()
        self.assertIn('192.0.2.0/24', {entry.network for entry in entries})
        self.assertEqual({(True, 128), (False, 32)}, {
            (':' in entry.network, entry.le) for entry in entries})
        seen = self.of_ipv4()
        self.without_ipv6()
        self.eventually(lambda: not self.of_ipv6(), self.of_ipv6)
        self.assertEqual(seen, self.of_ipv4())

    def of_ipv4(self):
        """The keys of what is there for IPv4, a set of (class, key)."""
        return self.keys() - self.of_ipv6()

    def of_ipv6(self):
        """Likewise for IPv6: by an address, or by the family of a rule."""
        return {(kind, key) for kind, key in self.keys()
                if ':' in str(key) or 'ipv6' in str(key)}

    def keys(self):
        return {(kind, key) for kind in KINDS
                for key in self.world.found(kind)}

    def without_ipv6(self):
        """Have a cloud without it: addresses, networks, and a router."""
        self.cloud.remove_nat('both', '2001:db8:1::10')
        self.nb.transact(ovsdb.update(
            'Logical_Router_Port', {'name': 'lrp-both'},
            networks=ovsdb.ovsdb_set(['192.0.2.1/24'])))
        self.cloud.remove_router('v6')
