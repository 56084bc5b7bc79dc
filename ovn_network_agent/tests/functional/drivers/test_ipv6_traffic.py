# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""IPv6 without a VRF: traffic on each path, while addresses come and go.

The node is that of crash.base: real databases, Open vSwitch, FRR, nftables
and netlink.  A namespace behind br-int is a virtual machine whose floating IP
is its own address, so nothing has to translate.
"""

import json
import os

from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.crash import base
from ovn_network_agent.tests.functional.frr import base as frr
from ovn_network_agent.tests.functional.migrate import places
from ovn_network_agent.tests.functional.migrate import probes

NETWORK = '2001:db8:100::/64'
CLIENT, NODE = '2001:db8:c::2', '2001:db8:c::1'
VIRTUAL_GATEWAY = 'fe80::a9fe:a9fe'
# Router, MAC of its gateway port, last number of its floating IP.
ROUTERS = (('delta', 'fa:16:3e:00:00:04', 0x10),
           ('epsilon', 'fa:16:3e:00:00:05', 0x20))
DELTA, EPSILON = (f'2001:db8:100::{number:x}' for _n, _m, number in ROUTERS)
LATER = '2001:db8:100::99'


@needs.needs(os.geteuid() == 0, 'makes network namespaces')
class Ipv6TrafficTest(base.CrashTestCase):

    def setUp(self):
        super().setUp()
        self.ipv6_of_fabric()
        self.inside = {
            name: self.router6(name, mac, f'2001:db8:100::{number:x}', place)
            for place, (name, mac, number) in enumerate(ROUTERS, 1)}
        self.unit()
        self.settled()

    def ipv6_of_fabric(self):
        """Addresses outside, and a second family of the session.

        The kernel asks for the neighbour of a forwarded packet only from a
        link-local address.  The uplink has none: bgpd would announce it as a
        next hop, which the client's bgpd, without zebra, refuses.  So the node
        knows the client for good, and not only for seconds after a question
        of the client.
        """
        shown, = json.loads(self.client.run(
            'ip', '-j', 'link', 'show', 'uplink'))
        self.node.sh(f'''
            sysctl -qw net.ipv6.conf.all.forwarding=1
            ip address replace {NODE}/64 dev uplink nodad
            ip neighbour replace {CLIENT} lladdr {shown["address"]} \
                dev uplink nud permanent
            ''')
        self.client.sh(f'''
            ip address replace {CLIENT}/64 dev uplink nodad
            ip -6 route replace {NETWORK} via {NODE}
            ''')
        for side, asn, peer, more in (
                (self.host, 65001, places.CLIENT, [
                    'redistribute static',
                    f'neighbor {places.CLIENT} prefix-list {frr.LIST} out']),
                (self.host.neighbour, 65002, places.NODE, [])):
            lines = (f'router bgp {asn:d}', 'address-family ipv6 unicast',
                     f'neighbor {peer} activate', *more)
            side.vtysh('configure terminal', *lines)

    def router6(self, name, mac, fip, number):
        """A router here, and a machine with its floating IP."""
        self.cloud.add_router(name, (f'2001:db8:100::{number:x}/64',),
                              base.HERE, mac=mac)
        self.cloud.add_nat(name, fip)
        made = namespaces.hold(self)
        self.ip(f'link add {name} type veth peer name eth0 netns {made.pid}')
        self.addCleanup(self.ip, f'link del {name}')
        self.ip(f'link set {name} up')
        self.switch.vsctl('add-port', 'br-int', name)
        self.addCleanup(self.switch.vsctl, 'del-port', 'br-int', name)
        made.sh(f'''
            ip link set lo up
            ip link set eth0 address {mac}
            ip address add {fip}/128 dev eth0 nodad
            ip link set eth0 up
            ip neighbour add {VIRTUAL_GATEWAY} lladdr {places.BRIDGE_MAC} \
                dev eth0 nud permanent
            ip route add default via {VIRTUAL_GATEWAY} dev eth0
            ''')
        return made

    def traffic(self):
        """Traffic on each path, dict of name to :class:`probes.Probe`."""
        delta = self.inside['delta']
        return {name: probes.Probe(self, begin, 'ping', target)
                for name, begin, target in (
                    ('in', self.client, DELTA), ('out', delta, CLIENT),
                    ('hairpin', delta, EPSILON))}

    def lost(self):
        """Why questions have no answer, by path."""
        return {name: probe.why for name, probe in self.traffic().items()
                if probe.end()[1]}

    def learned(self):
        return self.host.neighbour.ask('bgpd', 'show bgp ipv6 unicast json')

    def test_each_path(self):
        for fip in (DELTA, EPSILON):
            self.patiently(lambda fip=fip: f'"{fip}/128"' in self.learned(),
                           self.learned)
        self.patiently(lambda: not self.lost(), lambda: (
            f'{self.lost()} {self.log()}'))
        traffic = self.traffic()
        self.cloud.add_nat('delta', LATER)
        self.patiently(lambda: f'"{LATER}/128"' in self.learned(), self.log)
        self.cloud.remove_nat('delta', LATER)
        self.patiently(lambda: f'"{LATER}/128"' not in self.learned(),
                       self.log)
        for name, probe in traffic.items():
            sent, lost = probe.end()
            self.assertGreater(sent, 0, name)
            self.assertEqual(0, lost, (name, probe.why))
        self.a_router_leaves()

    def a_router_leaves(self):
        """Its address is withdrawn, and the other one keeps its traffic."""
        probe = probes.Probe(self, self.client, 'ping', DELTA)
        self.cloud.move('lrp-epsilon', base.OTHER)
        self.patiently(lambda: f'"{EPSILON}/128"' not in self.learned(),
                       self.learned)
        self.assertIn(f'"{DELTA}/128"', self.learned())
        sent, lost = probe.end()
        self.assertGreater(sent, 0)
        self.assertEqual(0, lost, probe.why)
