# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


from ovn_network_agent.diagnosis.node.kernel import forwards
from ovn_network_agent.tests.unit.diagnosis.node import base

LOCAL = ('10.0.0.5', 'tcp'), ('10.0.0.5', 'udp')


class LocalTest(base.JudgeTestCase):

    def judge(self, verdict, backends=LOCAL, vrf='blue', tcp=True, udp=True,
              option=False):
        return self.judged(forwards.judge_local, forwards.Local(
            backends, vrf, {'tcp': tcp, 'udp': udp}, option), verdict)

    def test_no_destination_is_here(self):
        self.judge(base.NOT_CHECKED, ())

    def test_accepted(self):
        self.judge(base.OK)
        self.judge(base.OK, vrf='', tcp=False, udp=False)

    def test_refused(self):
        said = self.judge(base.BROKEN, udp=False)
        self.assertIn('10.0.0.5 (udp)', said)
        self.assertNotIn('10.0.0.5 (tcp)', said)
        self.judge(base.WARN, tcp=False, option=True)

    def test_a_kernel_that_lacks_the_sysctl(self):
        self.judged(forwards.judge_local, forwards.Local(
            LOCAL, 'blue', {}, False), base.BROKEN)


class ZonesTest(base.JudgeTestCase):

    def test_zones(self):
        for zone, verdict in ((None, base.NOT_CHECKED), (64000, base.OK),
                              (7, base.BROKEN)):
            self.judged(forwards.judge_zones,
                        forwards.Zones(zone, {7: 'r1_snat'}), verdict)
