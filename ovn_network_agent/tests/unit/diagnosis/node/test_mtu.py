# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Large packets; real devices are in the lab's test of the doctor."""

from ovn_network_agent.diagnosis.node.kernel import routing
from ovn_network_agent.tests.unit.diagnosis.node import base


class MtuTest(base.JudgeTestCase):

    def judge(self, uplinks, inside, *verdicts):
        return self.judged(routing.judge_mtu, routing.Sizes(uplinks, inside),
                           *verdicts)

    def test_an_uplink_that_is_too_small(self):
        said = self.judge({'eth1': 1280, 'eth2': 1500},
                          {'br-ex': 1500, 'veth-default': 1500}, base.WARN)
        self.assertIn('eth1 has an MTU of 1280 bytes, and br-ex, '
                      'veth-default of 1500', said)
        self.assertIn('"ip link set eth1 mtu 1500"', said)

    def test_a_pair_that_is_too_small(self):
        said = self.judge({'eth1': 9000}, {'br-ex': 9000,
                                           'veth-default': 1500}, base.WARN)
        self.assertIn('"ip link set veth-default mtu 9000"', said)

    def test_all_is_well(self):
        self.judge({'eth1': 9000}, {'br-ex': 1500, 'veth-default': 1500},
                   base.OK)

    def test_nothing_to_compare(self):
        self.judge({}, {'br-ex': 1500}, base.NOT_CHECKED)
        self.judge({'eth1': 1500}, {}, base.NOT_CHECKED)
