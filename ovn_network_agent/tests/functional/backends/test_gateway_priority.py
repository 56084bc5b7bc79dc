# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend gateway_priority, on real databases."""

import contextlib
import threading

from ovsdbapp.backend.ovs_idl import event as ovsdb_event

from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import gateway_priority
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.tests.functional.backends import priorities
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE, OTHER, TABLES = priorities.HERE, priorities.OTHER, priorities.TABLES
BEFORE = priorities.BEFORE


class OneRefused(gateway_priority.GatewayPriorityBackend):
    """The server refuses one row, and with it the whole transaction."""

    def command(self, verb, resource):
        if (resource.table, resource.chassis) != ('HA_Chassis_Group', HERE):
            return super().command(verb, resource)
        return _Refused


class TooLate(gateway_priority.GatewayPriorityBackend):
    """Somebody writes between the decision and the transaction.

    :ivar meanwhile: called once, on the thread that keeps up the replica,
        which can therefore not have seen what it does
    """

    def command(self, verb, resource):
        made = super().command(verb, resource)

        def late(api):
            command = made(api)
            run_idl = command.run_idl

            def run(txn):
                meanwhile, self.meanwhile = self.meanwhile, lambda: None
                meanwhile()
                run_idl(txn)
            command.run_idl = run
            return command
        return late


class _Refused(commands.NorthboundCommand):
    def run_idl(self, txn):
        raise RuntimeError('constraint violation')


class PriorityTest(priorities.PriorityTestCase):

    def test_it_reads_the_groups_of_this_chassis(self):
        found = self.backend.read(frozenset())
        self.assertEqual(
            {(table, chassis): priority for table in TABLES
             for chassis, priority in BEFORE},
            {(r.table, r.chassis): r.priority for r in found})
        self.assertEqual([], self.agent('another').read(frozenset()))

    def test_only_its_groups_are_read(self):
        """Row WAT-09; a group that is gone is none."""
        self.eyes_.look()
        groups = self.eyes_.view.groups
        self.assertEqual(
            set(self.backend.read(frozenset())),
            set(self.agent(groups=groups).read(frozenset())))
        for table in TABLES:
            one = frozenset(key for key in groups if key[0] == table)
            self.assertEqual({table}, {r.table for r in self.agent(
                groups=one).read(frozenset())})
        gone = frozenset((table, '00000000-0000-4000-8000-000000000000')
                         for table in TABLES)
        self.assertEqual([], self.agent(groups=gone).read(frozenset()))
        self.cloud.remove_router('Gateway_Chassis')
        self.synchronise(self.eyes_)
        self.assertEqual({'HA_Chassis_Group'}, {r.table for r in self.agent(
            groups=groups).read(frozenset())})

    def test_both_tables(self):
        wanted = [self.priority(table, 7) for table in TABLES]
        self.assertEqual({}, self.update(*wanted))
        for table in TABLES:
            self.assertEqual({HERE: 7, OTHER: 1}, self.priorities(table))
        self.eventually(lambda: set(wanted) <= set(
            self.backend.read(frozenset())), 'read')

    def test_a_group_is_numbered_anew_as_a_whole(self):
        for table in TABLES:
            after = ((HERE, 3), (OTHER, 2))
            self.assertEqual({}, self.update(*(
                self.priority(table, priority, chassis, after=after)
                for chassis, priority in after)))
            self.assertEqual(dict(after), self.priorities(table))

    def external_ids(self, table, chassis=HERE):
        """As the server has them, a dict."""
        rows = self.nb.rows('HA_Chassis' if table == 'HA_Chassis_Group'
                            else table, 'external_ids', where=ovsdb.clauses(
                                {'chassis_name': chassis}))
        return dict(rows[0]['external_ids'][1])

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

    def test_a_peer_keeps_its_mark(self):
        ids = ovsdb.ovsdb_dict({'ovn-network-agent-drained': 'shutdown',
                                'ovn-network-agent-priority': '9'})
        self.nb.transact(
            *(ovsdb.update(table, {'chassis_name': OTHER}, priority=0,
                           external_ids=ids)
              for table in ('Gateway_Chassis', 'HA_Chassis')))
        self.eventually(lambda: {
            g.candidate(OTHER).drained for g in self.groups().values()
        } == {'shutdown'}, 'seen')
        for table in TABLES:
            # Numbered anew: its place, not its priority.
            before, after = ((HERE, 2), (OTHER, 0)), ((HERE, 3), (OTHER, 0))
            self.assertEqual({}, self.update(
                self.priority(table, 3, before=before, after=after),
                self.priority(table, 0, OTHER, before, after=after,
                              drained='shutdown', earlier=1)))
            self.assertEqual({HERE: 3, OTHER: 0}, self.priorities(table))
            self.assertEqual({'ovn-network-agent-drained': 'shutdown',
                              'ovn-network-agent-priority': '1'},
                             self.external_ids(table, OTHER))

    def test_a_group_is_changed_as_a_whole_or_not_at_all(self):
        after = ((HERE, 3), (OTHER, 2))
        wanted = [self.priority(table, priority, chassis, after=after)
                  for table in TABLES for chassis, priority in after]
        backend = self.agent(backend=OneRefused)
        self.assertEqual({r.ref for r in wanted
                          if r.table == 'HA_Chassis_Group'},
                         set(self.update(*wanted, backend=backend)))
        self.assertEqual(dict(after), self.priorities('Gateway_Chassis'))
        self.assertEqual(dict(BEFORE), self.priorities('HA_Chassis_Group'))

    def lowered(self, table, before=BEFORE):
        """What a stop makes of a group."""
        return self.priority(table, 0, before=before, drained='shutdown',
                             earlier=2, owned=())

    def test_a_stop_lowers_all_groups_or_none(self):
        """Two that stop could wait for each other else, see ADR 0009."""
        wanted = [self.lowered(table) for table in TABLES]
        everything = {r.ref for r in wanted}
        # The server refuses one.
        self.assertEqual(everything, set(self.update(
            *wanted, backend=self.agent(backend=OneRefused))))
        # One is not as it was when that was decided.
        self.assertEqual(everything, set(self.update(
            wanted[0], self.lowered(TABLES[1], ((HERE, 2), (OTHER, 9))))))
        for table in TABLES:
            self.assertEqual(dict(BEFORE), self.priorities(table))
        self.assertEqual({}, self.update(*wanted))
        for table in TABLES:
            self.assertEqual({HERE: 0, OTHER: 1}, self.priorities(table))

    def test_a_stop_holds_nothing_else_back(self):
        """A change of another kind costs only itself."""
        other = self.priority('Gateway_Chassis', 7)
        failures = self.update(other, self.lowered(
            'HA_Chassis_Group', ((HERE, 2), (OTHER, 9))))
        self.assertNotIn(other.ref, failures)
        self.assertEqual({HERE: 7, OTHER: 1},
                         self.priorities('Gateway_Chassis'))

    def test_nothing_on_what_is_old(self):
        # Somebody has changed a peer since it was decided.
        for table in TABLES:
            wanted = self.priority(table, 7, before=((HERE, 2), (OTHER, 9)))
            self.assertIn('somebody has changed',
                          self.update(wanted)[wanted.ref])
            self.assertEqual(dict(BEFORE), self.priorities(table))

    def test_a_change_that_the_replica_has_not_seen(self):
        wanted = self.priority('Gateway_Chassis', 7)
        with self._not_following('nb'):
            self.nb.transact(ovsdb.update(
                'Gateway_Chassis', {'chassis_name': OTHER}, priority=9))
            done = threading.Event()
            result = {}

            def work():
                result.update(self.update(wanted))
                done.set()
            thread = threading.Thread(target=work, name='fake-writer')
            thread.start()
        thread.join(20)
        self.assertTrue(done.is_set())
        self.assertIn('somebody has changed', result[wanted.ref])
        self.assertEqual({HERE: 2, OTHER: 9},
                         self.priorities('Gateway_Chassis'))

    def test_the_server_refuses_what_is_decided_on_old_rows(self):
        # Trap T9: whatever another agent does right before the transaction
        # arrives.
        for table, member in (('Gateway_Chassis', 'Gateway_Chassis'),
                              ('HA_Chassis_Group', 'HA_Chassis')):
            wanted = self.priority(table, 7)
            backend = self.agent(backend=TooLate)
            backend.meanwhile = lambda m=member: self.nb.transact(
                ovsdb.update(m, {'chassis_name': OTHER}, priority=9))
            self.assertIn('somebody has changed', self.update(
                wanted, backend=backend)[wanted.ref])
            self.assertEqual({HERE: 2, OTHER: 9}, self.priorities(table))

    def test_the_server_refuses_on_another_set_of_candidates(self):
        # Trap T9.
        wanted = self.priority('HA_Chassis_Group', 7)
        backend = self.agent(backend=TooLate)
        backend.meanwhile = lambda: self.nb.transact(
            ovsdb.insert('HA_Chassis', 'new', chassis_name='third',
                         priority=9),
            ovsdb.mutate('HA_Chassis_Group', {
                'name': 'neutron-lrp-HA_Chassis_Group'}, 'ha_chassis',
                'insert', ['named-uuid', 'new']))
        self.assertIn('somebody has changed', self.update(
            wanted, backend=backend)[wanted.ref])
        self.assertEqual({HERE: 2, OTHER: 1, 'third': 9},
                         self.priorities('HA_Chassis_Group'))

    def _not_following(self, name):
        """Hold a replica still, so that it does not take in changes."""
        return self.eyes_.databases[name].rows()

    def test_the_owner_is_asked_for_once_more(self):
        # Row DRN-14, trap T9: the view is old, the server is not.
        wanted = self.priority('Gateway_Chassis', 7)
        self.cloud.move('lrp-Gateway_Chassis', OTHER)
        self.assertIn('cr-lrp-Gateway_Chassis is no longer on this chassis',
                      self.update(wanted)[wanted.ref])
        self.assertEqual(dict(BEFORE), self.priorities('Gateway_Chassis'))
        self.cloud.move('lrp-Gateway_Chassis', None)
        self.assertIn(wanted.ref, self.update(wanted))

    def test_one_that_left_costs_only_itself(self):
        wanted = {table: self.priority(table, 7) for table in TABLES}
        self.cloud.move('lrp-Gateway_Chassis', OTHER)
        self.assertEqual({wanted['Gateway_Chassis'].ref},
                         set(self.update(*wanted.values())))
        self.assertEqual({HERE: 7, OTHER: 1},
                         self.priorities('HA_Chassis_Group'))

    def test_without_the_southbound_server_nothing(self):
        wanted = self.priority('Gateway_Chassis', 7)
        self.sb.kill()
        self.assertRaises(backends.BackendError, self.update, wanted)
        self.assertEqual(dict(BEFORE), self.priorities('Gateway_Chassis'))

    def test_a_candidate_that_is_gone(self):
        wanted = self.priority('HA_Chassis_Group', 7)
        self.cloud.remove_router('HA_Chassis_Group')
        self.eventually(lambda: 'HA_Chassis_Group' not in self.groups(),
                        'gone')
        for one in (wanted, self.priority(
                'Gateway_Chassis', 7, 'nobody')):
            self.assertIn(one.ref, self.update(one))

    def test_beyond_the_schema_is_refused(self):
        # Row DRN-15: the server says so, and it costs only itself.
        bad = self.priority('Gateway_Chassis', 32768)
        good = self.priority('HA_Chassis_Group', 7)
        self.assertIn('32768', self.update(bad, good)[bad.ref])
        self.assertEqual({HERE: 7, OTHER: 1},
                         self.priorities('HA_Chassis_Group'))
