# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Packets through a relay, between two real Open vSwitches.

What leaves a gateway is counted where it arrives.  "Nothing" is shown by a
packet that has to arrive, sent behind those that must not.
"""

import struct

from oslotest import base as oslotest

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.openflow import base as openflow
from ovn_network_agent.tests.functional.ovs import base

NAME = ownership.relay_name
FIP = '198.51.100.10'
MAC = '0a:00:00:00:00:01'
ROUTER_MAC = 'fa:16:3e:00:00:01'
BROADCAST = 'ff:ff:ff:ff:ff:ff'
_UDP = 17


def packet(dst=FIP, mac=ROUTER_MAC, vlan=None):
    """An Ethernet frame with a UDP datagram, as bytes."""
    payload = struct.pack('!HHHH', 9, 9, 8, 0)
    header = struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(payload), 0, 0, 64,
                         _UDP, 0) + bytes((192, 0, 2, 99)) + bytes(
                             map(int, dst.split('.')))
    total = sum(struct.unpack('!10H', header))
    total = (total & 0xffff) + (total >> 16)
    header = (header[:10] + struct.pack('!H', ~(total + (total >> 16)) &
                                        0xffff) + header[12:])
    tag = b'' if vlan is None else struct.pack('!HH', 0x8100, vlan)
    return (bytes.fromhex((mac + ':0a:00:00:00:00:07').replace(':', '')) +
            tag + b'\x08\x00' + header + payload)


@openflow.needs_open_vswitch
class RelayTest(oslotest.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.gateways = []
        for number in (1, 2):
            self.gateways.append(base.Gateway(number))
            self.addCleanup(self.gateways[-1].stop)
        self.here, self.there = self.gateways
        self.here.connect(self.there)
        for gateway in self.gateways:
            self.prepare(gateway)
        self.warm_up()

    def prepare(self, gateway):
        other = base.address(3 - gateway.number)
        local = base.LocalDatabase(gateway.remote)
        self.addCleanup(local.stop)
        self.assertEqual({}, local.backend().apply(backends.Delta(
            create=(base.relay(other),))))
        gateway.name = NAME(other)
        # Its packets would be counted.
        gateway.vsctl('set', 'interface', gateway.name, 'bfd:enable=false')
        gateway.relay = gateway.port(gateway.name)
        gateway.patch = waiting.eventually(
            lambda: gateway.port(base.PATCH), 'a patch')
        gateway.tunnel = waiting.eventually(
            lambda: gateway.port(base.OVN), 'a tunnel of OVN')
        # As the driver would have it: what goes to a floating IP is handed
        # to OVN here and there, and what comes from there to OVN here.
        for match, ports in (
                ('in_port=LOCAL,ip,nw_dst=' + FIP,
                 [gateway.patch, gateway.relay]),
                (f'in_port={gateway.relay:d},ip,nw_dst={FIP}',
                 [gateway.patch])):
            actions = ','.join(f'output:{p:d}' for p in sorted(ports))
            gateway.ofctl(
                'add-flow', base.BRIDGE,
                f'cookie={ownership.COOKIE_RELAY:#x},'
                f'priority={ownership.PRIORITY_RELAY:d},{match},'
                f'actions={actions}')

    def warm_up(self):
        """Until the underlay has learned its MAC addresses."""
        def arrived():
            self.here.send('br-int', 'CONTROLLER', packet(),
                           f'set_tunnel:5,output:{self.here.tunnel:d}')
            return self.there.received('br-int', base.OVN)
        waiting.eventually(arrived, 'a packet through the tunnel of OVN')
        self.count = {}
        for gateway in self.gateways:
            self.count.update(self.counters(gateway))

    def counters(self, gateway):
        """dict of (gateway, place) to number of packets since the start."""
        places = {
            'into OVN': gateway.received('br-int', 'patch-br-int'),
            'node': gateway.sent(base.BRIDGE, 'LOCAL'),
            'relay in': gateway.received(base.BRIDGE, gateway.name),
            'OVN tunnel in': gateway.received('br-int', base.OVN)}
        return {(gateway.number, place): number
                for place, number in places.items()}

    def assertCounted(self, gateway, **places):
        """What was counted at a gateway, and no more; places not named 0."""
        expected = {(gateway.number, place): 0 for place in (
            'into OVN', 'node', 'relay in', 'OVN tunnel in')}
        expected.update({(gateway.number, place.replace('_', ' ')): number
                         for place, number in places.items()})
        now = self.counters(gateway)
        self.assertEqual(expected, {key: now[key] - self.count[key]
                                    for key in now})

    def wait_for(self, gateway, place, number):
        key = gateway.number, place
        waiting.eventually(lambda: self.counters(gateway)[key] -
                           self.count[key] >= number, (place, number))

    def from_node(self, *args, **kwargs):
        self.here.send(base.BRIDGE, 'LOCAL', packet(*args, **kwargs))

    def from_ovn(self, *args, **kwargs):
        self.here.send(base.BRIDGE, self.here.patch,
                       packet(*args, **kwargs))

    def test_a_tag_arrives_with_it(self):
        self.there.ofctl('add-flow', 'br-int', 'dl_vlan=77,actions=drop')
        self.from_node(vlan=77)
        waiting.eventually(lambda: 'n_packets=1,' in self.there.ofctl(
            'dump-flows', 'br-int', 'dl_vlan=77'), 'tagged')

    def test_both_directions_at_once(self):
        for gateway in self.gateways:
            gateway.send(base.BRIDGE, 'LOCAL', packet())
        for gateway in self.gateways:
            self.wait_for(gateway, 'into OVN', 2)
            self.assertCounted(gateway, into_OVN=2, relay_in=1)

    def test_what_is_switched_never_enters_it(self):
        # Neither a broadcast nor an unknown destination, from the node or
        # from OVN, of whatever segment.
        sent = 0
        for vlan in (None, 1, 77, 4094):
            for mac in (BROADCAST, '33:33:00:00:00:01', 'fa:16:3e:00:00:99'):
                self.from_node('198.51.100.99', mac, vlan)
                self.from_ovn('198.51.100.99', mac, vlan)
                sent += 1
        self.from_node()
        self.wait_for(self.there, 'into OVN', 1)
        # All the rest was switched: from the node to OVN, and back.
        self.assertCounted(self.here, into_OVN=sent + 1, node=sent)
        self.assertCounted(self.there, into_OVN=1, relay_in=1)

    def test_what_is_for_no_flow_goes_nowhere(self):
        others = 0
        for vlan in (None, 0, 1, 77, 4094):
            for mac in (BROADCAST, ROUTER_MAC, MAC):
                self.into_relay('198.51.100.99', mac, vlan)
                others += 1
        self.into_relay()
        self.wait_for(self.there, 'into OVN', 1)
        self.assertCounted(self.there, into_OVN=1, relay_in=others + 1)
        # Nor was an address learned there: that would attract others.
        self.assertNotIn('0a:00:00:00:00:07',
                         self.there.appctl('fdb/show', base.BRIDGE))

    def into_relay(self, *args, **kwargs):
        self.here.send(base.BRIDGE, 'CONTROLLER', packet(*args, **kwargs),
                       f'output:{self.here.relay:d}')

    def test_one_with_the_reserved_tag_makes_no_loop(self):
        # Somebody forges it.  It comes in, and into no further relay.
        local = base.LocalDatabase(self.there.remote)
        self.addCleanup(local.stop)
        further = base.relay('192.0.2.3')
        self.assertEqual({}, local.backend().apply(backends.Delta(
            create=(further,))))
        self.there.vsctl('set', 'interface', further.name,
                         'bfd:enable=false')
        names = self.there.name, further.name
        before = [self.there.sent(base.BRIDGE, name) for name in names]
        self.into_relay('198.51.100.99', BROADCAST, 4095)
        self.into_relay()
        self.wait_for(self.there, 'into OVN', 2)
        self.assertCounted(self.here)
        self.assertEqual(before, [self.there.sent(base.BRIDGE, name)
                                  for name in names])

    def test_it_needs_no_flow(self):
        # After a restart of Open vSwitch there is none of ours.
        self.here.ofctl('del-flows', base.BRIDGE)
        self.here.ofctl('add-flow', base.BRIDGE, 'priority=0,actions=NORMAL')
        self.there.ofctl('del-flows', base.BRIDGE,
                         f'in_port={self.there.relay:d}')
        self.from_node(mac=BROADCAST)
        self.from_ovn(mac=BROADCAST)
        self.into_relay()
        self.wait_for(self.there, 'relay in', 1)
        self.assertCounted(self.here, into_OVN=1, node=1)
        self.assertCounted(self.there, relay_in=1)

    def test_tunnels_of_ovn_are_another_matter(self):
        # The same addresses, the same UDP port, and any key of theirs.
        keys = (1, 5, 0xff0000, ownership.RELAY_KEY - 1)
        for key in keys:
            self.here.send('br-int', 'CONTROLLER', packet(),
                           f'set_tunnel:{key:d},output:{self.here.tunnel:d}')
            self.from_node()
        self.wait_for(self.there, 'OVN tunnel in', len(keys))
        self.wait_for(self.there, 'into OVN', len(keys))
        self.assertCounted(self.there, OVN_tunnel_in=len(keys),
                           relay_in=len(keys), into_OVN=len(keys))

    def test_the_other_side_does_not_know_of_it(self):
        # Its agent is older, or has no relay yet: OVN's tunnel gets it,
        # with a key that is no datapath's, and nothing else does.
        self.there.vsctl('del-port', self.there.name)
        self.from_node()
        waiting.eventually(lambda: self.there.received('br-int', base.OVN) -
                           self.count[2, 'OVN tunnel in'], 'a packet')
        self.assertEqual(self.count[2, 'into OVN'], self.there.received(
            'br-int', 'patch-br-int'))
        self.assertEqual(self.count[2, 'node'],
                         self.there.sent(base.BRIDGE, 'LOCAL'))


@openflow.needs_open_vswitch
class AliveTest(oslotest.BaseTestCase):

    def relay(self, number, make=True):
        other = base.address(3 - number)
        local = base.LocalDatabase(self.gateways[number].remote)
        self.addCleanup(local.stop)
        if make:
            self.assertEqual({}, local.backend().apply(backends.Delta(
                create=(base.relay(other),))))
        return local

    def test_whether_there_is_another_end(self):
        self.gateways = {number: base.Gateway(number) for number in (1, 2)}
        for gateway in self.gateways.values():
            self.addCleanup(gateway.stop)
        self.gateways[1].connect(self.gateways[2])
        here = self.relay(1)

        def alive():
            relay, = here.wiring().relays
            return relay.alive
        self.assertFalse(alive())
        self.relay(2)
        waiting.eventually(alive, 'the other end has it, too')
        self.gateways[2].vsctl('del-port', NAME(base.address(1)))
        waiting.eventually(lambda: not alive(), 'the other end has none')
