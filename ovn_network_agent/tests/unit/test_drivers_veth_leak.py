# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Driver veth_leak: from the view to resources."""

from oslotest import base

from ovn_network_agent.drivers import veth_leak
from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import world

PAIR = resources.Ref('veth_pair', ('veth-default',))


class VethLeakTest(base.BaseTestCase):

    def driver(self, **options):
        return veth_leak.VethLeakDriver('veth_leak', world.conf(**options))

    def node(self, **options):
        return list(self.driver(**options).for_node(world.node()))

    def router(self, router, node=None, **options):
        return list(self.driver(**options).for_router(
            router, node or world.node()))

    def test_the_pair_and_what_it_needs(self):
        wanted = self.node()
        for resource in (
                resources.VethPair('veth-default', 'veth-provider',
                                   'vrf-provider'),
                resources.Address('veth-default', '169.254.0.1/30'),
                resources.Address('veth-provider', '169.254.0.2/30'),
                resources.Neighbour('veth-default', '169.254.0.2',
                                    'veth-provider'),
                resources.Neighbour('veth-provider', '169.254.0.1',
                                    'veth-default'),
                resources.Sysctl('net/ipv4/conf/veth-default/forwarding',
                                 '1'),
                resources.Sysctl('net/ipv4/conf/veth-provider/forwarding',
                                 '1'),
                resources.Sysctl('net/ipv4/conf/veth-provider/accept_local',
                                 '1'),
                resources.KernelRoute(200, '0.0.0.0/0', 'veth-default',
                                      '169.254.0.2'),
                resources.Rule(1999, 254, iif='veth-default')):
            self.assertIn(resource, wanted)
        for resource in wanted:
            if resource.kind in ('address', 'neighbour', 'sysctl',
                                 'kernel_route'):
                self.assertIn(PAIR, resource.requires)

    def test_other_ends(self):
        for options, provider in (
                ({'veth_leak__veth_nexthop': '192.0.2.5'}, '192.0.2.6'),
                ({'veth_leak__veth_nexthop': '192.0.2.6',
                  'veth_leak__veth_provider_ip': '192.0.2.5'}, '192.0.2.5')):
            addresses = {r.dev: r.address for r in self.node(**options)
                         if r.kind == 'address'}
            self.assertEqual(
                {'veth-default': options['veth_leak__veth_nexthop'] + '/30',
                 'veth-provider': provider + '/30'}, addresses)

    def test_way_back_and_way_in_of_each_network(self):
        router = world.router(ports=(
            world.port(networks=('198.51.100.1/24', '2001:db8::1/64')),
            world.port(2, networks=('203.0.113.1/28',)),
            world.port(3, local=False, networks=('192.0.2.1/24',))))
        wanted = self.router(router)
        self.assertEqual(
            {('198.51.100.0/24', 2000, 200), ('203.0.113.0/28', 2000, 200)},
            {(r.src, r.priority, r.table) for r in wanted
             if r.kind == 'rule' and r.src})
        self.assertEqual(
            {(10, '198.51.100.0/24', 'veth-provider', '169.254.0.1'),
             (10, '203.0.113.0/28', 'veth-provider', '169.254.0.1')},
            {(r.table, r.dst, r.dev, r.via) for r in wanted
             if r.kind == 'kernel_route'})

    def test_no_way_back_before_the_table_it_looks_at(self):
        rule = next(r for r in self.router(world.router())
                    if r.kind == 'rule' and r.src)
        self.assertEqual(
            (resources.Ref('kernel_route', (200, '0.0.0.0/0')),),
            rule.requires)

    def test_without_the_vrf_there_is_no_route_in_it(self):
        node = world.node(devices=())
        self.assertEqual({'rule'}, {r.kind for r in self.router(
            world.router(), node)})

    def test_networks_by_hand_need_no_router(self):
        options = {'network_cidr': ['192.0.2.0/24']}
        self.assertIn(resources.KernelRoute(
            10, '192.0.2.0/24', 'veth-provider', '169.254.0.1'),
            self.node(**options))
        self.assertEqual([], self.router(world.router(), **options))

    def test_nothing_where_it_is_off(self):
        for options in ({'veth_leak__veth_leak_enabled': False},
                        {'frr__vrf_name': ''}):
            self.assertEqual([], self.node(**options))
            self.assertEqual([], self.router(world.router(), **options))

    def test_a_router_that_is_not_here(self):
        moved = world.router(ports=(world.port(local=False),))
        self.assertEqual([], self.router(moved))
        self.assertEqual([], self.router(model.Router('uuid', 'name')))
