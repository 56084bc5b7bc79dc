# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node.kernel import others
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.openflow import spec
from ovn_network_agent.tests.unit.diagnosis.node import base

FIRST, SECOND = map(ip_text.address, ('198.51.100.10', '198.51.100.11'))
ONE, ALL = '198.51.100.10/32', '198.51.100.0/24'
IP, ARP, IPV6 = 0x0800, 0x0806, 0x86dd


def flow(priority, *selection, **named):
    return switch.Drop(0x7, priority, spec.Selection(*selection, **named))


class DropsTest(base.JudgeTestCase):

    def judge(self, drop, verdict):
        return self.judged(others.judge_drops, (others.Drops(
            (FIRST, SECOND), 'br-ex', frozenset((3,)), (drop,)),), verdict)

    def test_nobody_else(self):
        self.judged(others.judge_drops, (others.Drops(
            (FIRST,), 'br-ex', frozenset((3,)), ()),), base.OK)

    def test_one_address(self):
        for drop, words in (
                (flow(1000, 3, IP, ONE), 'in_port=3,ip,nw_src=198.51.100.10'),
                (flow(1000, None, IP, ONE), 'ip,nw_src=198.51.100.10'),
                (flow(5, resources.LOCAL, IP, None, ONE),
                 'in_port=LOCAL,ip,nw_dst=198.51.100.10'),
                (flow(1000, None, ARP, None, ONE),
                 'arp,arp_tpa=198.51.100.10')):
            said = self.judge(drop, base.WARN)
            self.assertIn('drops packets of 198.51.100.10 ', said)
            self.assertIn(
                '"ovs-ofctl --strict del-flows br-ex cookie=0x7/-1,priority='
                f'{drop.priority},{words}"', said)

    def test_all_addresses(self):
        self.judge(flow(1000, 3, IP, ALL), base.BROKEN)
        self.judge(flow(1000, 3), base.BROKEN)
        self.judge(flow(1000), base.BROKEN)

    def test_what_selects_by_more_is_not_removed_by_a_command(self):
        self.assertNotIn('del-flows', self.judge(
            flow(1000, 3, IP, ALL, narrow=True), base.WARN))

    def test_what_drops_nothing_of_ours(self):
        for drop in (flow(500, 3, IP, ONE), flow(1000, 9, IP, ONE),
                     flow(1000, 3, IP, None, ONE), flow(1000, 3, IPV6),
                     flow(1000, 3, IP, '192.0.2.0/24'), flow(1000, 9),
                     flow(500), flow(1000, 3, ARP),
                     flow(1000, 3, IP, narrow=True)):
            self.judge(drop, base.OK)
