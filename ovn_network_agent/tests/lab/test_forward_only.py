# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Port forwarding on a node with no OVN, Open vSwitch or FRR.

A client, a node between two networks, and a backend; nothing else.  What
brings packets for the VIP to the node is a static route of the client.
"""

import os
import subprocess
import unittest

import testtools
from testtools import content

from lab import agent as agents
from lab import dump
from lab import echo
from lab import node as nodes
from lab import probe
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import forwarding as pf

_CLIENT, _UPLINK = '203.0.113.10', '203.0.113.1'
_INSIDE, _BACKEND = '10.10.0.11', '10.10.0.31'
_VRF = 'vrf-provider'
# None of them may be asked for.
_ABSENT = ('/usr/bin/vtysh', '/usr/bin/ovs-vsctl', '/usr/bin/ovs-ofctl',
           '/usr/bin/ovs-appctl')
_STATE = (('ip', '-o', '-4', 'addr'), ('ip', 'rule'), ('ip', '-6', 'rule'),
          ('ip', '-4', 'route', 'show', 'table', 'all'),
          ('nft', 'list', 'ruleset'))


@needs.needs(os.environ.get('LAB_MACHINE'),
             'makes hosts, and so needs the machine of the lab')
class ForwardOnly:
    """The node, in a VRF or without.

    :cvar VRF: name of the VRF that the client is in, or ''
    """

    VRF = _VRF

    def setUp(self):
        super().setUp()
        self.client, self.edge, self.backend = (
            self._node(name) for name in ('outside', 'edge', 'inside'))
        outside, edge, inside = (
            node.pid for node in (self.client, self.edge, self.backend))
        subprocess.run(['ip', '-batch', '-'], text=True, check=True, input=(
            f'link add eth0 netns {outside} type veth peer name eth1 '
            f'netns {edge}\n'
            f'link add eth0 netns {edge} type veth peer name eth0 '
            f'netns {inside}\n'))
        self.client.batch(
            f'link set eth0 up\naddr add {_CLIENT}/24 dev eth0\n'
            f'route add default via {_UPLINK}\n')
        self.backend.batch(
            f'link set eth0 up\naddr add {_BACKEND}/24 dev eth0\n'
            f'route add default via {_INSIDE}\n')
        self._wire_edge()
        for node in (self.edge, self.backend):
            echo.start(node)
        self.agent = agents.Agent(self.edge, {
            'ovn': {'ovn_nb_remote': '', 'ovn_sb_remote': ''},
            'frr': {'vrf_name': self.VRF},
            'veth_leak': {'veth_leak_enabled': str(bool(self.VRF))},
            'port_forward': {'rules_file': pf.RULES,
                             'port_forward_l3mdev_accept': 'true'}})
        self.addCleanup(self.agent.close)
        self.addOnException(lambda _info: self.addDetail(
            'agent', content.text_content(self.edge.log('agent'))))

    def _node(self, name):
        node = nodes.Node(name)
        self.addCleanup(node.close)
        return node

    def _wire_edge(self):
        lines = ['link set lo up', 'link add loopback1 type dummy',
                 'link set loopback1 up', 'link set eth0 up',
                 f'addr add {_INSIDE}/24 dev eth0']
        if self.VRF:
            lines += [f'link add {self.VRF} type vrf table 10',
                      f'link set {self.VRF} up',
                      f'link set eth1 master {self.VRF}',
                      f'link set loopback1 master {self.VRF}',
                      # UDP needs one to answer from the default VRF.
                      'route add default via 10.10.0.254']
        lines += ['link set eth1 up', f'addr add {_UPLINK}/24 dev eth1']
        if self.VRF:
            lines.append(f'route add default via {_CLIENT} table 10')
        self.edge.batch('\n'.join(lines) + '\n')
        self.edge.sysctl(net__ipv4__ip_forward=1)
        for path in _ABSENT:
            self.edge.run(['mount', '--bind', '/dev/null', path])

    def test_forwarded_with_nothing_else(self):
        """Local and remote backends, masquerade, and the clean-up."""
        before = self._state()
        pf.put(self.edge, [pf.vip(
            pf.PLAIN, pf.both(80, _INSIDE), pf.both(81, _BACKEND),
            pf.both(82, _BACKEND, dest_port=echo.PORT + 1,
                    masquerade=True))])
        echo.start(self.backend, port=echo.PORT + 1, name='other')
        self.agent.start()
        self.agent.wait_ready()
        for port, wanted in ((80, (_INSIDE, _CLIENT)),
                             (81, (_BACKEND, _CLIENT)),
                             (82, (_BACKEND, _INSIDE))):
            for kind in ('tcp', 'udp'):
                with self.subTest(port=port, kind=kind):
                    probe.wait_reachable(self.client, kind, pf.PLAIN,
                                         base.SETTLE, port=port)
                    report = probe.ping(self.client, pf.PLAIN, kind=kind,
                                        port=port)
                    self.assertEqual(
                        (0, {wanted[0]}, {wanted[1]}),
                        (report.lost, report.responders,
                         report.seen_sources), str(report))
        self.assertNotRegex(self.agent.log(),
                            r'(?m)^\S+ \S+ \d+ (ERROR|WARNING) ')
        self.assertEqual(0, self.agent.stop())
        self.assertEqual([], dump.difference(before, self._state()))

    def _state(self):
        return {' '.join(argv): sorted(self.edge.out(*argv).splitlines())
                for argv in _STATE}


class TestForwardOnly(ForwardOnly, testtools.TestCase):
    """The client is in the VRF, the backends are not."""


class TestForwardOnlyWithoutVrf(ForwardOnly, testtools.TestCase):
    """All in the default VRF."""

    VRF = ''

if __name__ == '__main__':
    unittest.main()
