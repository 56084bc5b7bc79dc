# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The groups of gateways as the view has them, on real databases."""

from ovn_network_agent.ovn import rows
from ovn_network_agent.tests import calls
from ovn_network_agent.tests.functional.backends import priorities
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE, OTHER, TABLES = priorities.HERE, priorities.OTHER, priorities.TABLES


class GroupTest(priorities.PriorityTestCase):
    """The groups as the view has them."""

    def test_priorities_and_owners_follow(self):
        self.nb.transact(
            ovsdb.update('Gateway_Chassis', {'chassis_name': OTHER},
                         priority=5),
            ovsdb.update('HA_Chassis', {'chassis_name': OTHER}, priority=6))
        for table, priority in zip(TABLES, (5, 6), strict=True):
            self.eventually(lambda t=table, p=priority: self.groups()[
                t].candidate(OTHER).priority == p, 'priority')
            self.cloud.move('lrp-' + table, OTHER)
            self.eventually(lambda t=table: self.groups()[t].ports[
                0].chassis == OTHER, 'owner')

    def test_a_chassis_that_is_gone_is_not_known(self):
        self.assertTrue(self.groups()[TABLES[0]].candidate(OTHER).known)
        self.sb.transact(ovsdb.delete('Chassis', {'name': OTHER}))
        for table in TABLES:
            self.eventually(lambda t=table: not self.groups()[
                t].candidate(OTHER).known, 'gone')

    def test_an_event_elsewhere_looks_at_no_group(self):
        """Cost follows the change, with thousands of groups, too."""
        self.groups()
        self.sb.transact(ovsdb.update('Chassis', {'name': OTHER},
                                      hostname='another'))
        self.synchronise(self.eyes_)
        with calls.made(rows.members) as looked_at:
            self.groups()
        self.assertEqual([], looked_at)
        self.nb.transact(ovsdb.update(
            'Gateway_Chassis', {'chassis_name': OTHER}, priority=0))
        self.synchronise(self.eyes_)
        with calls.made(rows.members) as looked_at:
            self.groups()
        self.assertNotEqual([], looked_at)

    def _other(self):
        return {(c.address, c.encap) for group in self.groups().values()
                for c in group.candidates if c.chassis == OTHER}

    def test_where_the_tunnels_of_a_chassis_end(self):
        self.assertEqual({('192.0.2.2', 'geneve')}, self._other())
        for tunnels, best in (
                ([('vxlan', 3), ('geneve', 30), ('geneve', 4)],
                 ('192.0.2.4', 'geneve')),
                ([('vxlan', 30), ('vxlan', 5)], ('192.0.2.5', 'vxlan')),
                ([('geneve', 'somewhere'), ('vxlan', 5)],
                 ('192.0.2.5', 'vxlan')),
                ([('geneve', 'somewhere')], ('', '')),
                ([('stt', 6)], ('', ''))):
            self.sb.transact(
                *(ovsdb.insert('Encap', f'encap{n}', type=type,
                               ip=f'192.0.2.{ip}', chassis_name=OTHER)
                  for n, (type, ip) in enumerate(tunnels)),
                ovsdb.update('Chassis', {'name': OTHER},
                             encaps=ovsdb.ovsdb_set(
                                 [['named-uuid', f'encap{n}']
                                  for n, _each in enumerate(tunnels)])))
            self.eventually(lambda b=best: self._other() == {b}, str(best))
        # An address that changes in place.
        self.sb.transact(ovsdb.update('Encap', {'chassis_name': OTHER},
                                      type='geneve', ip='192.0.2.7'))
        self.eventually(lambda: self._other() == {('192.0.2.7', 'geneve')},
                        'changed')

    def test_marks_of_candidates(self):
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
            for table in ('Gateway_Chassis', 'HA_Chassis'):
                self.nb.transact(ovsdb.update(
                    table, {'chassis_name': OTHER},
                    external_ids=ovsdb.ovsdb_dict({
                        'ovn-network-agent-' + key: value
                        for key, value in marks.items()})))
            self.eventually(lambda s=seen: {
                (c.drained, c.earlier) for g in self.groups().values()
                for c in g.candidates if c.chassis == OTHER} == {s},
                str(marks))
            self.eventually(lambda s=seen: {
                (r.drained, r.earlier)
                for r in self.backend.read(frozenset())
                if r.chassis == OTHER} == {s}, 'read')

    def test_the_routers_of_a_group(self):
        routers = {row['name']: row['_uuid'] for row in self.nb.rows(
            'Logical_Router', 'name', '_uuid')}
        port = self.nb.rows('Logical_Router_Port', '_uuid',
                            where=ovsdb.clauses(
                                {'name': 'lrp-HA_Chassis_Group'}))[0]['_uuid']
        one, other = (routers['neutron-' + table] for table in TABLES)
        self.assertEqual((other[1],),
                         self.groups()['HA_Chassis_Group'].routers)
        # A floating IP changes the router, and not the group.
        before = self.groups()['HA_Chassis_Group']
        self.cloud.add_nat('HA_Chassis_Group', '198.51.100.10')
        self.synchronise(self.eyes_)
        self.assertIs(before, self.groups()['HA_Chassis_Group'])
        self.nb.transact(*(
            ovsdb.mutate('Logical_Router', {'_uuid': router}, 'ports', verb,
                         port)
            for router, verb in ((other, 'delete'), (one, 'insert'))))
        self.eventually(lambda: self.groups()[
            'HA_Chassis_Group'].routers == (one[1],), 'the other router')

    def test_the_segment_of_a_port_that_comes_late(self):
        def segments():
            return [port.segment and port.segment.bridge
                    for group in self.groups().values()
                    for port in group.ports]

        self.assertEqual([cloud.BRIDGE] * 2, segments())
        self.sb.transact(ovsdb.delete('Port_Binding', {'type': 'localnet'}))
        self.eventually(lambda: segments() == [None] * 2, 'gone')
        self.cloud._add_binding(
            self.cloud.network, 'provnet-1', 'localnet',
            options=ovsdb.ovsdb_map(network_name='physnet1'))
        self.eventually(lambda: segments() == [cloud.BRIDGE] * 2, 'back')
        # The patch port of the switch.
        lsp = self.cloud.ports['lrp-Gateway_Chassis']
        self.sb.transact(ovsdb.delete('Port_Binding', {'logical_port': lsp}))
        self.eventually(lambda: None in segments(), 'without patch port')
        self.cloud._add_binding(
            self.cloud.network, lsp, 'patch', options=ovsdb.ovsdb_dict(
                {'peer': 'lrp-Gateway_Chassis'}))
        self.eventually(lambda: segments() == [cloud.BRIDGE] * 2, 'again')
        # This node's own mapping.
        self.ovs.transact(ovsdb.update(
            'Open_vSwitch', {}, external_ids=ovsdb.ovsdb_dict({
                'system-id': HERE})))
        self.eventually(lambda: segments() == [''] * 2, 'not mapped')

    def test_drained_before_the_start_and_not_since(self):
        self.groups()
        for table in ('Gateway_Chassis', 'HA_Chassis'):
            self.nb.transact(ovsdb.update(table, {'chassis_name': HERE},
                                          priority=0))
        self.eventually(lambda: not any(
            g.candidate(HERE).priority for g in self.groups().values()),
            'seen')
        # They were not at the start of these.
        self.assertEqual({False}, {g.restore
                                   for g in self.groups().values()})
        fresh = self.eyes()
        self.assertEqual([True, True],
                         [g.restore for g in fresh.look().groups])
        self.nb.transact(ovsdb.update('HA_Chassis', {'chassis_name': HERE},
                                      priority=1))
        self.eventually(lambda: [
            g.restore for g in fresh.look().groups] == [True, False],
            'restored')
        self.nb.transact(ovsdb.update('HA_Chassis', {'chassis_name': HERE},
                                      priority=0))
        self.eventually(lambda: [
            g.candidate(HERE).priority for g in fresh.look().groups
        ] == [0, 0], 'seen')
        self.assertEqual([True, False],
                         [g.restore for g in fresh.look().groups])

    def test_one_port_of_all_is_followed(self):
        # Trap T29.
        eyes = self.eyes(gateway_port='cr-lrp-HA_Chassis_Group')
        self.assertEqual(['HA_Chassis_Group'],
                         [g.table for g in eyes.look().groups])
