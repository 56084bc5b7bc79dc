# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Packets: nothing is lost by a load, and removed backends are left.

A client, this node and two backends, each a namespace with a device::

    client 198.51.100.2 --- here --- 10.0.0.5 (a), 10.0.0.6 (b)
"""

import socket
import struct
import subprocess
import sys

from pyroute2 import netlink

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import conntrack
from ovn_network_agent.netlink.route_codec import attribute
from ovn_network_agent.privileged import nft
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.nft import base

A = ('udp', base.VIP, 53, '10.0.0.5', 5353)
OTHER = ('tcp', '192.0.2.99', 80, '10.0.0.6', 8080)
# Seconds; on a machine that is very slow.
LIMIT = 60
PORT = struct.Struct('>H')

# Answers each datagram, and each connection, with its name and what the
# client's address is.
SERVER = '''
import socket, sys, threading
name = sys.argv[1].encode()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(('', 5353))
tcp = socket.create_server(('', 8080))
def serve():
    while True:
        peer, address = tcp.accept()
        threading.Thread(target=talk, args=(peer,), daemon=True).start()
def talk(peer):
    while peer.recv(100):
        peer.send(name)
threading.Thread(target=serve, daemon=True).start()
print('ready', flush=True)
while True:
    data, address = udp.recvfrom(100)
    udp.sendto(name + b' ' + address[0].encode() + b' ' + data, address)
'''

# Sends until its input ends, from one port and from new ones in turn; says
# what was answered by whom, and how many were not.
STREAM = '''
import select, socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.connect(('192.0.2.53', 53))
lost = sent = 0
def ask(sock):
    global lost, sent
    sent += 1
    sock.send(b'%d' % sent)
    if select.select([sock], [], [], 2)[0]:
        sock.recv(100)
    else:
        lost += 1
ask(sock)
print('ready', flush=True)
while not select.select([sys.stdin], [], [], 0.002)[0]:
    ask(sock)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as fresh:
        fresh.connect(('192.0.2.53', 53))
        ask(fresh)
print(sent, lost)
'''

# As fast as it can, from a new port for each hundred.


# Sends much to whoever connects, in packets of full size.
LARGE = '''
import socket
tcp = socket.create_server(('', 8090), family=socket.AF_INET6,
                           dualstack_ipv6=True)
print('ready', flush=True)
while True:
    peer, _address = tcp.accept()
    with peer:
        peer.sendall(bytes(300000))
'''
# Counts what comes.
FETCH = '''
import socket, sys
total = 0
with socket.create_connection((sys.argv[1], 80), 20) as peer:
    try:
        while data := peer.recv(65536):
            total += len(data)
    except TimeoutError:
        pass
print(total, flush=True)
'''

# For each line of its input one question, over the same socket.
ASK = '''
import select, socket, sys
kind = getattr(socket, 'SOCK_' + sys.argv[1])
sock = socket.socket(socket.AF_INET, kind)
sock.connect((sys.argv[2], int(sys.argv[3])))
for line in sys.stdin:
    sock.send(b'x')
    answered = select.select([sock], [], [], float(line))[0]
    print(sock.recv(100).decode() if answered else 'nothing', flush=True)
'''


def nested(kind, *attributes):
    """An attribute that holds others."""
    return attribute(kind | netlink.NLA_F_NESTED, b''.join(attributes))


class IPv6Test(base.NftTestCase):
    """A connection without packets: the kernel is told of it."""

    VIP, BACKEND = '2001:db8::53', '2001:db8:1::5'

    def track(self, port):
        """A connection of a client's port, translated."""
        client, vip, backend = (
            socket.inet_pton(socket.AF_INET6, address)
            for address in ('2001:db8:2::2', self.VIP, self.BACKEND))

        def one_way(source, source_port, to, to_port):
            return (nested(1, attribute(3, source), attribute(4, to)),
                    nested(2, attribute(1, bytes([17])),
                           attribute(2, PORT.pack(source_port)),
                           attribute(3, PORT.pack(to_port))))

        # CTA_TUPLE_ORIG, ..._REPLY, CTA_TIMEOUT, CTA_ZONE, CTA_NAT_DST.
        body = bytes((socket.AF_INET6, 0, 0, 0)) + b''.join((
            nested(1, *one_way(client, port, vip, 53)),
            nested(2, *one_way(vip, 53, client, port)),
            attribute(7, struct.pack('>I', 600)),
            attribute(18, PORT.pack(base.ZONE)),
            nested(13, attribute(4, backend), attribute(5, backend),
                   nested(3, attribute(1, PORT.pack(5353)),
                          attribute(2, PORT.pack(5353))))))
        with connection.Connection(
                True, connection.NETLINK_NETFILTER) as kernel:
            # IPCTNL_MSG_CT_NEW
            self.assertEqual([], kernel.batch(
                [(0x100, wire.NLM_F_CREATE | wire.NLM_F_EXCL, body)]))

    def test_connections_of_a_removed_backend(self):
        self.track(1024)
        self.track(1025)
        for target, count in ((self.VIP, 0), (self.BACKEND, 2),
                              (self.BACKEND, 0)):
            self.assertEqual(count, nft.delete_connections(
                'ip6', base.ZONE, [['udp', self.VIP, 53, target, 5353]]))


class TrafficTestCase(base.NftTestCase):

    def setUp(self):
        super().setUp()
        self.client = self.node('client', '198.51.100.1', '198.51.100.2')
        self.servers = {
            name: self.node(name, f'10.0.{i}.1', address)
            for i, (name, address) in enumerate(
                [('a', '10.0.0.5'), ('b', '10.0.0.6')], 1)}
        self.set_sysctl('net/ipv4/ip_forward', '1')
        for name, server in self.servers.items():
            self.start(server, SERVER, name)

    def node(self, name, here, there):
        """A namespace with a device towards this one.

        :returns: :class:`valuespaces.Namespace`
        """
        made = namespaces.hold(self)
        dev = f'to-{name}'
        self.ip(f'link add {dev} type veth peer name eth0 '
                f'netns {made.pid}')
        self.ip(f'address add {here}/32 peer {there} dev {dev}')
        self.ip(f'link set {dev} up')
        for command in ('link set lo up', 'link set eth0 up',
                        f'address add {there}/32 dev eth0',
                        f'route add {here}/32 dev eth0',
                        f'route add default via {here} src {there}'):
            made.run('ip', *command.split())
        return made

    def start(self, node, program, *args):
        """Run Python in a node; returns when it says something.

        :returns: (process, what it said)
        """
        process = self.run_in(node, program, *args)
        self.assertEqual('ready\n', process.stdout.readline())
        return process

    def run_in(self, node, program, *args):
        process = subprocess.Popen(
            node.inside(sys.executable, '-c', program, *args),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def client_of(self, kind, address, port):
        """A client that keeps its socket; a function that asks once."""
        process = self.run_in(self.client, ASK, kind, address, str(port))

        def ask(patience=LIMIT):
            print(patience, file=process.stdin, flush=True)
            return process.stdout.readline().strip()

        return ask

    def tracked(self):
        """Where the connections of the zone lead to, a sorted list."""
        with connection.Connection(
                True, connection.NETLINK_NETFILTER) as kernel:
            return sorted(found[:5] for found in
                          conntrack.read(kernel, 'ip', base.ZONE))


class ErrorsTest(TrafficTestCase):
    """This node is the router that has to say that packets are too big.

    Rules and tables take the place of the VRF: an answer crosses the pair, so
    its source is the VIP again when this node finds it too big.
    """

    VIPS = {'ip': base.VIP, 'ip6': '2001:db8::53'}
    BACKENDS = {'ip': '10.0.0.5', 'ip6': '2001:db8:1::5'}
    PAIR = '169.254.0.1/30', '169.254.0.2/30', 'fe80::a9fe:1', 'fe80::a9fe:2'

    def setUp(self):
        super().setUp()
        for path in ('ipv6/conf/all/forwarding',
                     'ipv4/conf/veth-provider/accept_local'):
            if 'veth' in path:
                self.ip('link add veth-default type veth peer name '
                        'veth-provider')
            self.set_sysctl('net/' + path, '1')
        for node, name, net in ((self.client, 'client', '2001:db8:2::'),
                                (self.servers['a'], 'a', '2001:db8:1::')):
            self.ip(f'address add {net}1/64 dev to-{name} nodad')
            node.run('ip', *f'address add {net}5/64 dev eth0 nodad'.split())
            node.run('ip', *f'route add default via {net}1'.split())
        ends = ('veth-default', 'veth-provider')
        for number, end in enumerate(ends):
            self.ip(f'address add {self.PAIR[number]} dev {end}')
            self.ip(f'address add {self.PAIR[2 + number]}/64 dev {end} nodad')
            self.ip(f'link set {end} up')
        mac = self.shown('link show veth-provider')[0]['address']
        for end in self.PAIR[1::2]:
            self.ip(f'neigh replace {end.partition("/")[0]} lladdr {mac} dev '
                    'veth-default nud permanent')
        self.routes_of('-4', self.PAIR[1].partition('/')[0], '198.51.100.2')
        self.routes_of('-6', self.PAIR[3], '2001:db8:2::/64')
        # As a managed VIP, which takes the errors that nobody translates.
        for vip in self.VIPS.values():
            self.ip(f'address add {vip} dev lo')

    def routes_of(self, family, through, client):
        """The way of the agent's marks, and what a VRF would have."""
        for command in (
                'rule add pref 150 fwmark 0x100/0x100 lookup main',
                'rule add pref 151 fwmark 0x200/0x200 lookup 201',
                'rule add pref 1000 iif veth-provider lookup 10',
                f'route add default via {through} dev veth-default table 201',
                f'route add {client} dev to-client table 10'):
            self.ip(f'{family} {command}')

    def test_a_large_answer_through_a_small_uplink(self):
        self.ip('link set to-client mtu 1300')
        for family, vip in self.VIPS.items():
            self.create(self.backend, base.table(
                ('tcp', vip, 80, self.BACKENDS[family], 8090),
                family=family))
        self.start(self.servers['a'], LARGE)
        for vip in self.VIPS.values():
            said = self.run_in(self.client, FETCH, vip).stdout.readline()
            self.assertEqual('300000', said.strip(), vip)


class ReplaceTest(TrafficTestCase):

    def test_no_packet_is_lost_by_a_hundred_loads(self):
        """Neither of a connection that is there, nor of new ones."""
        tables = [base.table(A), base.table(A, OTHER)]
        self.load(tables[0])
        stream = self.start(self.client, STREAM)
        for turn in range(100):
            old, new = tables[turn % 2], tables[1 - turn % 2]
            self.assertEqual([new], self.change(
                self.backend, update=[(old, new)]))
        said, _nothing = stream.communicate('end\n', timeout=LIMIT)
        sent, lost = map(int, said.split())
        self.assertEqual(0, lost, said)
        self.assertGreater(sent, 100)
