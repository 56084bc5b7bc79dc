# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node.kernel import others
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.tests.unit.diagnosis.node import base

FIRST, SECOND = map(ip_text.address, ('198.51.100.10', '198.51.100.11'))
NETWORK = '198.51.100.0/24'
ELSEWHERE = ('0.0.0.0/0',)


def foreign(priority, table=77, exact=True, routes=ELSEWHERE, **selectors):
    return others.Foreign(rules.Rule(priority, table, **{
        'src': None, 'dst': None, 'iif': None, 'fwmark': None,
        'protocol': 3, **selectors}), exact, routes)


def found(*listed, entry=ownership.VETH_DEFAULT):
    return others.Order((FIRST, SECOND), 1999, 2000, entry,
                        frozenset(('br-ex', 'br-ex.7')), listed)


class OrderTest(base.JudgeTestCase):

    def judge(self, *listed, verdict=base.WARN, **values):
        return self.judged(others.judge_order, found(*listed, **values),
                           verdict)

    def test_nobody_else(self):
        self.judge(verdict=base.OK)

    def test_rules_that_take_packets_of_ours(self):
        for rule, who in (
                (foreign(500, src='198.51.100.10/32'), '198.51.100.10 '),
                (foreign(500, src=NETWORK), '198.51.100.11'),
                (foreign(500, src=NETWORK, dst='10.0.0.0/8'), '.11'),
                (foreign(500, dst='198.51.100.10/32'), '198.51.100.10 '),
                (foreign(500, iif='br-ex.7', src=NETWORK), '.11'),
                (foreign(500, iif=ownership.VETH_DEFAULT, dst=NETWORK), '.1'),
                (foreign(500, table=0, src='198.51.100.10/32'), '.10'),
                (foreign(500, table=0, exact=False, dst=NETWORK), '.10'),
                (foreign(500), '.11')):
            said = self.judge(rule)
            self.assertIn(who, said)
            self.assertIn('priority 500', said)

    def test_the_command_removes_just_this_rule(self):
        self.assertIn(
            '"ip rule del priority 500 from 198.51.100.0/24 iif br-ex lookup '
            '77"', self.judge(foreign(500, src=NETWORK, iif='br-ex')))
        self.assertIn(
            '"ip rule del priority 500 to 198.51.100.10/32 blackhole"',
            self.judge(foreign(500, 0, dst='198.51.100.10/32')))
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

    def test_a_table_with_some_networks_alone(self):
        """As the daemon of a VPN has it: the other packets go on."""
        said = self.judge(foreign(500, routes=('10.0.0.0/8',)))
        self.assertIn(' to 10.0.0.0/8', said)
        said = self.judge(foreign(500, src=NETWORK, routes=('10.0.0.0/8',)))
        self.assertIn(' to 10.0.0.0/8', said)
        said = self.judge(foreign(500, routes=('10.0.0.0/8', '0.0.0.0/0')))
        self.assertNotIn(' to 10.0.0.0/8', said)

    def test_without_a_pair_packets_come_from_any_device(self):
        self.judge(foreign(500, iif='eth0', dst=NETWORK), entry='')
        self.judge(foreign(500, iif='br-ex', dst=NETWORK), entry='',
                   verdict=base.OK)
