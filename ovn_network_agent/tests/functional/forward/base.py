# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A node that forwards ports, with a client and backends behind it.

Three kinds of network namespaces: the client, the node that the agent runs
on, and one for each backend. There is no OVN, no Open vSwitch and no FRR;
programs of those names say that they were called.
"""

import json
import os
import subprocess
import sys

from ovn_network_agent import ownership
from ovn_network_agent.tests import answering
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.cmd import node

VIP = '203.0.113.53'
CLIENT = '198.51.100.2'
BACKENDS = ('10.0.0.5', '10.0.0.6')
PORT = 8053
# Answers each connection with the address that it comes from.
SERVER = answering.program(
    "f'{sys.argv[1]} {self.client_address[0]}'.encode()")
ASK = '''
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 3) as s:
    print(s.makefile().read())
'''
FORBIDDEN = ('vtysh', 'ovs-vsctl', 'ovs-ofctl', 'ovs-appctl')


def rules(backends=BACKENDS, of_vip='', of_rule=''):
    """A rules file with one VIP, whose port 53 leads to backends.

    :param backends: list of addresses
    :param of_vip: a further key of the VIP and its value, as in YAML
    :param of_rule: likewise, of the rule
    :returns: text
    """
    return '\n'.join(filter(None, (
        'port_forwards:', f'- vip: {VIP}', '  manage_vip: true',
        of_vip and f'  {of_vip}', '  rules:', '  - proto: tcp',
        '    port: 53', f'    dest_port: {PORT:d}',
        f'    dest_addrs: [{", ".join(backends)}]',
        of_rule and f'    {of_rule}'))) + '\n'


def _topology(client):
    # Where the node has no dummy devices, any other will do.
    return f'''
sysctl -qw net.ipv6.conf.default.addr_gen_mode=1
sysctl -qw net.ipv4.ip_forward=1
ip link add loopback1 type veth peer name loopback1-peer
ip link set loopback1 up
ip link set loopback1-peer up
ip link add client type veth peer name eth0 netns {client}
ip address add 198.51.100.1/24 dev client
ip link set client up
ip link add lan type bridge
ip address add 10.0.0.1/24 dev lan
ip link set lan up
'''


class ForwardTestCase(node.NodeTestCase):

    def setUp(self):
        super().setUp()
        self.called = os.path.join(self.directory, 'called')
        for name in FORBIDDEN:
            self.program(name, f'#!/bin/sh\necho "{name} $*" >>{self.called}\n'
                               'exit 1\n')
        self.client = self.space()
        self.sh(_topology(self.client.pid))
        self.run_in(self.client, f'''
            ip link set lo up
            ip address add {CLIENT}/24 dev eth0
            ip link set eth0 up
            ip route add 203.0.113.0/24 via 198.51.100.1
            ''')
        self.socket = os.path.join(self.directory, 'control.ctl')
        self.rules = os.path.join(self.directory, 'rules.yaml')

    def space(self):
        """A network namespace that goes with the test."""
        return namespaces.hold(self)

    def run_in(self, holder, script):
        """Run a script in a namespace; gives its output."""
        return holder.sh(script)

    def backend(self, address):
        """A namespace with an address behind the node."""
        holder = self.space()
        name = f'lan{address.rpartition(".")[2]}'
        self.sh(f'ip link add {name} type veth peer name eth0 netns '
                f'{holder.pid}\n'
                f'ip link set {name} master lan up')
        self.run_in(
            holder, 'ip link set lo up\n'
                    f'ip address add {address}/24 dev eth0\n'
                    'ip link set eth0 up\nip route add default via 10.0.0.1')
        return holder

    def serve(self, holder, address, program=SERVER, port=PORT):
        """A server in a namespace; it is ended with the test."""
        return answering.serve(self, holder, program, address, port)

    def write_rules(self, text):
        with open(self.rules + '.new', 'w') as opened:
            opened.write(text)
        os.rename(self.rules + '.new', self.rules)

    def alone(self, more='', **default):
        """Path of a configuration without OVN, in the default VRF."""
        return self.config(
            f'[frr]\nvrf_name =\n[port_forward]\nrules_file = {self.rules}\n'
            f'{more}', remotes=False,
            control_socket=self.socket, **default)

    def ask(self, vip=VIP, port=53, holder=None):
        """What a server behind a VIP answers; '' when nobody does."""
        ended = subprocess.run(
            (holder or self.client).inside(
                sys.executable, '-c', ASK, vip, str(port)),
            capture_output=True, text=True)
        return ended.stdout.strip()

    def eventually(self, condition):
        """Wait until it is so."""
        waiting.eventually(condition, self.log)

    def vips(self):
        """Addresses of loopback1, but for the anchor beside them."""
        anchor = ownership.ANCHOR.partition('/')[0]
        return [address['local'] for link in json.loads(
            self.sh('ip -j address show dev loopback1'))
            for address in link['addr_info']
            if address['scope'] != 'link' and address['local'] != anchor]

    def tables(self):
        return self.sh('nft list tables').split('\n')[:-1]

    def status(self):
        """``status --json`` of the agent."""
        return json.loads(self.ctl('status', '--json').stdout)

    def ctl(self, *args):
        """Run ovn-network-agent-ctl; gives a CompletedProcess."""
        return self.run_program('ctl', '--socket', self.socket, *args)
