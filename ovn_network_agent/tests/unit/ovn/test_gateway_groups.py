# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The groups of gateways as the view has them."""

from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import gateway_priority
from ovn_network_agent.ovn import rows
from ovn_network_agent.tests import calls
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.ovn import clouds

HERE, AWAY = clouds.HERE, clouds.AWAY
TABLES = ('Gateway_Chassis', 'HA_Chassis_Group')


class GroupTest(clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        for number, table in enumerate(TABLES, 1):
            self.cloud.add_router(table, chassis=HERE, group=table,
                                  networks=[f'198.51.100.{number}/24'])
        self.looking = self.eyes()

    def groups(self):
        return {group.table: group for group in self.looking.look().groups}

    def set(self, chassis, **row):
        """Change the candidates of a chassis in both tables."""
        for table in ('Gateway_Chassis', 'HA_Chassis'):
            self.nb.update(table, {'chassis_name': chassis}, **row)

    def others(self):
        """The candidates that are another chassis."""
        return [group.candidate(AWAY) for group in self.groups().values()]

    def test_priorities_owners_and_chassis_follow(self):
        self.set(AWAY, priority=5)
        for table in TABLES:
            self.cloud.move('lrp-' + table, AWAY)
        for known in True, False:
            self.assertEqual([(5, known)] * 2, [
                (each.priority, each.known) for each in self.others()])
            self.assertEqual([AWAY if known else ''] * 2, [
                group.ports[0].chassis for group in self.groups().values()])
            self.sb.delete('Chassis', name=AWAY)

    def test_an_event_elsewhere_looks_at_no_group(self):
        """Cost follows the change, with thousands of groups, too."""
        self.groups()
        for change, looks in (
                (lambda: self.sb.update('Chassis', {'name': AWAY},
                                        hostname='another'), False),
                (lambda: self.set(AWAY, priority=0), True)):
            change()
            with calls.made(rows.members) as looked_at:
                self.groups()
            self.assertEqual(looks, bool(looked_at))

    def test_where_the_tunnels_of_a_chassis_end(self):
        for tunnels, best in (
                ([('geneve', 2)], ('192.0.2.2', 'geneve')),
                ([('vxlan', 3), ('geneve', 30), ('geneve', 4)],
                 ('192.0.2.4', 'geneve')),
                ([('vxlan', 30), ('vxlan', 5)], ('192.0.2.5', 'vxlan')),
                ([('geneve', 'somewhere'), ('vxlan', 5)],
                 ('192.0.2.5', 'vxlan')),
                ([('geneve', 'somewhere')], ('', '')),
                ([('stt', 6)], ('', ''))):
            self.set_tunnels(AWAY, *((type, f'192.0.2.{last}')
                                     for type, last in tunnels))
            self.assertEqual([best] * 2, [(c.address, c.encap)
                                          for c in self.others()])
        # An address that changes in place.
        self.sb.update('Encap', {'chassis_name': AWAY}, type='geneve',
                       ip='192.0.2.7')
        self.assertEqual({'192.0.2.7'}, {c.address for c in self.others()})

    def test_marks_of_candidates(self):
        backend = gateway_priority.GatewayPriorityBackend(world.conf())
        backend.attach(backends.Context(
            self.looking.databases, lambda: 'gw1', lambda: HERE,
            groups=lambda: None))
        for marks, seen in (
                ({'drained': 'shutdown', 'priority': '20'}, ('shutdown', 20)),
                ({'drained': 'maintenance', 'priority': '32768'},
                 ('maintenance', 0)),
                ({'drained': 'maintenance', 'priority': '\u0663'},
                 ('maintenance', 0)),
                ({'drained': 'shutdown', 'priority': '9' * 5000},
                 ('shutdown', 0)),
                ({'drained': 'shutdown'}, ('shutdown', 0)),
                ({'drained': 'x', 'priority': '20'}, ('', 0)),
                ({'priority': '20'}, ('', 0))):
            self.set(AWAY, external_ids={
                'ovn-network-agent-' + key: value
                for key, value in marks.items()})
            read = [each for each in backend.read(frozenset())
                    if each.chassis == AWAY]
            self.assertEqual([seen] * 4, [(c.drained, c.earlier) for c in (
                *self.others(), *read)])

    def test_the_routers_of_a_group(self):
        routers = {row['name']: row['_uuid'] for row in self.nb.rows(
            'Logical_Router', 'name', '_uuid')}
        one, other = (routers['neutron-' + table] for table in TABLES)
        port, = self.nb.rows(
            'Logical_Router_Port', '_uuid', where=ovsdb.clauses(
                {'name': 'lrp-HA_Chassis_Group'}))
        before = self.groups()['HA_Chassis_Group']
        self.assertEqual((other[1],), before.routers)
        # A floating IP changes the router, and not the group.
        self.cloud.add_nat('HA_Chassis_Group', '198.51.100.10')
        self.assertIs(before, self.groups()['HA_Chassis_Group'])
        self.nb.transact(*(
            ovsdb.mutate('Logical_Router', {'_uuid': router}, 'ports', verb,
                         port['_uuid'])
            for router, verb in ((other, 'delete'), (one, 'insert'))))
        self.assertEqual((one[1],), self.groups()['HA_Chassis_Group'].routers)

    def test_the_segment_of_a_port_that_comes_late(self):
        lrp = 'lrp-Gateway_Chassis'
        patch = self.cloud.ports[lrp]

        def bind(name, kind, **options):
            self.cloud._add_binding(self.cloud.network, name, kind,
                                    options=ovsdb.ovsdb_dict(options))
        # The localnet port, the patch port of the switch, and at last this
        # node's own mapping.
        for change, seen in (
                (lambda: None, [cloud.BRIDGE] * 2),
                (lambda: self.sb.delete('Port_Binding', type='localnet'),
                 [None] * 2),
                (lambda: bind('provnet-1', 'localnet',
                              network_name='physnet1'), [cloud.BRIDGE] * 2),
                (lambda: self.sb.delete('Port_Binding', logical_port=patch),
                 [None, cloud.BRIDGE]),
                (lambda: bind(patch, 'patch', peer=lrp), [cloud.BRIDGE] * 2),
                (self.tell, [''] * 2)):
            change()
            self.assertEqual(seen, [
                port.segment and port.segment.bridge
                for group in self.groups().values() for port in group.ports])

    def test_drained_before_the_start_and_not_since(self):
        self.groups()
        self.set(HERE, priority=0)
        # They were not at the start of these.
        self.assertEqual([False] * 2, [group.restore for group
                                       in self.groups().values()])
        fresh = self.eyes()
        for priority, restore in ((0, True), (1, False), (0, False)):
            self.nb.update('HA_Chassis', {'chassis_name': HERE},
                           priority=priority)
            self.assertEqual([(0, True), (priority, restore)], [
                (group.candidate(HERE).priority, group.restore)
                for group in fresh.look().groups])
