# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lead of an owner over the other candidates."""

from ovn_network_agent.tests.functional.gateways import base as gateways
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = gateways.HERE
OTHER = gateways.OTHER
TABLES = gateways.TABLES


class LeadTest(gateways.OrderTestCase):

    def test_a_tie_is_answered_at_once(self):
        # Row EVT-07, trap T8: not at the next reconcile_interval.
        self.running()
        for priority in (2, 3, 4):
            self.set(OTHER, priority=priority)
            self.become((priority + 1,), (priority,))

    def test_at_least_2_beside_a_candidate_at_0(self):
        # Row DRN-12: that one may come back with 1.
        self.running()
        self.set(OTHER, priority=0)
        self.set(HERE, priority=1)
        self.become((2,), (0,))

    def test_without_another_candidate_nothing_is_written(self):
        # Row DRN-13.
        self.running()
        self.nb.transact(ovsdb.update(
            'HA_Chassis_Group', {}, ha_chassis=ovsdb.ovsdb_set([
                ['uuid', row['_uuid'][1]] for row in
                self.nb.rows('HA_Chassis', '_uuid', where=ovsdb.clauses(
                    {'chassis_name': HERE}))])))
        self.set(HERE, priority=1)
        # What is answered here would have been answered there.
        self.become((2,), (1,), ['Gateway_Chassis'])
        self.assertEqual({HERE: (1,)}, self.candidates('HA_Chassis_Group'))

    def test_the_group_is_numbered_anew_at_the_end_of_the_numbers(self):
        # Row DRN-15.
        self.running(gateway_drain__handover_timeout=0)
        for table in TABLES.values():
            self.nb.transact(*(ovsdb.update(
                table, {'chassis_name': chassis}, priority=32767)
                for chassis in (HERE, OTHER)))
        self.become((2,), (1,))

    def test_rows_of_another_name(self):
        # Trap T11, row DRN-16: what refers to them counts.
        for name, chassis in (('x-y', HERE), ('z', OTHER)):
            self.nb.transact(ovsdb.update(
                'Gateway_Chassis', {'chassis_name': chassis}, name=name))
        self.running()
        self.set(OTHER, priority=2)
        self.become((3,), (2,))

    def test_the_owner_of_a_port_that_moves_stops_leading(self):
        # Trap T9: two that both lead would drive each other's numbers up.
        self.running()
        self.cloud.move('lrp-Gateway_Chassis', OTHER)
        self.eventually(lambda: self.announced() == {'198.51.100.2/32'},
                        'gone')
        self.set(OTHER, priority=2)
        # A later one is answered, so this one is not going to be.
        self.become((3,), (2,), ['HA_Chassis_Group'])
        self.become((2,), (2,), ['Gateway_Chassis'])
