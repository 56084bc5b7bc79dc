# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From rows of real databases to the view, incrementally."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.runtime import snapshot_problems
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import view_base
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = views.HERE


class ViewTest(view_base.ViewTestCase):

    def test_the_mappings_of_this_chassis_come_first(self):
        key = f'ovn-bridge-mappings-{HERE}'
        self.ovs.transact(ovsdb.mutate(
            'Open_vSwitch', {}, 'external_ids', 'insert',
            ovsdb.ovsdb_dict({key: 'physnet2:br-own'})))
        eyes = self.eyes()
        self.assertEqual((('physnet2', 'br-own'),),
                         eyes.look().node.bridge_mappings)
        self.ovs.transact(ovsdb.mutate(
            'Open_vSwitch', {}, 'external_ids', 'delete',
            ovsdb.ovsdb_set((key,))))
        self.eventually(lambda: (('physnet1', cloud.BRIDGE),) ==
                        eyes.look().node.bridge_mappings,
                        'the mappings for all')

    def test_a_stop_asks_what_this_node_can_announce_at_present(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes()

        def unfit(phase):
            return [group.unfit for group in eyes.look(phase=phase).groups]

        eyes.unfit = True
        self.assertEqual([True], unfit(model.Phase.RUNNING))
        self.assertEqual([True], unfit(model.Phase.DRAINING))
        eyes.recovers = True
        self.assertEqual([True], unfit(model.Phase.RUNNING))
        self.assertEqual([False], unfit(model.Phase.DRAINING))

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
            self.cloud.apply_order('lrp-' + table, {HERE: 5, cloud.OTHER: 4})
        self.synchronise(eyes)
        self.assertEqual([[(2, 5), (1, 4)]] * 2, applied())
        # New rows, and another value in the same row.
        self.cloud.apply_order('lrp-Gateway_Chassis', {HERE: 0})
        self.synchronise(eyes)
        self.assertEqual([[(2, 0), (1, None)], [(2, 5), (1, 4)]], applied())
        self.sb.transact(ovsdb.update('HA_Chassis', {'priority': 5},
                                      priority=3))
        self.synchronise(eyes)
        self.assertEqual([[(2, 0), (1, None)], [(2, 3), (1, 4)]], applied())

    def test_a_router_as_neutron_writes_it(self):
        for group in ('Gateway_Chassis', 'HA_Chassis_Group'):
            self.cloud.add_router(group, chassis=HERE, group=group,
                                  networks=['198.51.100.1/24',
                                            '2001:db8::1/64'])
        self.cloud.add_nat('Gateway_Chassis', '198.51.100.10')
        self.cloud.add_nat('Gateway_Chassis', '198.51.100.1',
                           '10.0.0.0/24', 'snat')
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
        self.assertEqual((HERE, cloud.HOSTNAME, (('physnet1', cloud.BRIDGE),
                                                 )),
                         (look.node.chassis, look.node.hostname,
                          look.node.bridge_mappings))
        self.assertEqual(
            [('Gateway_Chassis', 'lrp-Gateway_Chassis',
              'cr-lrp-Gateway_Chassis'),
             ('HA_Chassis_Group', 'neutron-lrp-HA_Chassis_Group',
              'cr-lrp-HA_Chassis_Group')],
            [(g.table, g.name, g.ports[0].redirect) for g in look.groups])
        for group in look.groups:
            self.assertEqual(
                (model.Candidate(HERE, 2, True, '192.0.2.1', 'geneve'),
                 model.Candidate(cloud.OTHER, 1, True, '192.0.2.2',
                                 'geneve')), group.candidates)
            port, = group.ports
            router = next(r for r in look.routers
                          if r.name == 'neutron-' + group.table)
            self.assertEqual((HERE, 'lrp-' + group.table),
                             (port.chassis, port.lrp))
            # As the router's own port has it.
            self.assertEqual((router.ports[0].networks,
                              router.ports[0].segment),
                             (port.networks, port.segment))
            self.assertEqual((router.uuid,), group.routers)
        router = next(r for r in look.routers
                      if r.name == 'neutron-Gateway_Chassis')
        port = router.ports[0]
        self.assertEqual(
            ('lrp-Gateway_Chassis', 'fa:16:3e:00:00:01', HERE, True),
            (port.lrp, port.mac, port.chassis, port.local))
        self.assertEqual(('198.51.100.1/24', '2001:db8::1/64'),
                         port.networks)
        for address in ('198.51.100.1', '198.51.100.12'):
            self.assertEqual([port.lrp], eyes.sources('Gateway_Chassis',
                                                      address).sent)
        segment = port.segment
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
        self.sb.transact(ovsdb.update(
            'Port_Binding', {'logical_port': self.cloud.ports['lrp-r1']},
            external_ids=ovsdb.ovsdb_dict({})))
        eyes = self.eyes()
        self.assertEqual({'198.51.100.1'}, eyes.addresses('r1').keys())
        self.assertEqual([], eyes.sources('r1', '198.51.100.12').sent)

    def test_local_is_where_the_port_is_bound(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', chassis=cloud.OTHER)
        self.cloud.add_router('r3')
        eyes = self.eyes()
        self.assertEqual(['neutron-r1'],
                         [r.name for r in eyes.look().routers])
        self.cloud.move('lrp-r2', HERE)
        self.becomes(eyes, lambda r: r and r.ports[0].local, 'r2 came',
                     'r2')
        self.cloud.move('lrp-r1', None)
        self.becomes(eyes, lambda r: r is None, 'r1 went')

    def test_one_that_moved_stays_in_view_while_it_has_our_tag(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_static_route(
            'r1', nexthop='198.51.100.254', external_ids={
                ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
                ownership.EXT_ID_CHASSIS: cloud.HOSTNAME})
        eyes = self.eyes()
        self.cloud.move('lrp-r1', cloud.OTHER)
        router = self.becomes(eyes, lambda r: r and not r.local_ports,
                              'r1 moved and is still seen')
        self.assertEqual((model.NbDefaultRoute(
            '198.51.100.254', '', True, ownership.Owner(cloud.HOSTNAME)),),
            router.default_routes)
        self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {'ip_prefix': '0.0.0.0/0'},
            external_ids=ovsdb.ovsdb_dict({
                ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
                ownership.EXT_ID_CHASSIS: cloud.OTHER_HOSTNAME})))
        self.becomes(eyes, lambda r: r is None, 'r1 has a new owner')

    def test_gateway_port_filter(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', chassis=HERE)
        eyes = self.eyes(gateway_port='cr-lrp-r2')
        self.assertEqual(['neutron-r2'],
                         [r.name for r in eyes.look().routers])
        none = self.eyes(gateway_port='cr-nobody')
        self.assertEqual((), none.look().routers)

    def test_several_gateway_ports(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_port('r1', 'second', ['203.0.113.1/24'],
                            chassis=cloud.OTHER)
        eyes = self.eyes()
        self.assertEqual(
            [('lrp-r1', True), ('lrp-second', False)],
            [(p.lrp, p.local) for p in eyes.router('r1').ports])
        self.cloud.move('lrp-second', HERE)
        self.becomes(eyes, lambda r: len(r.local_ports) == 2, 'both here')
        self.cloud.move('lrp-r1', cloud.OTHER)
        self.becomes(eyes, lambda r: [p.lrp for p in r.local_ports] ==
                     ['lrp-second'], 'only the second here')

    def test_the_wire_of_this_node(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes()

        def change(table, **row):
            self.ovs.transact(ovsdb.update(table, {}, **row))

        def segment():
            return eyes.router('r1').ports[0].segment

        change('Interface', ofport=ovsdb.ovsdb_set([]))
        self.eventually(lambda: segment().patch_port == 0, 'no port number')
        change('Interface', ofport=-1)
        self.eventually(lambda: segment().patch_port == 0, 'a failed port')
        change('Interface', ofport=7)
        self.eventually(lambda: segment().patch_port == 7, 'a new number')
        change('Open_vSwitch', external_ids=ovsdb.ovsdb_dict({
            'system-id': HERE, 'ovn-bridge-mappings': 'physnet9:br-9'}))
        self.eventually(lambda: segment().bridge == '', 'no mapping')
        self.assertEqual('', segment().device)

    def test_without_another_gateway_the_servers_are_asked_more_often(self):
        """All relays have to be dead, and there has to be one."""
        eyes = self.eyes()

        def probes():
            eyes.look()
            return {eyes.databases[name].connection.idl.session.reconnect
                    .get_probe_interval() for name in ('nb', 'sb')}
        self.assertEqual({60000}, probes())
        for number, states, wanted in (
                (1, ('down', 'up'), 60000), (2, ('down', 'down'), 2000),
                (3, ('up', 'down'), 60000)):
            with self.subTest(states=states):
                self.ovs.transact(*(
                    operation for end, state in enumerate(states)
                    for operation in self._relay(number, end, state)))
                self.eventually(lambda w=wanted: probes() == {w},
                                f'{wanted} ms')

    def _relay(self, number, end, state):
        """Operations that make a relay, or change its state."""
        address = f'192.0.2.{100 + end:d}'
        name = ownership.relay_name(address)
        status = {'bfd_status': ovsdb.ovsdb_map(state=state)}
        if number > 1:
            return [ovsdb.update('Interface', {'name': name}, **status)]
        mark = ovsdb.ovsdb_dict({ownership.EXT_ID_MANAGED:
                                 ownership.EXT_ID_MANAGED_VALUE})
        return [
            ovsdb.insert('Interface', f'iface{end:d}', name=name,
                         type='geneve', ofport=90 + end, external_ids=mark,
                         options=ovsdb.ovsdb_map(remote_ip=address),
                         **status),
            ovsdb.insert('Port', f'port{end:d}', name=name,
                         external_ids=mark,
                         interfaces=['named-uuid', f'iface{end:d}']),
            ovsdb.mutate('Bridge', {'name': cloud.BRIDGE}, 'ports', 'insert',
                         ['named-uuid', f'port{end:d}'])]

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
        self.assertEqual(3, eyes.router('r1').ports[0].segment.patch_port)
        # Without its mark none is taken in its place.
        self.ovs.transact(ovsdb.update(
            'Port', {'name': 'patch-provnet-1'},
            external_ids=ovsdb.ovsdb_dict({})))
        self.becomes(eyes, lambda r: r.ports[0].segment.patch_port == 0,
                     'no patch port')
        self.assertIn('has no patch port for provnet-1',
                      snapshot_problems.SnapshotProblems().problems(
                          eyes.look(), (cloud.BRIDGE,), False)[0])

    def test_several_segments_of_one_network(self):
        """The one that this node is connected to, wherever it sorts."""
        self.cloud.add_router('r1', chassis=HERE)
        for number in range(1, 6):
            self.cloud._add_binding(
                self.cloud.network, f'provnet-1{number}', 'localnet',
                options=ovsdb.ovsdb_map(network_name=f'rack{number}'))
        eyes = self.eyes()

        def name():
            segment = eyes.router('r1').ports[0].segment
            return segment and segment.localnet_port

        self.assertEqual('provnet-1', name())
        # And as long as there is none, one of them is said to be elsewhere.
        self.ovs.transact(ovsdb.update(
            'Open_vSwitch', {}, external_ids=ovsdb.ovsdb_dict({
                'system-id': HERE, 'ovn-bridge-mappings': 'other:br-9'})))
        self.becomes(eyes, lambda r: not r.ports[0].segment.bridge, 'gone')
        self.ovs.transact(ovsdb.update(
            'Open_vSwitch', {}, external_ids=ovsdb.ovsdb_dict({
                'system-id': HERE,
                'ovn-bridge-mappings': 'rack3:' + cloud.BRIDGE})))
        self.eventually(lambda: name() == 'provnet-13', 'another rack')

    def test_a_vlan_segment_and_a_localnet_port_that_comes_late(self):
        """Only the segment knows; see trap T50."""
        datapath = self.cloud.add_network()
        self.cloud.add_router('r1', chassis=HERE, network=datapath)
        eyes = self.eyes()
        self.assertIsNone(eyes.router('r1').ports[0].segment)
        self.cloud._add_binding(
            datapath, 'provnet-2', 'localnet', tag=42,
            options=ovsdb.ovsdb_map(network_name='physnet1'))
        router = self.becomes(eyes, lambda r: r.ports[0].segment,
                              'the segment')
        # The device will have the MAC of the bridge, which is lo here.
        self.assertEqual((42, cloud.BRIDGE + '.42', '00:00:00:00:00:00'), (
            router.ports[0].segment.vlan, router.ports[0].segment.device,
            router.ports[0].segment.mac))

    def test_names_that_are_not_neutrons(self):
        self.cloud.add_router('r1', port='strange.name_1', chassis=HERE)
        self.assertEqual('lrp-strange.name_1',
                         self.eyes().router('r1').ports[0].lrp)
