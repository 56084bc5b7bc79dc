# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend gateway_priority, on real databases."""

import contextlib
import functools

from ovsdbapp.backend.ovs_idl import event as ovsdb_event

from ovn_network_agent.backends import base as backends
from ovn_network_agent.tests.functional.backends import priorities
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE, OTHER, TABLES = priorities.HERE, priorities.OTHER, priorities.TABLES


class PriorityTest(priorities.Candidates, base.OvsdbTestCase):

    def test_the_mark_is_written_and_removed_with_the_priority(self):
        others = {'neutron:revision': '7', 'ovn-network-agent-x': 'y'}
        for table in ('Gateway_Chassis', 'HA_Chassis'):
            self.nb.transact(ovsdb.update(
                table, {'chassis_name': HERE},
                external_ids=ovsdb.ovsdb_dict(others)))
        for table in TABLES:
            # No answer comes between the two: it is one transaction.
            with self.watching(table) as versions:
                lowered = self.priority(table, 0, owned=(),
                                        drained='maintenance', earlier=2)
                self.assertEqual({}, self.update(lowered))
            self.assertEqual({('2', None), ('0', 'maintenance')}, versions)
            self.assertEqual({
                **others, 'ovn-network-agent-drained': 'maintenance',
                'ovn-network-agent-priority': '2'}, self.external_ids(table))
            self.eventually(lambda w=lowered: w in self.backend.read(
                frozenset()), 'read')
            back = self.priority(table, 1, before=((HERE, 0), (OTHER, 1)),
                                 owned=())
            self.assertEqual({}, self.update(back))
            self.assertEqual(others, self.external_ids(table))
            self.assertEqual({HERE: 1, OTHER: 1}, self.priorities(table))
            self.eventually(lambda w=back: w in self.backend.read(
                frozenset()), 'read')

    @contextlib.contextmanager
    def watching(self, table):
        """What everybody else sees of the row of this chassis."""
        found = set()
        name = 'HA_Chassis' if table == 'HA_Chassis_Group' else table

        def look():
            with self.other_.databases['nb'].rows() as nb:
                for row in nb[name].values():
                    if row.chassis_name == HERE:
                        found.add((str(row.priority), row.external_ids.get(
                            'ovn-network-agent-drained')))

        class Seen(ovsdb_event.RowEvent):
            def run(self, event, row, old):
                look()

        self.other_ = self.eyes()
        seen = Seen((Seen.ROW_UPDATE,), name, None)
        self.other_.handlers['nb'].watch_event(seen)
        look()
        yield found
        self.synchronise(self.other_)
        look()

    def test_the_server_refuses_what_is_decided_on_old_rows(self):
        """Trap T9: what another agent does before the transaction arrives."""
        for wanted, change, after in (
                ('Gateway_Chassis', [ovsdb.update(
                    'Gateway_Chassis', {'chassis_name': OTHER}, priority=9)],
                 {HERE: 2, OTHER: 9}),
                ('HA_Chassis_Group', [ovsdb.update(
                    'HA_Chassis', {'chassis_name': OTHER}, priority=9)],
                 {HERE: 2, OTHER: 9}),
                ('HA_Chassis_Group', [
                    ovsdb.insert(
                        'HA_Chassis', 'new', chassis_name='third',
                        priority=9),
                    ovsdb.mutate('HA_Chassis_Group', {
                        'name': 'neutron-lrp-HA_Chassis_Group'},
                        'ha_chassis', 'insert', ['named-uuid', 'new'])],
                 {HERE: 2, OTHER: 1, 'third': 9})):
            backend = self.agent(backend=priorities.TooLate)
            backend.meanwhile = functools.partial(self.nb.transact, *change)
            wanted = self.priority(wanted, 7)
            self.assertIn('somebody has changed', self.update(
                wanted, backend=backend)[wanted.ref])
            self.assertEqual(after, self.priorities(wanted.table))
            self.nb.transact(*(
                ovsdb.update(each, {'chassis_name': OTHER}, priority=1)
                for each in ('Gateway_Chassis', 'HA_Chassis')))
            self.synchronise(self.eyes_)

    def test_beyond_the_schema_is_refused(self):
        """Row DRN-15: the server says so, and it costs only itself.

        Without the Southbound server nothing is changed.
        """
        bad = self.priority('Gateway_Chassis', 32768)
        good = self.priority('HA_Chassis_Group', 7)
        self.assertIn('32768', self.update(bad, good)[bad.ref])
        self.assertEqual({HERE: 7, OTHER: 1},
                         self.priorities('HA_Chassis_Group'))
        wanted = self.priority('Gateway_Chassis', 7)
        self.sb.kill()
        self.assertRaises(backends.BackendError, self.update, wanted)
        self.assertEqual(dict(priorities.BEFORE),
                         self.priorities('Gateway_Chassis'))
