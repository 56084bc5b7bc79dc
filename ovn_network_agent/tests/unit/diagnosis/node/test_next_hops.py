# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


from ovn_network_agent.diagnosis.node.bgp import sessions
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.tests.unit.diagnosis.node import base

PLAIN = frr.NextHop('2001:db8:5::2', '10.0.0.1', False, True)
EXTENDED = frr.NextHop('eth2', '10.0.0.1', True, True)


class NextHopsTest(base.JudgeTestCase):

    def judge(self, *verdicts, **values):
        return self.judged(sessions.judge_next_hops, sessions.NextHops(**{
            'sessions': (PLAIN,), 'devices': {}, 'loopbacks': {'lo'},
            'vrf': 'vrf-provider', 'asn': '65001', **values}), *verdicts)

    def test_no_session_over_ipv6(self):
        self.judge(base.OK, sessions=())

    def test_next_hops_of_ipv6(self):
        self.assertIn('eth2 gets next hops of IPv6',
                      self.judge(base.OK, sessions=(EXTENDED,)))

    def test_a_next_hop_that_nobody_has(self):
        said = self.judge(base.BROKEN)
        self.assertIn('the next hop 10.0.0.1, which no device', said)
        self.assertIn('"router bgp 65001 vrf vrf-provider" / "neighbor '
                      '2001:db8:5::2 capability extended-nexthop" here', said)
        self.assertNotIn('the same line', said)

    def test_the_side_that_lacks_the_capability_is_named(self):
        one = PLAIN._replace(offered=True, taken=False)
        said = self.judge(base.BROKEN, sessions=(one,))
        self.assertNotIn(' here', said.partition('add ')[2])
        self.assertIn('add the same line', said)

    def test_another_session_has_the_routes(self):
        self.judge(base.WARN, sessions=(EXTENDED, PLAIN))
        self.judge(base.WARN, others=1)

    def test_the_address_of_an_uplink(self):
        self.assertIn('gets the next hop 10.0.0.1',
                      self.judge(base.OK, devices={'10.0.0.1': 'eth1'}))

    def test_the_address_of_a_loopback(self):
        self.assertIn('of lo, and needs a route', self.judge(
            base.WARN, devices={'10.0.0.1': 'lo'}))
