# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend gateway_priority: what it changes, and what it refuses."""

from ovn_network_agent.backends.northbound import gateway_priority
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.tests.functional.backends import priorities
from ovn_network_agent.tests.unit.ovn import clouds

HERE, OTHER, TABLES = priorities.HERE, priorities.OTHER, priorities.TABLES
BEFORE = priorities.BEFORE


class OneRefused(gateway_priority.GatewayPriorityBackend):
    """The server refuses one row, and with it the whole transaction."""

    def command(self, verb, resource):
        if (resource.table, resource.chassis) != ('HA_Chassis_Group', HERE):
            return super().command(verb, resource)
        return _Refused


class _Refused(commands.NorthboundCommand):
    def run_idl(self, txn):
        raise RuntimeError('constraint violation')


class PriorityTest(priorities.Candidates, clouds.CloudTestCase):

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
        self.assertEqual({'HA_Chassis_Group'}, {r.table for r in self.agent(
            groups=groups).read(frozenset())})

    def become(self, here, other, *tables):
        """Compare the priorities in some tables, by default in both."""
        for table in tables or TABLES:
            self.assertEqual({HERE: here, OTHER: other},
                             self.priorities(table))

    def test_both_tables(self):
        wanted = [self.priority(table, 7) for table in TABLES]
        self.assertEqual({}, self.update(*wanted))
        self.become(7, 1)
        self.assertLessEqual(set(wanted), set(
            self.backend.read(frozenset())))

    def test_a_group_is_numbered_anew_as_a_whole(self):
        for table in TABLES:
            after = ((HERE, 3), (OTHER, 2))
            self.assertEqual({}, self.update(*(
                self.priority(table, priority, chassis, after=after)
                for chassis, priority in after)))
        self.become(3, 2)

    def test_a_peer_keeps_its_mark(self):
        for table in 'Gateway_Chassis', 'HA_Chassis':
            self.nb.update(table, {'chassis_name': OTHER}, priority=0,
                           external_ids={
                               'ovn-network-agent-drained': 'shutdown',
                               'ovn-network-agent-priority': '9'})
        self.assertEqual({'shutdown'}, {
            g.candidate(OTHER).drained for g in self.groups().values()})
        for table in TABLES:
            # Numbered anew: its place, not its priority.
            before, after = ((HERE, 2), (OTHER, 0)), ((HERE, 3), (OTHER, 0))
            self.assertEqual({}, self.update(
                self.priority(table, 3, before=before, after=after),
                self.priority(table, 0, OTHER, before, after=after,
                              drained='shutdown', earlier=1)))
            self.become(3, 0, table)
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
        self.become(3, 2, 'Gateway_Chassis')
        self.become(2, 1, 'HA_Chassis_Group')

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
        self.become(2, 1)
        self.assertEqual({}, self.update(*wanted))
        self.become(0, 1)

    def test_a_stop_holds_nothing_else_back(self):
        """A change of another kind costs only itself."""
        other = self.priority('Gateway_Chassis', 7)
        failures = self.update(other, self.lowered(
            'HA_Chassis_Group', ((HERE, 2), (OTHER, 9))))
        self.assertNotIn(other.ref, failures)
        self.become(7, 1, 'Gateway_Chassis')

    def test_nothing_on_what_is_old(self):
        # Somebody has changed a peer since it was decided.
        for table in TABLES:
            wanted = self.priority(table, 7, before=((HERE, 2), (OTHER, 9)))
            self.assertIn('somebody has changed',
                          self.update(wanted)[wanted.ref])
        self.become(2, 1)

    def test_the_owner_is_asked_for_once_more(self):
        # Row DRN-14, trap T9: the view is old, the server is not.
        wanted = self.priority('Gateway_Chassis', 7)
        self.cloud.move('lrp-Gateway_Chassis', OTHER)
        self.assertIn('cr-lrp-Gateway_Chassis is no longer on this chassis',
                      self.update(wanted)[wanted.ref])
        self.become(2, 1, 'Gateway_Chassis')
        self.cloud.move('lrp-Gateway_Chassis', None)
        self.assertIn(wanted.ref, self.update(wanted))

    def test_one_that_left_costs_only_itself(self):
        wanted = {table: self.priority(table, 7) for table in TABLES}
        self.cloud.move('lrp-Gateway_Chassis', OTHER)
        self.assertEqual({wanted['Gateway_Chassis'].ref},
                         set(self.update(*wanted.values())))
        self.become(7, 1, 'HA_Chassis_Group')

    def test_a_candidate_that_is_gone(self):
        wanted = self.priority('HA_Chassis_Group', 7)
        self.cloud.remove_router('HA_Chassis_Group')
        for one in (wanted, self.priority(
                'Gateway_Chassis', 7, 'nobody')):
            self.assertIn(one.ref, self.update(one))
