# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node.kernel import others
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.openflow import spec
from ovn_network_agent.tests.unit.diagnosis.node import base

FIRST, SECOND = map(ip_text.address, ('198.51.100.10', '198.51.100.11'))
ONE, NETWORK = '198.51.100.10/32', '198.51.100.0/24'
IP, ARP, IPV6 = 0x0800, 0x0806, 0x86dd
ELSEWHERE = ('0.0.0.0/0',)


def foreign(priority, table=77, exact=True, routes=ELSEWHERE, **selectors):
    return others.Foreign(rules.Rule(priority, table, **{
        'src': None, 'dst': None, 'iif': None, 'fwmark': None,
        'protocol': 3, **selectors}), exact, routes)


class OrderTest(base.JudgeTestCase):

    def judge(self, *listed, verdict=base.WARN, entry=ownership.VETH_DEFAULT):
        return self.judged(others.judge_order, others.Order(
            (FIRST, SECOND), 1999, 2000, entry,
            frozenset(('br-ex', 'br-ex.7')), listed), verdict)

    def test_rules_that_take_packets_of_ours(self):
        for rule, who in (
                (foreign(500, src=ONE), '198.51.100.10 '),
                (foreign(500, src=NETWORK), '198.51.100.11'),
                (foreign(500, src=NETWORK, dst='10.0.0.0/8'), '.11'),
                (foreign(500, dst=ONE), '198.51.100.10 '),
                (foreign(500, iif='br-ex.7', src=NETWORK), '.11'),
                (foreign(500, iif=ownership.VETH_DEFAULT, dst=NETWORK), '.1'),
                (foreign(500, table=0, src=ONE), '.10'),
                (foreign(500, table=0, exact=False, dst=NETWORK), '.10'),
                (foreign(500), '.11')):
            said = self.judge(rule)
            self.assertIn(who, said)
            self.assertIn('priority 500', said)

    def test_the_command_removes_just_this_rule(self):
        for rule, words in (
                (foreign(500, src=NETWORK, iif='br-ex'),
                 'from 198.51.100.0/24 iif br-ex lookup 77'),
                (foreign(500, 0, dst=ONE), 'to 198.51.100.10/32 blackhole')):
            self.assertIn(f'"ip rule del priority 500 {words}"',
                          self.judge(rule))
        self.assertIn('lookup 254 suppress_prefixlength 0', others.text(
            foreign(500, 254, suppress=0).rule))
        # Nobody knows what else such a rule selects by.
        self.assertNotIn('ip rule del', self.judge(
            foreign(500, exact=False, src=NETWORK)))

    def test_all_packets_are_dropped(self):
        self.judge(foreign(500, table=0, src=NETWORK), verdict=base.BROKEN)

    def test_rules_that_take_nothing_of_ours(self):
        for rule in (foreign(2500, src=NETWORK),
                     foreign(500, src='192.0.2.0/24'),
                     foreign(500, dst='192.0.2.0/24'),
                     foreign(500, exact=False),
                     foreign(500, iif='eth0', src=NETWORK),
                     foreign(500, iif='eth0', dst=NETWORK),
                     # The kernel goes on with the next rule.
                     foreign(500, routes=()),
                     foreign(500, routes=(), src=NETWORK),
                     foreign(500, routes=('10.0.0.0/8',), dst=NETWORK)):
            self.judge(rule, verdict=base.OK)
        self.judge(verdict=base.OK)

    def test_a_table_with_some_networks_alone(self):
        """As the daemon of a VPN has it: the other packets go on."""
        vpn = ('10.0.0.0/8',)
        for rule, some in ((foreign(500, routes=vpn), True),
                           (foreign(500, src=NETWORK, routes=vpn), True),
                           (foreign(500, routes=vpn + ELSEWHERE), False)):
            self.assertEqual(some, ' to 10.0.0.0/8' in self.judge(rule))

    def test_without_a_pair_packets_come_from_any_device(self):
        self.judge(foreign(500, iif='eth0', dst=NETWORK), entry='')
        self.judge(foreign(500, iif='br-ex', dst=NETWORK), entry='',
                   verdict=base.OK)


def flow(priority, *selection, **named):
    return switch.Drop(0x7, priority, spec.Selection(*selection, **named))


class DropsTest(base.JudgeTestCase):

    def judge(self, verdict, *drops):
        return self.judged(others.judge_drops, (others.Drops(
            (FIRST, SECOND), 'br-ex', frozenset((3,)), drops),), verdict)

    def test_one_address(self):
        for drop, words in (
                (flow(1000, 3, IP, ONE), 'in_port=3,ip,nw_src=198.51.100.10'),
                (flow(1000, None, IP, ONE), 'ip,nw_src=198.51.100.10'),
                (flow(5, resources.LOCAL, IP, None, ONE),
                 'in_port=LOCAL,ip,nw_dst=198.51.100.10'),
                (flow(1000, None, ARP, None, ONE),
                 'arp,arp_tpa=198.51.100.10')):
            said = self.judge(base.WARN, drop)
            self.assertIn('drops packets of 198.51.100.10 ', said)
            self.assertIn(
                '"ovs-ofctl --strict del-flows br-ex cookie=0x7/-1,priority='
                f'{drop.priority},{words}"', said)

    def test_all_addresses(self):
        for drop in (flow(1000, 3, IP, NETWORK), flow(1000, 3), flow(1000)):
            self.judge(base.BROKEN, drop)
        # No command removes what selects by more.
        self.assertNotIn('del-flows', self.judge(
            base.WARN, flow(1000, 3, IP, NETWORK, narrow=True)))

    def test_what_drops_nothing_of_ours(self):
        for drop in (flow(500, 3, IP, ONE), flow(1000, 9, IP, ONE),
                     flow(1000, 3, IP, None, ONE), flow(1000, 3, IPV6),
                     flow(1000, 3, IP, '192.0.2.0/24'), flow(1000, 9),
                     flow(500), flow(1000, 3, ARP),
                     flow(1000, 3, IP, narrow=True)):
            self.judge(base.OK, drop)
        self.judge(base.OK)
