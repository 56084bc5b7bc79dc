# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node.bgp import sessions
from ovn_network_agent.frr import filters
from ovn_network_agent.frr import output
from ovn_network_agent.tests.unit.diagnosis.node import base

FIRST, SECOND = map(ip_text.address, ('198.51.100.10', '198.51.100.11'))
OWN = 'LIST'
PEERS = (('172.31.1.1', (('prefix-list', OWN),)),
         ('172.31.1.2', (('prefix-list', OWN),)))


class OutboundTest(base.JudgeTestCase):

    def found(self, *denied, neighbours=PEERS, **lists):
        own = tuple(output.Entry(number, 'deny', prefix, 0, 32)
                    for number, prefix in enumerate(denied, 5))
        return sessions.Outbound((FIRST, SECOND), OWN, neighbours,
                                 filters.Filters(OWN, {OWN: own, **lists}, {}))

    def judge(self, found, *verdicts):
        return self.judged(sessions.judge_outbound, found, *verdicts)

    def test_all_pass(self):
        self.assertIn('2 addresses pass to 2 neighbours', self.judge(
            self.found('10.0.0.0/8'), base.OK))

    def test_a_line_of_another_program_in_our_list(self):
        """Once for all neighbours, with the line that removes the line."""
        said = self.judge(self.found('198.51.100.10/32'), base.WARN)
        self.assertIn('198.51.100.10 is kept back from all neighbours', said)
        self.assertIn('"no ip prefix-list LIST seq 5 deny 198.51.100.10/32 '
                      'le 32"', said)

    def test_nothing_passes(self):
        self.judge(self.found('198.51.100.0/24'), base.BROKEN)
        # Two lines, of which none alone keeps everything back.
        self.judge(self.found('198.51.100.10/32', '198.51.100.11/32'),
                   base.WARN, base.WARN)

    def test_one_neighbour_gets_nothing(self):
        peers = (PEERS[0], ('172.31.1.2', (('prefix-list', 'GONE'),)))
        said = self.judge(self.found(neighbours=peers, GONE=None), base.WARN)
        self.assertIn('prefix-list GONE does not exist', said)
        self.assertIn('kept back from 172.31.1.2', said)

    def test_no_neighbour_gets_anything(self):
        peers = tuple((name, (('prefix-list', 'GONE'),))
                      for name, _filters in PEERS)
        self.assertIn('all neighbours', self.judge(self.found(
            neighbours=peers, GONE=None), base.BROKEN))

    def test_what_goes_by_more_is_left_alone(self):
        peers = (('172.31.1.1', (('distribute-list', '7'),)),)
        self.judge(self.found(neighbours=peers), base.OK)
