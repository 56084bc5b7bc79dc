# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Ports that leave, in the whole service; OVN is played by the test."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.gateways import drain
from ovn_network_agent.tests.functional.gateways import base as gateways
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

RELAY = 9
LRP = 'lrp-Gateway_Chassis'
ADDRESS = '198.51.100.1/32'


class HandoverTest(gateways.OrderTestCase):

    relay = True

    def setUp(self):
        super().setUp()
        self.make_relay()

    def make_relay(self):
        """As the backend and ovs-vswitchd make it."""
        name = ownership.relay_name('192.0.2.2')
        mark = ovsdb.ovsdb_dict({ownership.EXT_ID_MANAGED:
                                 ownership.EXT_ID_MANAGED_VALUE})
        self.ovs.transact(
            ovsdb.insert(
                'Interface', 'iface', name=name, type='geneve', ofport=RELAY,
                options=ovsdb.ovsdb_map(remote_ip='192.0.2.2'),
                bfd_status=ovsdb.ovsdb_map(state='up'), external_ids=mark),
            ovsdb.insert('Port', 'port', name=name, external_ids=mark,
                         interfaces=['named-uuid', 'iface']),
            ovsdb.mutate('Bridge', {'name': cloud.BRIDGE}, 'ports', 'insert',
                         ['named-uuid', 'port']))

    def relayed(self):
        """Addresses that are relayed: dict to the ports of the flow."""
        return {flow.dst: flow.output
                for flow in self.world.found(resources.Flow).values()
                if flow.cookie == ownership.COOKIE_RELAY and
                flow.in_port == resources.LOCAL}

    def taken_over(self, advertised=''):
        """What the agent of the other chassis writes."""
        marks = {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
                 ownership.EXT_ID_CHASSIS: cloud.OTHER_HOSTNAME}
        if advertised:
            marks[ownership.EXT_ID_ADVERTISED] = advertised
        self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {'output_port': LRP},
            external_ids=ovsdb.ovsdb_dict(marks)))

    def left(self, **options):
        """An agent whose port has gone to the other chassis."""
        agent = self.running(**options)
        self.eventually(lambda: len(self.routes()) == 2, self.routes)
        self.assertEqual({}, self.relayed())
        self.cloud.move(LRP, cloud.OTHER)
        self.eventually(lambda: self.relayed() == {
            ADDRESS: f'ports:{RELAY},3'}, self.relayed)
        return agent

    def test_served_until_the_new_owner_has_proved_it(self):
        # Row DRN-18, trap T15; with the marks of an original agent, too.
        self.left()
        self.assertIn(ADDRESS, self.announced())
        self.assertEqual(
            [('198.51.100.1', 'fa:16:3e:00:00:01')],
            [(r.dst, r.lladdr) for r in
             self.world.found(resources.Neighbour).values() if r.lladdr])
        self.taken_over()
        self.assert_seen()
        self.assertIn(ADDRESS, self.announced())
        self.taken_over(cloud.OTHER_HOSTNAME)
        self.eventually(lambda: ADDRESS not in self.announced(),
                        self.announced)
        # What the fabric still sends here is forwarded for a moment.
        self.assertIn(ADDRESS, self.relayed())
        self.eventually(lambda: not self.relayed(), self.relayed)
        self.eventually(lambda: not any(
            r.lladdr for r in self.world.found(resources.Neighbour).values()),
            'no neighbour')
        self.assertEqual({'198.51.100.2/32'}, self.announced())

    def assert_seen(self):
        """The agent has taken in what was written before."""
        self.cloud.add_nat('HA_Chassis_Group', '198.51.100.77')
        self.eventually(lambda: '198.51.100.77/32' in self.announced(),
                        self.announced)
        self.cloud.remove_nat('HA_Chassis_Group', '198.51.100.77')
        self.eventually(lambda: '198.51.100.77/32' not in self.announced(),
                        self.announced)

    def test_two_agents_with_one_port_of_a_router_each(self):
        """They do not take its default route from each other for ever."""
        self.cloud.add_port('Gateway_Chassis', 'further',
                            ['203.0.113.1/24'], chassis=cloud.OTHER)
        self.running()
        self.eventually(lambda: self.owners() == [
            (LRP, cloud.HOSTNAME)], self.owners)
        other = self.elsewhere(cloud.OTHER)
        before = self.nb.rows('Logical_Router_Static_Route')
        self.assertEqual([(LRP, cloud.HOSTNAME)], self.owners())
        for _round in range(3):
            self.assert_seen()
        self.assertEqual(before, self.nb.rows(
            'Logical_Router_Static_Route'))
        # A move of the port takes the route along.
        self.cloud.move(LRP, cloud.OTHER)
        self.eventually(lambda: self.owners() == [
            (LRP, cloud.OTHER_HOSTNAME)], self.owners)
        self.assertEqual((), other.status.reasons)

    def owners(self):
        """(port, host name) of the managed routes of one router."""
        router, = self.nb.rows('Logical_Router', where=ovsdb.clauses(
            {'name': 'neutron-Gateway_Chassis'}))
        uuids = str(router['static_routes'])
        return [(row['output_port'], dict(row['external_ids'][1])[
            ownership.EXT_ID_CHASSIS])
            for row in self.nb.rows('Logical_Router_Static_Route')
            if row['_uuid'][1] in uuids]

    def answer(self, state):
        """BFD at the relay."""
        self.ovs.transact(ovsdb.update(
            'Interface', {'type': 'geneve'},
            bfd_status=ovsdb.ovsdb_map(state=state)))

    def test_a_second_signal_goes_on_to_the_clean_up(self):
        # Row DRN-21.
        agent = self.running(gateway_drain__drain_timeout=3600)
        agent.stop()
        self.become((0, 'shutdown', '2'), (1,))
        self.assertFalse(agent.wait(0.2))
        self.assertEqual(2, len(self.announced()))
        self.stop(agent)
        self.assertIs(drain.Result.TIMEOUT, agent.drain.result)
        self.assertTrue(agent.complete)
        self.assertEqual(set(), self.announced())
