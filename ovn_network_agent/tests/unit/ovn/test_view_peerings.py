# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Peerings of routers, from rows."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

TARGET = ownership.EXT_ID_PEER_TARGET
DRIVERS = ['fip_route', 'tenant_network', 'network_peer']


class PeeringsTest(clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.routers = {}
        for number in (1, 2):
            name = f'r{number}'
            self.routers[name] = self.cloud.add_router(
                name, [f'198.51.100.{number}/24'], clouds.HERE)
            self.cloud.add_tenant(name, f'net{number}', f'10.0.{number}.1/24')

    def say(self, router, **words):
        self.cloud.say('Logical_Router', {'name': f'neutron-{router}'},
                       external_ids={TARGET + name: text
                                     for name, text in words.items()})

    def test_neutron_leaves_an_intent_in_the_options(self):
        """An update of Neutron, from yoga to master, and a fresh start."""
        router = {'name': 'neutron-r1'}
        self.cloud.say('Logical_Router', router, options={
            'mac_binding_age_threshold': '0', TARGET + 'there': 'r2'})
        self.say('r1', other='r2')
        self.say('r2', back=self.routers['r1'])
        eyes = self.eyes(drivers=DRIVERS)
        self.become(eyes, there='error', other='created', back='created')
        # Router.update replaces one column, its jobs merge into the other.
        self.nb.update('Logical_Router', router, enabled=True, external_ids={
            'neutron:router_name': 'renamed', 'neutron:revision_number': '9'})
        self.cloud.say('Logical_Router', router, options={
            'mac_binding_age_threshold': '300'})
        self.become(eyes, there='created', back='created')
        self.become(self.eyes(drivers=DRIVERS), there='created',
                    back='created')

    def found(self, eyes):
        return {(peering.called, peering.name): peering
                for alone in eyes.look().subjects.get(
                    model.Peering, {}).values()
                for peering in alone.values()}

    def become(self, eyes, **wanted):
        found = self.found(eyes)
        self.assertEqual(wanted, {
            name: peering.state.value
            for (_router, name), peering in found.items()})
        return found

    def mark(self, pair):
        """The rows of a peering, and what ovn-northd makes of its ports."""
        marks = ovsdb.ovsdb_dict({
            ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
            ownership.EXT_ID_PEER: pair})
        for number, other in ((1, 2), (2, 1)):
            router = {'name': f'neutron-r{number}'}
            self.nb.transact(
                ovsdb.insert('Logical_Router_Port', 'port',
                             name=f'peer-{number}', peer=f'peer-{other}',
                             mac='fa:16:3e:00:00:03', external_ids=marks,
                             networks=f'10.0.{number}.1/32'),
                ovsdb.insert('Logical_Router_Static_Route', 'route',
                             ip_prefix=f'10.0.{other}.0/24',
                             nexthop=f'10.0.{other}.1', external_ids=marks,
                             output_port=f'peer-{number}'),
                ovsdb.mutate('Logical_Router', router, 'ports', 'insert',
                             ['named-uuid', 'port']),
                ovsdb.mutate('Logical_Router', router, 'static_routes',
                             'insert', ['named-uuid', 'route']))
            self.cloud._add_binding(
                self.cloud.add_network(), f'peer-{number}', 'patch',
                options=ovsdb.ovsdb_dict({'peer': f'peer-{other}'}))

    def test_intents_come_and_go(self):
        eyes = self.eyes(drivers=DRIVERS)
        self.become(eyes)
        self.say('r1', there='r2')
        self.become(eyes, there='pending')
        self.say('r2', back=self.routers['r1'])
        found = self.become(eyes, there='created', back='created')
        one, other = sorted(found)
        self.assertEqual(found[one].sides, found[other].sides)
        self.assertEqual({('10.0.1.0/24', '10.0.1.1'),
                          ('10.0.2.0/24', '10.0.2.1')}, {
            route for side in found[one].sides for route in side.routes})
        self.cloud.add_static_route('r1', '172.16.0.0/16', '10.0.1.9')
        self.assertIn('172.16.0.0/16', str(self.found(eyes)))
        self.cloud.add_tenant('r2', 'more', '10.0.1.129/25')
        self.become(eyes, there='conflict', back='conflict')
        self.cloud.remove_tenant('r2', 'more')
        self.become(eyes, there='created', back='created')
        self.say('r1', there=None)
        self.become(eyes, back='pending')
        self.say('r1', there='r2')
        self.become(eyes, there='created', back='created')
        self.cloud.remove_router('r1')
        self.become(eyes, back='pending')

    def test_rows_of_peerings_belong_to_no_node(self):
        eyes = self.eyes(drivers=DRIVERS, tenant_network__extra_routes=True)
        self.say('r1', there='r2')
        self.say('r2', back='r1')
        before = self.become(eyes, there='created', back='created')
        seen = eyes.look()
        self.assertTrue(any(seen.tenants.values()))
        self.mark(before[next(iter(before))].pair)
        after = eyes.look()
        self.assertEqual(before, self.found(eyes))
        self.assertEqual(seen.routers, after.routers)
        self.assertEqual(seen.tenants, after.tenants)
        self.assertEqual(seen.addresses, after.addresses)
        with eyes.databases['nb'].rows() as nb:
            self.assertEqual(2, len(nb['Logical_Router_Static_Route']))
            self.assertEqual([], list(commands.managed(nb)))
        self.as_new(eyes, lambda seen: seen.tenants)

    def test_without_the_driver(self):
        eyes = self.eyes(drivers=['fip_route'])
        self.cloud.add_static_route('r1', '172.16.0.0/16', '10.0.1.9')
        self.say('r1', there='r2')
        self.become(eyes)
        self.assertEqual([], eyes.rows('nb', 'Logical_Router_Static_Route'))
        self.assertNotIn('peer', eyes.rows('nb', 'Logical_Router_Port')[
            0]._data)
