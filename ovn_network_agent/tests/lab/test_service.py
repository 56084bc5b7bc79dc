# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""The running agent: signals, OVN that goes away, somebody who deletes."""

import os
import re
import signal
import sys
import time
import unittest

from lab import central
from lab import dump
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import matrix
from ovn_network_agent.tests.lab import outaged
from ovn_network_agent.tests.lab import tls

# Seconds: far below reconcile_interval, so that only the watch can be it.
WATCHED = 5
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

    def test_hup_changes_what_is_mutable(self):
        """The interval counts at once, and nothing else happens."""
        before = self.state('gw1')
        northbound = dump.northbound(self.cloud)
        with self.probing(self.fip.address) as running:
            mark = self.reload(reconcile_interval=2)
            nodes.wait_until('three full passes', lambda: self.said(
                'gw1', mark).count('(full)') >= 3, base.SETTLE)
            self.assertEqual([], self.changes('gw1', mark))
            self.lossless(running)
        self.assertEqual([], dump.difference(before, self.state('gw1')))
        self.assertEqual([], dump.difference(
            northbound, dump.northbound(self.cloud)))

    def test_hup_leaves_what_is_not_mutable(self):
        """Another address of the bridge waits for a restart."""
        before = self.state('gw1')
        mark = self.reload(bridge_ip='169.254.169.253')
        self.assertEqual([], self.changes('gw1', mark))
        self.assertIn('bridge_ip', self.said('gw1', mark))
        self.assertEqual([], dump.difference(before, self.state('gw1')))

    def test_hup_with_a_mistake(self):
        """A configuration that cannot be used changes nothing."""
        mark = self.reload(reconcile_interval='soon')
        self.assertIn('ERROR', self.said('gw1', mark))
        self.assertEqual([], self.changes('gw1', mark))
        self.another()

    def test_the_control_socket_of_the_defaults(self):
        """It is made by an agent that has given up its capabilities."""
        node = self.cloud.nodes['gw1']
        said = node.out(os.path.join(os.path.dirname(sys.executable),
                                     'ovn-network-agent-ctl'), 'status')
        self.assertIn(f'({self.alpha.lrp}): here', said)
        self.assertIn('drains: none', said)
        self.assertIn(f'({self.alpha.lrp}): here', node.out(
            'ovs-appctl', '-t', '/run/ovn-network-agent/control.ctl',
            'status'))

    def test_guru_meditation(self):
        """SIGUSR2 prints a report, and the agent goes on."""
        mark = self.mark('gw1')
        self.agent.process.send_signal(signal.SIGUSR2)
        self.wait_said('gw1', 'Guru Meditation', mark)
        self.wait_said('gw1', f'announce_method = {self.METHOD}', mark)
        self.assertIn('Threads', self.said('gw1', mark))
        self.another()


class Interval:
    """Repair by comparison of everything."""

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


class Repair:
    """What the kernel or OVN reports is repaired at once.

    The agents compare everything only once in an hour here.
    """

    def _broken(self, name, batch, there):
        """Delete something in the kernel; it has to come back."""
        self.assertTrue(there(), name)
        flows = self.flows('gw1')
        started = time.monotonic()
        mark = self.mark('gw1')
        self.cloud['gw1'].batch(batch, self.family.option)
        self.wait_said('gw1', 'created', mark, WATCHED)
        nodes.wait_until(f'{name} is back', there,
                         WATCHED - (time.monotonic() - started), 0.01)
        base.note(f'{name}: back after at most '
                  f'{time.monotonic() - started:.2f} s')
        self.reach(self.client, 'icmp', self.fip.address, 2)
        self.assertEqual(0, self.said('gw1', mark).count('(full)'))
        for text, (_packets, age) in flows.items():
            self.assertGreater(self.flows('gw1')[text][1], age)

    def test_route(self):
        """A host route to the bridge."""
        self._broken('the route',
                     f'route del {self.prefix} dev {self.device}\n',
                     lambda: self.fip.address in self.kernel_routes('gw1'))

    def test_announced_route(self):
        """The route that FRR redistributes."""
        self._broken(
            'the announced route',
            f'route del {self.prefix} table {_VRF}\n',
            lambda: self.fip.address in self.kernel_routes('gw1', _VRF))
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)

    def test_leak_route(self):
        """The default route of the leak table."""
        self._broken('the leak route', 'route del default table 200\n',
                     lambda: 'default' in self.kernel_routes('gw1', '200'))

    def test_rules(self):
        """Rules of the veth leak, one after the other."""
        def rules():
            return [line for line in self.cloud['gw1'].out(
                'ip', self.family.option, 'rule').splitlines()
                if f'proto {ownership.RULE_PROTOCOL:d}' in line]

        wanted = rules()
        self.assertGreaterEqual(len(wanted), 3)
        for line in wanted:
            self._broken(f'rule {line.partition(":")[0]}',
                         f'rule del priority {line.partition(":")[0]}\n',
                         # Of equal priority the one made again is last.
                         lambda: sorted(rules()) == sorted(wanted))

    def test_bridge_address(self):
        """The address of the bridge; the kernel takes its routes along."""
        self._broken(
            'the address',
            f'addr del {self._address()} dev {self.device}\n',
            lambda: (self._address() and
                     self.fip.address in self.kernel_routes('gw1')))

    def _address(self):
        """The agent's address on the device, with its length, or ''."""
        for line in self.cloud['gw1'].out(
                'ip', '-o', self.family.option, 'addr', 'show', 'dev',
                self.device).splitlines():
            if f' {self.family.address}/' in line:
                return line.split()[3]
        return ''

    def test_neighbour(self):
        """The permanent neighbours between the ends of the pair."""
        end = self.family.ends[1]
        self._broken(
            'the neighbour', f'neigh del {end} dev veth-default\n',
            lambda: end in self.cloud['gw1'].out(
                'ip', 'neigh', 'show', 'dev', 'veth-default', 'nud',
                'permanent'))

    def test_pair(self):
        """The veth pair, with everything that hangs on it."""
        def state():
            # The new devices have new addresses.
            return {name: [re.sub('lladdr [0-9a-f:]+', '', line)
                           for line in lines]
                    for name, lines in self.state('gw1').items()}

        before = state()
        self._broken('the pair', 'link del veth-default\n',
                     lambda: 'default' in self.kernel_routes('gw1', '200'))
        nodes.wait_until(
            lambda: f'all of it is back: {dump.difference(before, state())}',
            lambda: not dump.difference(before, state()), WATCHED)
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        for kind in probe.KINDS:
            self.reach(self.client, kind, self.fip.address)

    def test_pair_down(self):
        """One end taken down."""
        self._broken(
            'the pair', 'link set veth-provider down\n',
            lambda: ('default' in self.kernel_routes('gw1', '200') and
                     self.fip.address in self.kernel_routes('gw1', _VRF)))

    def test_northbound(self):
        """The rows in NB, as Neutron's database sync may delete them."""
        def delete(_txn, tables):
            for row in list(tables['Logical_Router'].rows.values()):
                for route in list(row.static_routes):
                    row.delvalue('static_routes', route)
            for row in list(tables['Static_MAC_Binding'].rows.values()):
                row.delete()

        before = (self.default_route(self.alpha),
                  self.mac_binding(self.alpha))
        self.cloud.nb.transact(delete)
        nodes.wait_until(
            'the rows are back', lambda: before == (
                self.default_route(self.alpha),
                self.mac_binding(self.alpha)), WATCHED)
        self.reach(self.vm.node, 'icmp', self.family.client)


class Outage:
    """OVN's databases go away and come back."""

    def _databases_back(self):
        for name in ('nb', 'sb'):
            if name not in self.cloud['central'].services:
                self.cloud['central'].start_again(name)
        for name in ('nb', 'sb'):
            nodes.wait_until(f'{name} is served', lambda n=name: (
                os.path.exists(central.remote(
                    self.cloud['central'], n).removeprefix('unix:'))))

    def _stop_databases(self):
        self.addCleanup(self._databases_back)
        for name in ('nb', 'sb'):
            self.cloud['central'].stop(name)

    def test_databases_down(self):
        """Nothing is withdrawn, nothing lost; afterwards it goes on."""
        before = self.state('gw1')
        with self.probing(self.fip.address) as running:
            mark = self.mark('gw1')
            # Passes that have no database must not do anything either.
            self.reload(reconcile_interval=1)
            self._stop_databases()
            for name in ('OVN_Northbound', 'OVN_Southbound'):
                self.wait_said('gw1', f'{name} is not connected', mark)
            mark = self.mark('gw1')
            nodes.wait_until('three passes without OVN', lambda: self.said(
                'gw1', mark).count('Computed') >= 3, base.SETTLE)
            self.assertEqual([], self.changes('gw1', mark))
            self.assertEqual([], dump.difference(before,
                                                 self.state('gw1')))
            self.cloud.wait_announced(self.fip.address, 'gw1', 1)
            self._databases_back()
            self.wait_said('gw1', 'No longer degraded', mark, 60)
            # On a busy machine a comparison takes longer than a second.
            self.reload(reconcile_interval=3600)
            self.another()
            base.note(f'{self.kind}: databases down and up: '
                      f'{self.lossless(running)}')

    def test_databases_hang(self):
        """The same with databases that are there and do not answer."""
        with self.probing(self.fip.address) as running:
            mark = self.mark('gw1')
            for name in ('nb', 'sb'):
                self.cloud['central'].pause(name)
                self.addCleanup(self.cloud['central'].resume, name)
            # The kernel is still looked after.
            self.cloud['gw1'].batch(
                f'neigh del {self.family.ends[1]} dev veth-default\n')
            self.wait_said('gw1', 'created neighbour', mark, WATCHED)
            for name in ('nb', 'sb'):
                self.cloud['central'].resume(name)
            self.another()
            self.lossless(running)

    def test_started_before_ovn(self):
        """It prepares the node, waits, and gets there; READY is last."""
        self.assertEqual(0, self.agent.stop())
        self.cloud.wait_withdrawn(self.fip.address, base.SETTLE)
        self._stop_databases()
        mark = self.mark('gw1')
        self.agent.start()
        self.addCleanup(lambda: self.running('gw1') or
                        self.cloud.start_agents(names=['gw1']))
        self.wait_said('gw1', 'trying for ever', mark)
        self.wait_said('gw1', 'created veth_pair', mark)
        self.assertNotIn('First complete pass', self.said('gw1', mark))
        self.assertIsNone(self.cloud.route(self.fip.address))
        self._databases_back()
        self.agent.wait_ready()
        self.assertIn('First complete pass', self.said('gw1', mark))
        self.assert_served('gw1', self.fip.address)
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        self.reach(self.client, 'icmp', self.fip.address)


class TestServiceStatic(Signals, Interval, Outage, outaged.Outages, Service):
    """With static routes of FRR, and a VLAN of IPv4."""

    METHOD = 'static'
    SEGMENT = 'vlan'


class TestServiceKernel(Interval, Repair, Service):
    """With kernel routes that FRR redistributes, and a flat one of IPv6."""

    METHOD = 'kernel'
    FAMILY = 6


class TestOutageKernel(tls.OverTls, Outage, Service):
    """With kernel routes that FRR redistributes; and databases by TLS."""

    METHOD = 'kernel'


globals().update(matrix.others(TestServiceStatic, TestServiceKernel))


if __name__ == '__main__':
    unittest.main()
