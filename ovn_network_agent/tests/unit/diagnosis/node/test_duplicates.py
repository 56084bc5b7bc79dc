# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The judge of addresses that several routers have."""

from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node.bgp import announced
from ovn_network_agent.tests.unit.diagnosis.node import base

ADDRESSES = tuple(ip_text.address(f'198.51.100.{number}')
                  for number in range(10, 18))


class DuplicatesTest(base.JudgeTestCase):

    def judge(self, several, *verdicts):
        return self.judged(
            announced.judge_duplicates, announced.Duplicates(
                len(ADDRESSES), several), *verdicts)

    def test_none(self):
        self.assertIn('each of 8 addresses', self.judge((), base.OK))

    def test_one(self):
        said = self.judge(((ADDRESSES[0], ('office', 'shop')),), base.WARN)
        self.assertIn('198.51.100.10 is an address of the routers office, '
                      'shop', said)
        self.assertIn('"ovn-network-agent-ctl explain 198.51.100.10"', said)

    def test_many(self):
        said = self.judge(tuple((each, ('a', 'b')) for each in ADDRESSES),
                          *[base.WARN] * 6)
        self.assertIn('3 more addresses', said)
