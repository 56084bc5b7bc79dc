# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The running agent: signals, OVN that goes away, somebody who deletes."""

import os
import re
import signal
import sys
import unittest

from lab import dump
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import matrix
from ovn_network_agent.tests.lab import outaged
from ovn_network_agent.tests.lab import tls
from ovn_network_agent.tests.lab import without_ovn

_VRF = str(plan.VRF_TABLE)


class Service(base.LabTestCase):
    """What the tests of this module share: router alpha on gw1."""

    GATEWAYS = 1
    CONFIG = {'DEFAULT': {'reconcile_interval': 3600}}

    @classmethod
    def build(cls):
        cls.alpha = cls.cloud.add_router('alpha')
        cls.vm, cls.fip = cls.machine(cls.alpha)

    @property
    def prefix(self):
        """Prefix of the floating IP, text."""
        return self.family.prefix(self.fip.address)

    @property
    def agent(self):
        """The agent of gw1."""
        return self.cloud.agents['gw1']

    def setUp(self):
        super().setUp()
        for address in (self.fip.address, self.alpha.address):
            self.cloud.wait_announced(address, 'gw1', base.SETTLE)
        nodes.wait_until('the rows are in NB', lambda: (
            self.default_route(self.alpha) and
            self.mac_binding(self.alpha)), base.SETTLE)

    def reload(self, **options):
        """SIGHUP with other values in [DEFAULT]; returns a log mark."""
        default = self.agent.config['DEFAULT']
        old = dict(default)
        default.update(options)
        mark = self._hup()
        self.addCleanup(self._hup)
        self.addCleanup(default.update, old)
        self.addCleanup(default.clear)
        return mark

    def _hup(self):
        mark = self.mark('gw1')
        self.agent.write_config()
        self.agent.process.send_signal(signal.SIGHUP)
        nodes.wait_until(
            'the agent has taken it in', lambda: re.search(
                r'Pass for .*configuration', self.said('gw1', mark)),
            base.SETTLE)
        return mark

    def another(self):
        """A new floating IP gets announced and answers."""
        fip = self.floating_ip(self.alpha, self.vm.port)
        self.cloud.wait_announced(fip.address, 'gw1', 60)
        self.reach(self.client, 'icmp', fip.address, 2)


class Signals:
    """SIGHUP and SIGUSR2."""

    def test_the_control_socket_of_the_defaults(self):
        """It is made by an agent that has given up its capabilities."""
        node = self.cloud.nodes['gw1']
        said = node.out(os.path.join(os.path.dirname(sys.executable),
                                     'ovn-network-agent-ctl'),
                        'status', '--verbose')
        self.assertIn(f'Gateway_Chassis {self.alpha.lrp}', said)
        self.assertIn('/24: here', said)
        self.assertIn('drains: none', said)
        self.assertIn(' READY ', node.out(
            'ovs-appctl', '-t', '/run/ovn-network-agent/control.ctl',
            'status'))


class Repair:
    """By comparison of everything, and at once."""

    def test_pair(self):
        """The veth pair, with everything that hangs on it, at once."""
        def state():
            # The new devices have new addresses.
            return {name: [re.sub('lladdr [0-9a-f:]+', '', line)
                           for line in lines]
                    for name, lines in self.state('gw1').items()}

        before, mark = state(), self.mark('gw1')
        self.cloud['gw1'].batch('link del veth-default\n')
        self.wait_said('gw1', 'created veth_pair', mark)
        nodes.wait_until(
            lambda: f'all of it is back: {dump.difference(before, state())}',
            lambda: not dump.difference(before, state()), base.SETTLE)
        self.assertEqual(0, self.said('gw1', mark).count('(full)'))
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        for kind in probe.KINDS:
            self.reach(self.client, kind, self.fip.address)

    def test_repaired_at_the_interval(self):
        """Flows, FRR: what nobody reports is found by comparison."""
        self.reload(reconcile_interval=2)
        node = self.cloud['gw1']
        flows = set(self.flows('gw1'))
        with self.subTest('flows'):
            node.run(['ovs-ofctl', 'del-flows', plan.BRIDGE,
                      'cookie=0x998/-1'])
            nodes.wait_until('the hairpin flows are back', lambda: set(
                self.flows('gw1')) == flows, base.SETTLE)
            node.run(['ovs-ofctl', 'del-flows', plan.BRIDGE,
                      'cookie=0x999/-1'])
            nodes.wait_until('the MAC flows are back', lambda: set(
                self.flows('gw1')) == flows, base.SETTLE)
        with self.subTest('prefix list'):
            mark = self.mark('gw1')
            node.run(['vtysh', '-c', 'conf t', '-c',
                      f'no {self.family.frr} prefix-list ANNOUNCED-NETWORKS'])
            self.wait_said('gw1', 'created prefix_list_entry', mark)
            bits = self.family.bits
            self.assertIn(
                f'permit {self.family.provider} ge {bits:d} le {bits:d}',
                node.out('vtysh', '-c', 'show running-config'))
            self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        with self.subTest('announcement'):
            if self.METHOD == 'static':
                node.run(['vtysh', '-c', 'conf t', '-c',
                          f'vrf {plan.VRF}', '-c',
                          f'no {self.family.static(self.fip.address)}'])
            else:
                node.batch(f'route del {self.prefix} table {_VRF}\n')
            nodes.wait_until(
                'it is back', lambda: 'announced' in self.traces(
                    'gw1', self.fip.address)[self.fip.address],
                base.SETTLE)
            self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        self.reach(self.client, 'icmp', self.fip.address)


class TestServiceStatic(Signals, Repair, tls.OverTls, without_ovn.Outage,
                        outaged.Outages, Service):
    """With static routes of FRR, and a VLAN of IPv4."""

    METHOD = 'static'
    SEGMENT = 'vlan'


globals().update(matrix.others(TestServiceStatic))


if __name__ == '__main__':
    unittest.main()
