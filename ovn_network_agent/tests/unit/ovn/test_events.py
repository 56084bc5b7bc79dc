# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Row events and what they wake, and whose rows these are."""

from ovn_network_agent.common import trigger
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.ovn import events
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.ovn import clouds

HERE, AWAY = clouds.HERE, clouds.AWAY
MAC = '0a:00:00:00:00:01'
ROUTE = 'Logical_Router_Static_Route'
READERS = {'northbound', 'advertised', 'stale_route'}


class EventsTest(clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', chassis=AWAY, networks=['198.51.100.2/24'])
        self.cloud.add_nat('r1', '198.51.100.10')
        self.cloud.add_static_route('r1')
        self.looking = self.eyes()

    def woken_by(self, change, *arguments, **more):
        """What a change wakes: (reasons, stale, urgent)."""
        self.looking.trigger.wait(0)
        change(*arguments, **more)
        wake = self.looking.trigger.wait(0) or trigger.Wake()
        return set(wake.reasons), worlds.doubted(wake), wake.urgent

    def test_a_gateway_that_moves_is_urgent(self):
        for chassis in (AWAY, None, HERE):
            self.assertEqual(
                ({'sb:Port_Binding'}, True),
                self.woken_by(self.cloud.move, 'lrp-r1', chassis)[::2])

    def test_a_gateway_port_that_comes_or_goes_is_urgent(self):
        for change in (self.cloud.add_router, self.cloud.remove_router):
            reasons, _stale, urgent = self.woken_by(change, 'r3')
            self.assertIn('sb:Port_Binding', reasons)
            self.assertTrue(urgent)

    def test_what_wakes_without_haste(self):
        nat = {'nb:NAT', 'nb:Logical_Router'}
        balancer = {'nb:Load_Balancer', 'nb:Logical_Router'}
        made = self.cloud
        for change, arguments, wanted, stale in (
                (made.add_nat, ('r1', '198.51.100.11'), nat, set()),
                (self.nb.update, ('NAT', {}, {'logical_ip': '10.0.0.9'}),
                 {'nb:NAT'}, set()),
                (made.remove_nat, ('r1', '198.51.100.11'), nat, set()),
                (made.add_balancer, ('r1', '198.51.100.13:22'), balancer,
                 set()),
                (made.change_balancers, ('r1', '198.51.100.14:22'),
                 {'nb:Load_Balancer'}, set()),
                (made.remove_balancers, ('r1',), balancer, set()),
                (made.set_nat_addresses,
                 ('lrp-r1', 'fa:16:3e:00:00:01 198.51.100.12'),
                 {'sb:Port_Binding'}, set()),
                (self.nb.update, ('Logical_Router_Port', {'name': 'lrp-r1'}, {
                    'networks': '198.51.100.9/24'}),
                 {'nb:Logical_Router_Port'}, set()),
                (self.nb.update, (ROUTE, {}, {'nexthop': '198.51.100.8'}),
                 {'nb:' + ROUTE}, READERS),
                (self.nb.insert, ('Static_MAC_Binding', {
                    'logical_port': 'lrp-r1', 'ip': '198.51.100.254',
                    'mac': MAC}), {'nb:Static_MAC_Binding'}, {'northbound'}),
                (self.ovs.update, ('Interface', {}, {'ofport': 9}),
                 {'ovs:Interface'}, {'flow', 'relay_port', 'vni_port'})):
            row = {}
            if change in (self.nb.update, self.nb.insert, self.ovs.update):
                *arguments, row = arguments
            self.assertEqual((wanted, stale, False),
                             self.woken_by(change, *arguments, **row))

    def test_a_changed_priority_is_urgent(self):
        """Row EVT-07, trap T8."""
        self.cloud.add_router('ha', chassis=HERE, group='HA_Chassis_Group',
                              networks=['198.51.100.3/24'])
        for table in ('Gateway_Chassis', 'HA_Chassis'):
            self.assertEqual(
                ({'nb:' + table}, {'gateway_priority'}, True),
                self.woken_by(self.nb.update, table, {'chassis_name': HERE},
                              priority=8))

    def test_rows_of_others_put_no_backend_in_doubt(self):
        """Row WAT-09: in a fleet, most of what agents write is theirs."""
        self.cloud.add_static_route('r2', nexthop='198.51.100.99',
                                    external_ids=_marks(cloud.OTHER_HOSTNAME))
        for router in ('r1', 'r2'):
            self.nb.insert('Static_MAC_Binding', logical_port='lrp-' + router,
                           ip='198.51.100.254', mac=MAC)
        self.looking.look()
        for host, more, doubted in (
                (cloud.OTHER_HOSTNAME,
                 {'ovn-network-agent-advertised': 'gw2'}, set()),
                ('gw3', {}, set()), (cloud.HOSTNAME, {}, READERS),
                (cloud.OTHER_HOSTNAME, {}, READERS), ('', {}, READERS)):
            self.assertEqual(
                ({'nb:' + ROUTE}, doubted, False),
                self.woken_by(self.nb.update, ROUTE,
                              {'nexthop': '198.51.100.99'},
                              external_ids=_marks(host, **more)), host)
        for router, doubted in (('r1', {'northbound'}), ('r2', set())):
            self.assertEqual(
                ({'nb:Static_MAC_Binding'}, doubted, False),
                self.woken_by(self.nb.update, 'Static_MAC_Binding',
                              {'logical_port': 'lrp-' + router},
                              mac='0a:00:00:00:00:02'), router)

    def test_two_who_watch_the_same_are_both_woken(self):
        # Equal events of two drivers must not count as one.
        watch = drivers.Watch('nb', 'NAT', ('external_ip',), stale=('x',))
        one, two = (events.WakeEvent(name, watch, self.looking.trigger)
                    for name in ('one', 'two'))
        self.assertEqual(2, len({one, two}))
        self.looking.handlers['nb'].watch_event(one)
        self.looking.trigger.wait(0)
        self.cloud.add_nat('r2', '198.51.100.77')
        self.assertEqual({'x'}, self.looking.trigger.wait(0).stale)


def _marks(host, **more):
    """The external_ids of a managed route, of nobody without a host name."""
    return {'ovn-network-agent': 'managed', 'ovn-network-agent-chassis': host,
            **more} if host else {}


class IdentityTest(clouds.CloudTestCase):
    """Who we are: row ST-14, trap T23.

    The chassis is the system-id, here a UUID, and its name is matched in
    every table.  The host name is for our tags alone.
    """

    def local(self):
        return [r.name for r in self.eyes().look().routers if r.local_ports]

    def test_bound_by_name_and_not_by_host_name(self):
        # Another chassis has our host name for its name.
        self.add_chassis(cloud.HOSTNAME, 'elsewhere', '192.0.2.9')
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', chassis=cloud.HOSTNAME, networks=[
            '198.51.100.2/24'])
        node = self.eyes().look().node
        self.assertEqual((HERE, cloud.HOSTNAME), (node.chassis, node.hostname))
        self.assertEqual(['neutron-r1'], self.local())

    def test_host_names_of_two_chassis_in_different_domains(self):
        # Cut at the first dot they would be one.
        self.sb.update('Chassis', {'name': AWAY}, hostname=(
            cloud.HOSTNAME.partition('.')[0] + '.elsewhere'))
        self.cloud.add_router('r1', chassis=AWAY)
        self.assertEqual([], self.local())
