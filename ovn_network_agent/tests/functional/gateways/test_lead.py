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
