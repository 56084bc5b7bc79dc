# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Real row events and what they wake."""

from ovn_network_agent.common import trigger
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world as worlds

HERE = cloud.CHASSIS


class EventsTest(base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', chassis=cloud.OTHER, networks=[
            '198.51.100.2/24'])
        self.cloud.add_nat('r1', '198.51.100.10')
        self.cloud.add_static_route('r1')
        self.eyes_ = self.eyes()
        self.woken_by(lambda: None)

    def woken_by(self, change):
        """What a change wakes: (reasons, stale, urgent)."""
        change()
        self.synchronise(self.eyes_)
        wake = self.eyes_.trigger.wait(0) or trigger.Wake()
        return set(wake.reasons), worlds.doubted(wake), wake.urgent

    def test_what_nobody_watches_wakes_nobody(self):
        for server, operation in (
                (self.nb, ovsdb.update(
                    'NAT', {}, external_port_range='1-9')),
                (self.nb, ovsdb.update(
                    'Logical_Router_Port', {},
                    ipv6_ra_configs=ovsdb.ovsdb_map(a='b'))),
                (self.nb, ovsdb.insert('Logical_Switch_Port', 'port',
                                       name='port')),
                (self.sb, ovsdb.update('Port_Binding', {},
                                       mac=ovsdb.ovsdb_set(['unknown']))),
                (self.sb, ovsdb.update('Chassis', {'name': HERE}, nb_cfg=5)),
                # Stamped by every ovn-controller all the time.
                (self.sb, ovsdb.update('Port_Binding', {}, up=True)),
                (self.ovs, ovsdb.update(
                    'Interface', {}, statistics=['map', [['rx', 5]]]))):
            self.assertEqual((set(), set(), False), self.woken_by(
                lambda s=server, o=operation: s.transact(o)), operation)

    def test_rows_that_are_filtered_wake_nobody(self):
        self.assertEqual((set(), set(), False), self.woken_by(
            lambda: self.cloud._add_binding(self.cloud.network, 'vm-1', '')))
        reasons, stale, _urgent = self.woken_by(
            lambda: self.cloud.add_static_route('r2', '203.0.113.0/24'))
        self.assertEqual((set(), set()), (
            reasons - {'nb:Logical_Router'}, stale))

    def test_a_storm_is_one_wake_up(self):
        self.eyes_.stop()
        eyes = self.eyes(coalesce=0.5)
        eyes.look()
        while eyes.trigger.wait(1):
            pass
        for number in range(20, 120):
            self.cloud.add_nat('r1', f'198.51.100.{number}')
        wakes = []

        def complete():
            wake = eyes.trigger.wait(0.1)
            wakes.extend([wake] if wake else [])
            return len(eyes.fips('r1')) == 101
        self.eventually(complete, 'all NAT rows')
        while (wake := eyes.trigger.wait(1)):
            wakes.append(wake)
        self.assertLessEqual(len(wakes), 12)
        self.assertEqual({'nb:NAT', 'nb:Logical_Router'},
                         {r for wake in wakes for r in wake.reasons})

    def test_both_databases_share_a_wake_up(self):
        # What Neutron writes and what northd makes of it, within 100 ms.
        self.eyes_.stop()
        eyes = self.eyes(coalesce=0.5)
        while eyes.trigger.wait(1):
            pass
        # After a quiet time the first event does not wait for others.
        self.cloud.change_nat('198.51.100.10', logical_ip='10.0.0.7')
        self.assertEqual(('nb:NAT',), eyes.trigger.wait(5).reasons)
        self.cloud.add_nat('r1', '198.51.100.11')
        self.cloud.set_nat_addresses(
            'lrp-r1', 'fa:16:3e:00:00:01 198.51.100.12')
        self.synchronise(eyes)
        self.assertLessEqual({'nb:NAT', 'sb:Port_Binding'},
                             set(eyes.trigger.wait(5).reasons))
        self.assertIsNone(eyes.trigger.wait(0))
