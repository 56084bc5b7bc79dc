# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


from ovn_network_agent.diagnosis.node.kernel import forwards
from ovn_network_agent.tests.unit.diagnosis.node import base

LOCAL = ('10.0.0.5', 'tcp'), ('10.0.0.5', 'udp')


class LocalTest(base.JudgeTestCase):

    def test_destinations_here(self):
        def found(backends=LOCAL, vrf='blue', tcp=True, udp=True,
                  option=False):
            return forwards.Local(backends, vrf, {'tcp': tcp, 'udp': udp},
                                  option)

        self.judged_each(
            forwards.judge_local, (found(()), base.NOT_CHECKED),
            (found(), base.OK), (found(vrf='', tcp=False, udp=False), base.OK),
            (found(udp=False), base.BROKEN, '10.0.0.5 (udp)'),
            (found(tcp=False, option=True), base.WARN),
            # A kernel that lacks the sysctl.
            (forwards.Local(LOCAL, 'blue', {}, False), base.BROKEN))
        self.assertNotIn('10.0.0.5 (tcp)', self.judged(
            forwards.judge_local, found(udp=False), base.BROKEN))


class ZonesTest(base.JudgeTestCase):

    def test_zones(self):
        for zone, verdict in ((None, base.NOT_CHECKED), (64000, base.OK),
                              (7, base.BROKEN)):
            self.judged(forwards.judge_zones,
                        forwards.Zones(zone, {7: 'r1_snat'}), verdict)
