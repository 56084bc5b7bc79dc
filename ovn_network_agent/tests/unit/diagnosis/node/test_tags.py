# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent.diagnosis.node.bgp import announced
from ovn_network_agent.tests.unit.diagnosis.node import base


class TagsTest(base.JudgeTestCase):

    def judge(self, verdict, *addresses, method='static', mapped=True):
        return self.judged(announced.judge_tags, announced.Tags(
            addresses, method, mapped), verdict)

    def test_none(self):
        self.assertIn('no route has a tag', self.judge(base.OK))

    def test_some(self):
        self.assertIn('tags of static routes: 4400001 (3 addresses)',
                      self.judge(base.OK, (4400001, 3)))

    def test_without_a_route_map(self):
        for method, match in (('static', 'tag'), ('kernel', 'metric')):
            said = self.judge(base.WARN, (4400001, 3), (4400002, 1),
                              method=method, mapped=False)
            self.assertIn(f'"redistribute {method}" a route map', said)
            self.assertIn(f'"match {match} 4400001"', said)
