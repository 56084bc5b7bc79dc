# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Real row events and what they wake."""

from ovn_network_agent.common import trigger
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.ovn import events
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

    def test_a_gateway_that_moves_is_urgent(self):
        for chassis in (cloud.OTHER, None, HERE):
            reasons, _stale, urgent = self.woken_by(
                lambda where=chassis: self.cloud.move('lrp-r1', where))
            self.assertEqual({'sb:Port_Binding'}, reasons)
            self.assertTrue(urgent)

    def test_a_gateway_port_that_comes_or_goes_is_urgent(self):
        for change in (lambda: self.cloud.add_router('r3'),
                       lambda: self.cloud.remove_router('r3')):
            reasons, _stale, urgent = self.woken_by(change)
            self.assertIn('sb:Port_Binding', reasons)
            self.assertTrue(urgent)

    def test_what_wakes_without_haste(self):
        for change, wanted, stale in (
                (lambda: self.cloud.add_nat('r1', '198.51.100.11'),
                 {'nb:NAT', 'nb:Logical_Router'}, set()),
                (lambda: self.cloud.change_nat('198.51.100.11',
                                               logical_ip='10.0.0.9'),
                 {'nb:NAT'}, set()),
                (lambda: self.cloud.remove_nat('r1', '198.51.100.11'),
                 {'nb:NAT', 'nb:Logical_Router'}, set()),
                (lambda: self.cloud.add_balancer('r1', '198.51.100.13:22'),
                 {'nb:Load_Balancer', 'nb:Logical_Router'}, set()),
                (lambda: self.cloud.change_balancers('r1',
                                                     '198.51.100.14:22'),
                 {'nb:Load_Balancer'}, set()),
                (lambda: self.cloud.remove_balancers('r1'),
                 {'nb:Load_Balancer', 'nb:Logical_Router'}, set()),
                (lambda: self.cloud.set_nat_addresses(
                    'lrp-r1', 'fa:16:3e:00:00:01 198.51.100.12'),
                 {'sb:Port_Binding'}, set()),
                (lambda: self.nb.transact(ovsdb.update(
                    'Logical_Router_Port', {'name': 'lrp-r1'},
                    networks='198.51.100.9/24')),
                 {'nb:Logical_Router_Port'}, set()),
                (lambda: self.nb.transact(ovsdb.update(
                    'Logical_Router_Static_Route', {},
                    nexthop='198.51.100.8')),
                 {'nb:Logical_Router_Static_Route'},
                 {'northbound', 'advertised', 'stale_route'}),
                (lambda: self.nb.transact(ovsdb.insert(
                    'Static_MAC_Binding', logical_port='lrp-r1',
                    ip='198.51.100.254', mac='0a:00:00:00:00:01')),
                 {'nb:Static_MAC_Binding'}, {'northbound'}),
                (lambda: self.ovs.transact(ovsdb.update(
                    'Interface', {}, ofport=9)),
                 {'ovs:Interface'}, {'flow', 'relay_port', 'vni_port'})):
            reasons, doubted, urgent = self.woken_by(change)
            self.assertEqual((wanted, stale, False),
                             (reasons, doubted, urgent))

    def test_a_changed_priority_is_urgent(self):
        """Row EVT-07, trap T8."""
        self.woken_by(lambda: self.cloud.add_router(
            'ha', chassis=HERE, group='HA_Chassis_Group',
            networks=['198.51.100.3/24']))
        for table in ('Gateway_Chassis', 'HA_Chassis'):
            self.assertEqual(
                ({'nb:' + table}, {'gateway_priority'}, True),
                self.woken_by(lambda table=table: self.nb.transact(
                    ovsdb.update(table, {'chassis_name': HERE},
                                 priority=8))))

    def test_rows_of_others_put_no_backend_in_doubt(self):
        """Row WAT-09: in a fleet, most of what agents write is theirs."""
        self.cloud.add_static_route(
            'r2', nexthop='198.51.100.99',
            external_ids=dict(_tags(cloud.OTHER_HOSTNAME)[1]))
        for router in ('r1', 'r2'):
            self.nb.transact(ovsdb.insert(
                'Static_MAC_Binding', logical_port='lrp-' + router,
                ip='198.51.100.254', mac='0a:00:00:00:00:01'))
        self.synchronise(self.eyes_)
        self.eyes_.look()
        self.woken_by(lambda: None)
        readers = {'northbound', 'advertised', 'stale_route'}
        for host, more, doubted in (
                (cloud.OTHER_HOSTNAME,
                 {'ovn-network-agent-advertised': 'gw2'}, set()),
                ('gw3', {}, set()), (cloud.HOSTNAME, {}, readers),
                (cloud.OTHER_HOSTNAME, {}, readers), ('', {}, readers)):
            self.assertEqual(
                ({'nb:Logical_Router_Static_Route'}, doubted, False),
                self.woken_by(lambda h=host, m=more: self.nb.transact(
                    ovsdb.update('Logical_Router_Static_Route',
                                 {'nexthop': '198.51.100.99'},
                                 external_ids=_tags(h, **m)))), host)
        for router, doubted in (('r1', {'northbound'}), ('r2', set())):
            self.assertEqual(
                ({'nb:Static_MAC_Binding'}, doubted, False),
                self.woken_by(lambda r=router: self.nb.transact(
                    ovsdb.update('Static_MAC_Binding',
                                 {'logical_port': 'lrp-' + r},
                                 mac='0a:00:00:00:00:02'))), router)

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

    def test_two_who_watch_the_same_are_both_woken(self):
        # Equal events of two drivers must not count as one.
        watch = drivers.Watch('nb', 'NAT', ('external_ip',), stale=('x',))
        one = events.WakeEvent('one', watch, self.eyes_.trigger)
        two = events.WakeEvent('two', watch, self.eyes_.trigger)
        self.assertNotEqual(one, two)
        self.assertEqual(2, len({one, two}))
        self.eyes_.handlers['nb'].watch_event(one)
        self.cloud.add_nat('r2', '198.51.100.77')
        self.synchronise(self.eyes_)
        self.assertEqual({'x'}, self.eyes_.trigger.wait(0).stale)

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


def _tags(host, **more):
    """The external_ids of a managed route, of nobody without a host name."""
    return ovsdb.ovsdb_dict({
        'ovn-network-agent': 'managed', 'ovn-network-agent-chassis': host,
        **more} if host else {})


class IdentityTest(base.OvsdbTestCase):
    """Who we are: row ST-14, trap T23.

    The chassis is the system-id, here a UUID, and its name is matched in
    every table.  The host name is for our tags alone.
    """

    def test_bound_by_name_and_not_by_host_name(self):
        # Another chassis has our host name for its name.
        self.sb.transact(
            ovsdb.insert('Encap', 'encap', type='geneve', ip='192.0.2.9',
                         chassis_name=cloud.HOSTNAME),
            ovsdb.insert('Chassis', name=cloud.HOSTNAME,
                         hostname='elsewhere',
                         encaps=['named-uuid', 'encap']))
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', chassis=cloud.HOSTNAME, networks=[
            '198.51.100.2/24'])
        snapshot = self.eyes().look()
        self.assertEqual((HERE, cloud.HOSTNAME), (
            snapshot.node.chassis, snapshot.node.hostname))
        self.assertEqual(['neutron-r1'], [
            r.name for r in snapshot.routers if r.local_ports])

    def test_host_names_of_two_chassis_in_different_domains(self):
        # Cut at the first dot they would be one.
        self.sb.transact(ovsdb.update(
            'Chassis', {'name': cloud.OTHER},
            hostname=cloud.HOSTNAME.partition('.')[0] + '.elsewhere'))
        self.cloud.add_router('r1', chassis=cloud.OTHER)
        self.assertEqual([], [r.name for r in self.eyes().look().routers
                              if r.local_ports])

    def test_the_candidates_are_names_of_chassis(self):
        for number, table in enumerate(('Gateway_Chassis',
                                        'HA_Chassis_Group')):
            name = f'r{number}'
            self.cloud.add_router(name, chassis=HERE, group=table, networks=[
                f'198.51.100.{number + 1}/24'])
        found = self.eyes().look().groups
        self.assertEqual(2, len(found))
        for group in found:
            self.assertEqual([HERE, cloud.OTHER],
                             [c.chassis for c in group.candidates])
