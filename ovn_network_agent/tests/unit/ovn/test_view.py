# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From rows to the view, incrementally."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.runtime import snapshot_problems
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

HERE, AWAY = clouds.HERE, clouds.AWAY


class ViewTest(clouds.CloudTestCase):

    def segment(self, eyes):
        return eyes.router('r1').ports[0].segment

    def ports(self, eyes, name='r1'):
        """The gateway ports of a router and whether they are here, or None."""
        router = eyes.router(name)
        return router and [(port.lrp, port.local) for port in router.ports]

    def test_the_mappings_of_this_chassis_come_first(self):
        eyes = self.eyes()
        for more, wanted in (({f'ovn_bridge_mappings_{HERE}': 'physnet2:br'},
                              ('physnet2', 'br')),
                             ({}, ('physnet1', cloud.BRIDGE))):
            self.tell(ovn_bridge_mappings='physnet1:lo', **more)
            self.assertEqual((wanted,), eyes.look().node.bridge_mappings)

    def test_a_stop_asks_what_this_node_can_announce_at_present(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes()
        eyes.unfit = True
        for recovers, phase, wanted in (
                (False, model.Phase.RUNNING, True),
                (False, model.Phase.DRAINING, True),
                (True, model.Phase.RUNNING, True),
                (True, model.Phase.DRAINING, False)):
            eyes.recovers = recovers
            group, = eyes.look(phase=phase).groups
            self.assertIs(wanted, group.unfit)

    def test_the_order_in_the_southbound_database(self):
        """It is known beside the order in NB, as soon as it is there."""
        for group in ('Gateway_Chassis', 'HA_Chassis_Group'):
            self.cloud.add_router(group, chassis=HERE, group=group)
        eyes = self.eyes()

        def applied():
            return [[(c.priority, c.applied) for c in group.candidates]
                    for group in eyes.look().groups]
        self.assertEqual([[(2, None), (1, None)]] * 2, applied())
        for table in ('Gateway_Chassis', 'HA_Chassis_Group'):
            self.cloud.apply_order('lrp-' + table, {HERE: 5, AWAY: 4})
        self.assertEqual([[(2, 5), (1, 4)]] * 2, applied())
        # New rows, and another value in the same row.
        self.cloud.apply_order('lrp-Gateway_Chassis', {HERE: 0})
        self.assertEqual([[(2, 0), (1, None)], [(2, 5), (1, 4)]], applied())
        self.sb.update('HA_Chassis', {'priority': 5}, priority=3)
        self.assertEqual([[(2, 0), (1, None)], [(2, 3), (1, 4)]], applied())

    def test_a_router_as_neutron_writes_it(self):
        for group in ('Gateway_Chassis', 'HA_Chassis_Group'):
            self.cloud.add_router(group, chassis=HERE, group=group, networks=[
                '198.51.100.1/24', '2001:db8::1/64'])
        self.cloud.add_nat('Gateway_Chassis', '198.51.100.10')
        self.cloud.add_nat('Gateway_Chassis', '198.51.100.1', '10.0.0.0/24',
                           'snat')
        self.cloud.add_nat('Gateway_Chassis', '198.51.100.11',
                           external_mac='fa:16:3e:00:00:aa',
                           logical_port='vm-port')
        self.cloud.set_nat_addresses(
            'lrp-Gateway_Chassis',
            'fa:16:3e:00:00:01 198.51.100.1 198.51.100.12 2001:db8::12 '
            'is_chassis_resident("cr-lrp-Gateway_Chassis")',
            # The distributed one, as northd lists it.
            'fa:16:3e:00:00:aa 198.51.100.11 is_chassis_resident("vm-port")')
        eyes = self.eyes()
        look = eyes.look()
        self.assertEqual(
            (HERE, cloud.HOSTNAME, (('physnet1', cloud.BRIDGE),)),
            (look.node.chassis, look.node.hostname, look.node.bridge_mappings))
        routers = {router.name: router for router in look.routers}
        for group, (table, name) in zip(look.groups, (
                ('Gateway_Chassis', 'lrp-Gateway_Chassis'),
                ('HA_Chassis_Group', 'neutron-lrp-HA_Chassis_Group')),
                strict=True):
            router, (port,) = routers['neutron-' + table], group.ports
            self.assertEqual(
                (table, name, (router.uuid,),
                 (model.Candidate(HERE, 2, True, '192.0.2.1', 'geneve'),
                  model.Candidate(AWAY, 1, True, '192.0.2.2', 'geneve'))),
                (group.table, group.name, group.routers, group.candidates))
            # As the router's own port has it.
            self.assertEqual(
                (f'cr-lrp-{table}', 'lrp-' + table, HERE,
                 router.ports[0].networks, router.ports[0].segment),
                (port.redirect, port.lrp, port.chassis, port.networks,
                 port.segment))
        router = routers['neutron-Gateway_Chassis']
        port, segment = router.ports[0], router.ports[0].segment
        self.assertEqual(
            ('lrp-Gateway_Chassis', 'fa:16:3e:00:00:01', HERE, True,
             ('198.51.100.1/24', '2001:db8::1/64')),
            (port.lrp, port.mac, port.chassis, port.local, port.networks))
        for address in ('198.51.100.1', '198.51.100.12'):
            self.assertEqual([port.lrp], eyes.sources('Gateway_Chassis',
                                                      address).sent)
        self.assertEqual(
            ('provnet-1', 'physnet1', 0, cloud.BRIDGE, cloud.BRIDGE, 3),
            (segment.localnet_port, segment.physical_network, segment.vlan,
             segment.bridge, segment.device, segment.patch_port))
        # The chassis of the machine answers for the distributed one.
        self.assertEqual(
            {address: model.ServedAddress(
                router.uuid, 'Gateway_Chassis', address, mac, port, kinds,
                answered)
             for address, kinds, mac, answered in (
                 ('198.51.100.1', ('snat', 'router'), port.mac, True),
                 ('198.51.100.10', ('fip',), port.mac, True),
                 ('198.51.100.11', ('fip',), 'fa:16:3e:00:00:aa', False),
                 ('198.51.100.12', ('snat',), port.mac, True),
                 ('2001:db8::1', ('router',), port.mac, True))},
            look.addresses[router.uuid])

    def test_only_patch_ports_of_a_router_gateway_offer_addresses(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.set_nat_addresses('lrp-r1', 'fa:16:3e:00:00:01 '
                                     '198.51.100.12 '
                                     'is_chassis_resident("cr-lrp-r1")')
        self.sb.update('Port_Binding', {
            'logical_port': self.cloud.ports['lrp-r1']}, external_ids={})
        eyes = self.eyes()
        self.assertEqual({'198.51.100.1'}, eyes.addresses('r1').keys())
        self.assertEqual([], eyes.sources('r1', '198.51.100.12').sent)

    def test_local_is_where_the_port_is_bound(self):
        for number, chassis in enumerate((HERE, AWAY, None), 1):
            self.cloud.add_router(f'r{number}', chassis=chassis)
        eyes = self.eyes()
        self.assertEqual(['neutron-r1'], [r.name for r in eyes.look().routers])
        self.cloud.move('lrp-r2', HERE)
        self.assertEqual([('lrp-r2', True)], self.ports(eyes, 'r2'))
        self.cloud.move('lrp-r1', None)
        self.assertIsNone(self.ports(eyes))

    def test_one_that_moved_stays_in_view_while_it_has_our_tag(self):
        marks = {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
                 ownership.EXT_ID_CHASSIS: cloud.HOSTNAME}
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_static_route('r1', nexthop='198.51.100.254',
                                    external_ids=marks)
        eyes = self.eyes()
        self.cloud.move('lrp-r1', AWAY)
        self.assertEqual([('lrp-r1', False)], self.ports(eyes))
        self.assertEqual((model.NbDefaultRoute(
            '198.51.100.254', '', True, ownership.Owner(cloud.HOSTNAME)),),
            eyes.router('r1').default_routes)
        self.nb.update('Logical_Router_Static_Route', {}, external_ids={
            **marks, ownership.EXT_ID_CHASSIS: cloud.OTHER_HOSTNAME})
        self.assertIsNone(self.ports(eyes))

    def test_gateway_port_filter(self):
        """Trap T29: neither other routers nor their groups count."""
        for name, group in (('r1', 'Gateway_Chassis'),
                            ('r2', 'HA_Chassis_Group')):
            self.cloud.add_router(name, chassis=HERE, group=group)
        for port, routers, groups in (
                ('cr-lrp-r2', ['neutron-r2'], ['HA_Chassis_Group']),
                ('cr-nobody', [], [])):
            seen = self.eyes(gateway_port=port).look()
            self.assertEqual((routers, groups), (
                [router.name for router in seen.routers],
                [group.table for group in seen.groups]))

    def test_several_gateway_ports(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_port('r1', 'second', ['203.0.113.1/24'], chassis=AWAY)
        eyes = self.eyes()
        for lrp, chassis, wanted in ((None, None, (True, False)),
                                     ('lrp-second', HERE, (True, True)),
                                     ('lrp-r1', AWAY, (False, True))):
            if lrp:
                self.cloud.move(lrp, chassis)
            self.assertEqual([('lrp-r1', wanted[0]),
                              ('lrp-second', wanted[1])], self.ports(eyes))

    def test_the_wire_of_this_node(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes()
        # No number, a failed port, and a new number.
        for number, wanted in (([], 0), (-1, 0), (7, 7)):
            self.ovs.update('Interface', {}, ofport=number)
            self.assertEqual(wanted, self.segment(eyes).patch_port)
        self.tell(ovn_bridge_mappings='physnet9:br-9')
        self.assertEqual(('', ''), (self.segment(eyes).bridge,
                                    self.segment(eyes).device))

    def test_the_patch_port_of_this_network_and_no_other(self):
        """Trap T54: not simply the first patch port of the bridge."""
        self.cloud.add_router('r1', chassis=HERE)
        for number, name, external_ids in (
                (1, 'patch-a', {'ovn-localnet-port': 'provnet-0'}),
                (2, 'patch-b', {})):
            self.ovs.transact(
                ovsdb.insert('Interface', 'iface', name=name, type='patch',
                             ofport=number),
                ovsdb.insert('Port', 'port', name=name,
                             interfaces=['named-uuid', 'iface'],
                             external_ids=ovsdb.ovsdb_dict(external_ids)),
                ovsdb.mutate('Bridge', {'name': cloud.BRIDGE}, 'ports',
                             'insert', ['named-uuid', 'port']))
        eyes = self.eyes()
        self.assertEqual(3, self.segment(eyes).patch_port)
        # Without its mark none is taken in its place.
        self.ovs.update('Port', {'name': 'patch-provnet-1'}, external_ids={})
        self.assertEqual(0, self.segment(eyes).patch_port)
        self.assertIn('has no patch port for provnet-1',
                      snapshot_problems.SnapshotProblems().problems(
                          eyes.look(), (cloud.BRIDGE,), False)[0])

    def test_several_segments_of_one_network(self):
        """The one that this node is connected to, wherever it sorts.

        As long as there is none, one of them is said to be elsewhere.
        """
        self.cloud.add_router('r1', chassis=HERE)
        for number in range(1, 6):
            self.cloud._add_binding(
                self.cloud.network, f'provnet-1{number}', 'localnet',
                options=ovsdb.ovsdb_map(network_name=f'rack{number}'))
        eyes = self.eyes()
        self.assertEqual('provnet-1', self.segment(eyes).localnet_port)
        self.tell(ovn_bridge_mappings='other:br-9')
        self.assertEqual('', self.segment(eyes).bridge)
        self.tell(ovn_bridge_mappings='rack3:lo')
        self.assertEqual('provnet-13', self.segment(eyes).localnet_port)

    def test_a_vlan_segment_and_a_localnet_port_that_comes_late(self):
        """Only the segment knows; see trap T50."""
        datapath = self.cloud.add_network()
        self.cloud.add_router('r1', chassis=HERE, network=datapath)
        eyes = self.eyes()
        self.assertIsNone(self.segment(eyes))
        self.cloud._add_binding(
            datapath, 'provnet-2', 'localnet', tag=42,
            options=ovsdb.ovsdb_map(network_name='physnet1'))
        segment = self.segment(eyes)
        # The device will have the MAC of the bridge, which is lo here.
        self.assertEqual((42, cloud.BRIDGE + '.42', '00:00:00:00:00:00'),
                         (segment.vlan, segment.device, segment.mac))

    def test_names_that_are_not_neutrons(self):
        self.cloud.add_router('r1', port='strange.name_1', chassis=HERE)
        self.assertEqual([('lrp-strange.name_1', True)],
                         self.ports(self.eyes()))
