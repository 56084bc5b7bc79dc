# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


from ovn_network_agent.diagnosis.node import agents
from ovn_network_agent.tests.unit.diagnosis.node import base


class ObjectsTest(base.JudgeTestCase):

    def judge(self, *differences, unread=(), verdicts):
        return self.judged(agents.judge_objects, agents.Objects(
            differences, unread), *verdicts)

    def test_nothing_to_do(self):
        self.judge(verdicts=[base.OK])

    def test_differences_by_what_is_wrong(self):
        said = self.judge(
            *(('create', 'flow', f'number={n}') for n in range(5)),
            ('delete', 'rule', 'priority=1'),
            verdicts=[base.BROKEN, base.BROKEN])
        self.assertIn('missing: flow number=0; flow number=1; flow number=2 '
                      'and 2 more', said)
        self.assertIn('left over: rule priority=1', said)

    def test_what_could_not_be_read(self):
        self.judge(unread=('flow: no bridge',), verdicts=[base.WARN])
