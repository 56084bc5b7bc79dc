# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The orderly stop leaves nothing of ours, and everything of others."""

import signal
import time
import unittest

from lab import dump
from lab import families
from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import matrix

# Networks of an operator, and the words before a rule in a dump, by family.
_RULES = {4: 'ip rule: +', 6: 'ip -6 rule: +'}
_ELSEWHERE = {4: '10.99.0.0/24', 6: 'fd99::/64'}


def _flows(family):
    protocol, field = family.match, family.field
    return (f'cookie=0x777,priority=910,{protocol},'
            f'{field}={family.provider[201]},actions=NORMAL',
            f'cookie=0x777,priority=900,{protocol},'
            f'{field}={family.test_net[77]},actions=drop')


def _frr(family, spine):
    # What an operator has, and looks much like ours.
    net = family.test_net
    return f'''\
{family.frr} prefix-list ANNOUNCED-NETWORKS seq 7 permit {net} ge {family.bits}
{family.frr} prefix-list ANNOUNCED-NETWORKS seq 500 permit {net}
vrf vrf-provider
 {family.frr} route {family.prefix(family.provider[200])} {spine}
 {family.frr} route {_ELSEWHERE[family.version]} {family.next_hop}
exit-vrf
'''


def _kernel(family, vip, spine):
    # The address on br-ex is needed: with the last one of a device, the kernel
    # removes its routes.
    net, prefix = family.test_net, family.prefix
    low, high = net.subnets()
    return f'''\
link set br-ex up
addr add {prefix(vip)} dev loopback1 {family.unchecked}
addr add {prefix(low[65])} dev br-ex {family.unchecked}
route add {prefix(family.provider[201])} dev br-ex proto static
route add {prefix(family.provider[202])} via {spine} table 10 proto static
rule add from {high} lookup 200 priority 2000 protocol static
rule add from {high} lookup 201 priority 2000
rule add from {family.provider} lookup 123 priority 2002
'''


class Stop:
    """The tests.

    The objects of an operator are there from the beginning; router manual
    has a default route that somebody wrote by hand.

    :cvar SIGNALS: what stops the agents on gw1 and on gw2
    """

    SIGNALS = (signal.SIGTERM, signal.SIGINT)
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
            cls._operate(cloud[name])
        cloud.nb.transact(cls._operate_northbound)
        cls.before = cls._all()

    @classmethod
    def _operate(cls, node):
        family = families.FAMILIES[cls.FAMILY]
        spine = {4: plan.UPLINKS[node.name],
                 6: plan.uplink6(node.name)}[cls.FAMILY][0]
        node.run(['vtysh', '-f', '/dev/stdin'], input=_frr(family, spine))
        node.batch(_kernel(family, cls._vip(node.name), spine), family.option)
        for flow in _flows(family):
            node.run(['ovs-ofctl', 'add-flow', plan.BRIDGE, flow])
        node.run(['nft', '-f', '-'], input='table inet operator {\n}\n')

    @classmethod
    def _vip(cls, name):
        """Address that the operator has on a gateway."""
        _low, high = families.FAMILIES[cls.FAMILY].test_net.subnets()
        return high[int(name[-1])]

    @classmethod
    def _operate_northbound(cls, txn, tables):
        family = families.FAMILIES[cls.FAMILY]
        for router, prefix, hop in (
                (cls.alpha, _ELSEWHERE[cls.FAMILY], str(family.provider[99])),
                (cls.manual, family.default, str(family.provider[254]))):
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
            vip = str(self._vip(name))
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
        """SIGTERM on one node, with a drain, and SIGINT on the other.

        The order of the gateways is all that a drained stop leaves.
        The other test of the class starts on the same nodes again.
        """
        for router in (self.alpha, self.beta, self.manual):
            self.addCleanup(self._order_again, router,
                            self.cloud.neutron.priorities(router))
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
        self.reconfigure('gw1', 'gateway_drain', drain_on_shutdown='true')
        for name, number in zip(self.cloud.gateways, self.SIGNALS):
            started = time.monotonic()
            self.assertEqual(
                0, self.cloud.agents[name].stop(number),
                self.cloud.agents[name].log()[-2000:])
            base.note(f'{self.kind}: {number.name} stopped {name} in '
                      f'{time.monotonic() - started:.1f} s')
            if name == 'gw1':
                self.assertIn('Drain: completed', self.said(name))
                self.cloud.wait_announced(self.fip.address, 'gw2',
                                          base.SETTLE)
                self.reach(self.client, 'icmp', self.fip.address)
        for fip in (self.fip, self.fip_beta):
            self.cloud.wait_withdrawn(fip.address, base.SETTLE)
        self.assert_as_before('Gateway_Chassis')

    def _order_again(self, router, order):
        self.cloud.neutron.set_priorities(router, order)
        self.cloud.wait_owner(router, max(order, key=order.get))

    def _marked(self, changes):
        """What the agent made on a node carries our marks."""
        rules = [line for line in changes
                 if line.startswith(_RULES[self.FAMILY])]
        self.assertNotEqual([], rules)
        for line in rules:
            self.assertIn(f'proto {ownership.RULE_PROTOCOL:d}', line)
        flows = [line for line in changes
                 if line.startswith('ovs-ofctl dump-flows br-ex: +')]
        self.assertNotEqual([], flows)
        for line in flows:
            self.assertRegex(line, 'cookie=0x99[789],')


class TestStopStatic(Stop, base.LabTestCase):
    """With static routes of FRR, and a VLAN of IPv6."""

    METHOD = 'static'
    SEGMENT = 'vlan'
    FAMILY = 6

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


globals().update(matrix.others(TestStopStatic))


if __name__ == '__main__':
    unittest.main()
