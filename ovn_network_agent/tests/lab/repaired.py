# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the agent repairs at once; the cloud of test_service.py."""

import re
import time

from lab import dump
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

# Seconds: far below reconcile_interval, so that only the watch can be it.
WATCHED = 5
_VRF = str(plan.VRF_TABLE)


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
