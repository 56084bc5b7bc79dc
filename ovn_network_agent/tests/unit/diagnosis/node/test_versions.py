# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


from ovn_network_agent.diagnosis.node import configuration
from ovn_network_agent.tests.unit.diagnosis.node import base


class VersionsTest(base.JudgeTestCase):

    def judge(self, *verdicts, **found):
        return self.judged(
            configuration.judge_versions,
            configuration.Versions(tuple(
                (getattr(configuration, name), version)
                for name, version in found.items())), *verdicts)

    def test_those_that_were_tried(self):
        said = self.judge(base.OK, KERNEL='6.1.0-25-amd64', FRR='8.4.4',
                          OVN='23.03', OVS='3.1.0', NFT='1.0.6')
        self.assertIn('Linux 6.1.0-25-amd64', said)
        self.assertNotIn('no test', self.judge(
            base.OK, FRR='10.3', OVN='26.03', OVS='3.5.1'))

    def test_one_between_two_that_were_tried(self):
        self.assertIn(
            'FRR 10.3, OVN 24.03.2 (no test ran with it, but with 23.03, '
            '25.03, 26.03.1)', self.judge(base.OK, FRR='10.3', OVN='24.03.2'))

    def test_those_that_were_not(self):
        self.judge(base.WARN, FRR='8.1')
        self.judge(base.WARN, FRR='11.0')
        self.judge(base.WARN, OVN='22.03')
        self.assertIn('never run', self.judge(base.WARN, FRR='9.1'))

    def test_one_that_cannot_work(self):
        self.judge(base.BROKEN, KERNEL='4.19.0-amd64')

    def test_what_nobody_tells(self):
        self.judge(base.OK, KERNEL='6.12.0', FRR='', OVN='', OVS='')

    def test_numbers(self):
        self.assertEqual((6, 12), configuration.numbers('6.12.0-amd64'))
        self.assertLess(configuration.numbers('8.4.4'),
                        configuration.numbers('10.3'))
