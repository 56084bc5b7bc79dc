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
"""The orderly stop leaves nothing of ours, and everything of others."""

import signal
import time
import unittest

from lab import dump
from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

_FLOWS = ('cookie=0x777,priority=910,ip,nw_dst=198.51.100.201,'
          'actions=NORMAL',
          'cookie=0x777,priority=900,ip,nw_dst=192.0.2.77,actions=drop')


def _frr(number):
    # What an operator has, and looks much like ours.  The address on br-ex is
    # needed: with the last one of a device, the kernel removes its routes.
    return f'''\
ip prefix-list ANNOUNCED-NETWORKS seq 7 permit 192.0.2.224/28 ge 32 le 32
ip prefix-list ANNOUNCED-NETWORKS seq 500 permit 192.0.2.0/24 le 28
vrf vrf-provider
 ip route 198.51.100.200/32 172.31.{number}.1
 ip route 10.99.0.0/24 169.254.0.1
exit-vrf
'''


def _kernel(number):
    return f'''\
link set br-ex up
addr add 192.0.2.23{number}/32 dev loopback1
addr add 192.0.2.65/32 dev br-ex
route add 198.51.100.201/32 dev br-ex proto static
route add 198.51.100.202/32 via 172.31.{number}.1 table 10 proto static
rule add from 192.0.2.128/25 lookup 200 priority 2000 protocol static
rule add from 192.0.2.128/25 lookup 201 priority 2000
rule add from 198.51.100.0/24 lookup 123 priority 2002
'''


class Stop:
    """The tests.

    The objects of an operator are there from the beginning; router manual
    has a default route that somebody wrote by hand.
    """

    AGENTS = False
    # Both agents stop: the second one would wait for the first to be back.
    CONFIG = {'gateway_drain': {'drain_on_shutdown': 'false'}}

    @classmethod
    def build(cls):
        cloud = cls.cloud
        cls.alpha = cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.beta = cloud.add_router('beta', ['gw2', 'gw1'])
        cls.manual = cloud.add_router('manual', ['gw1', 'gw2'])
        _vm, cls.fip = cls.machine(cls.alpha)
        _vm, cls.fip_beta = cls.machine(cls.beta)
        for name in cloud.gateways:
            cls._operate(cloud[name], name[-1])
        cloud.nb.transact(cls._operate_northbound)
        cls.before = cls._all()

    @classmethod
    def _operate(cls, node, number):
        node.run(['vtysh', '-f', '/dev/stdin'], input=_frr(number))
        node.batch(_kernel(number))
        for flow in _FLOWS:
            node.run(['ovs-ofctl', 'add-flow', plan.BRIDGE, flow])
        node.run(['nft', '-f', '-'], input='table inet operator {\n}\n')

    @classmethod
    def _operate_northbound(cls, txn, tables):
        for router, prefix, hop in (
                (cls.alpha, '10.55.0.0/16', '198.51.100.99'),
                (cls.manual, '0.0.0.0/0', '198.51.100.254')):
            route = txn.insert(tables['Logical_Router_Static_Route'])
            route.ip_prefix, route.nexthop = prefix, hop
            route.output_port = router.lrp
            binding = txn.insert(tables['Static_MAC_Binding'])
            binding.logical_port, binding.ip = router.lrp, hop
            binding.mac = '02:00:00:00:00:99'
            for row in tables['Logical_Router'].rows.values():
                if row.name == router.row_name:
                    row.addvalue('static_routes', route.uuid)

    @classmethod
    def _all(cls):
        found = {name: cls.state(name) for name in cls.cloud.gateways}
        found['nb'] = dump.northbound(cls.cloud)
        return found

    def assert_as_before(self, *but):
        """Nothing is left of ours, nothing is missing of theirs.

        :param but: tables of NB that are left out
        """
        after = self._all()
        for where, before in self.before.items():
            self.assertEqual([], [
                line for line in dump.difference(before, after[where])
                if line.partition(':')[0] not in but], where)
        self._reach_vips()

    def _reach_vips(self):
        """What the operator announces by a line of our shape (FIP-20)."""
        for name in self.cloud.gateways:
            # On each gateway; only the operator's line lets it out.
            vip = f'192.0.2.23{name[-1]}'
            self.cloud.wait_announced(vip, name, base.SETTLE)
            self.reach(self.client, 'icmp', vip, 2)

    def _start(self):
        """Both agents, at work."""
        self._reach_vips()
        # Also after a start that takes too long.
        self.addCleanup(self._end)
        self.cloud.start_agents(self.configuration())
        for router, fip, name in ((self.alpha, self.fip, 'gw1'),
                                  (self.beta, self.fip_beta, 'gw2')):
            self.cloud.wait_announced(fip.address, name, base.SETTLE)
            self.reach(self.client, 'icmp', fip.address, 2)
            nodes.wait_until(f'{router.name} has a default route',
                             lambda r=router: self.default_route(r),
                             base.SETTLE)
        self._reach_vips()

    def _end(self):
        """Whatever a failed test left running."""
        for name in self.cloud.gateways:
            if self.running(name):
                self.cloud.agents[name].stop()

    # -- the tests --------------------------------------------------------

    def test_stop_leaves_nothing(self):
        """SIGTERM on one node, SIGINT on the other; twice."""
        for numbers in ((signal.SIGTERM, signal.SIGINT),
                        (signal.SIGINT, signal.SIGTERM)):
            self._start()
            for name, before in self.before.items():
                # Nothing of theirs had to go for ours to come.
                now = (dump.northbound(self.cloud) if name == 'nb' else
                       self.state(name))
                changes = dump.difference(before, now)
                self.assertEqual([], [
                    line for line in changes if ': -' in line and
                    not line.startswith('Logical_Router: ')])
                if name != 'nb':
                    self._marked(changes)
            self.assertIsNone(self.default_route(self.manual))
            for name, number in zip(self.cloud.gateways, numbers):
                started = time.monotonic()
                self.assertEqual(
                    0, self.cloud.agents[name].stop(number),
                    self.cloud.agents[name].log()[-2000:])
                base.note(f'{self.METHOD}: {number.name} stopped {name} in '
                          f'{time.monotonic() - started:.1f} s')
            for fip in (self.fip, self.fip_beta):
                self.cloud.wait_withdrawn(fip.address, base.SETTLE)
            self.assert_as_before()

    def _marked(self, changes):
        """What the agent made on a node carries our marks."""
        rules = [line for line in changes if line.startswith('ip rule: +')]
        self.assertNotEqual([], rules)
        for line in rules:
            self.assertIn(f'proto {ownership.RULE_PROTOCOL:d}', line)
        flows = [line for line in changes
                 if line.startswith('ovs-ofctl dump-flows br-ex: +')]
        self.assertNotEqual([], flows)
        for line in flows:
            self.assertRegex(line, 'cookie=0x99[789],')


class TestStopStatic(Stop, base.LabTestCase):
    """With static routes of FRR."""

    METHOD = 'static'

    def test_stop_after_a_drain(self):
        """The order of the gateways is all that a drained stop leaves."""
        for router in (self.alpha, self.beta, self.manual):
            self.addCleanup(self._order_again, router,
                            self.cloud.neutron.priorities(router))
        self._start()
        agent, mark = self.cloud.agents['gw1'], self.mark('gw1')
        agent.config['gateway_drain']['drain_on_shutdown'] = 'true'
        agent.write_config()
        agent.process.send_signal(signal.SIGHUP)
        self.wait_said('gw1', 'onfiguration', mark)
        self.assertEqual(0, agent.stop())
        self.assertIn('Drain: completed', self.said('gw1', mark))
        self.cloud.wait_announced(self.fip.address, 'gw2', base.SETTLE)
        self.reach(self.client, 'icmp', self.fip.address)
        self.assertEqual(0, self.cloud.agents['gw2'].stop())
        for fip in (self.fip, self.fip_beta):
            self.cloud.wait_withdrawn(fip.address, base.SETTLE)
        self.assert_as_before('Gateway_Chassis')

    def _order_again(self, router, order):
        self.cloud.neutron.set_priorities(router, order)
        self.cloud.wait_owner(router, max(order, key=order.get))


class TestStopKernel(Stop, base.LabTestCase):
    """With kernel routes that FRR redistributes."""

    METHOD = 'kernel'

    def test_second_signal_ends_the_stop(self):
        """A stop that hangs ends at once with the second signal.

        NB does not answer, so that nobody knows whether the rows there are
        gone.  The agent says so with its exit status; a later run removes
        what is left.
        """
        self._start()
        agent = self.cloud.agents['gw1']
        mark = self.mark('gw1')
        self.cloud['central'].pause('nb')
        try:
            agent.process.send_signal(signal.SIGTERM)
            self.wait_said('gw1', 'deleted veth_pair', mark)
            self.assertIsNone(agent.process.poll())
            started = time.monotonic()
            status = agent.stop()
            took = time.monotonic() - started
        finally:
            self.cloud['central'].resume('nb')
        base.note(f'{self.METHOD}: the second SIGTERM ended it in '
                  f'{took:.1f} s')
        self.assertEqual(3, status)
        self.assertLess(took, 5)
        self.assertIn('Clean-up is not complete', self.said('gw1', mark))
        # Whether the row is still there is open: NB may carry out what was
        # sent to it before.
        agent.start()
        agent.wait_ready()
        self.reach(self.client, 'icmp', self.fip.address)
        for name in self.cloud.gateways:
            self.assertEqual(0, self.cloud.agents[name].stop())
        for fip in (self.fip, self.fip_beta):
            self.cloud.wait_withdrawn(fip.address, base.SETTLE)
        self.assert_as_before()


if __name__ == '__main__':
    unittest.main()
