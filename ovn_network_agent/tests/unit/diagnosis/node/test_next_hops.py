# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


from ovn_network_agent.diagnosis.node.bgp import sessions
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.tests.unit.diagnosis.node import base

PLAIN = frr.NextHop('2001:db8:5::2', '10.0.0.1', False, True)
EXTENDED = frr.NextHop('eth2', '10.0.0.1', True, True)


class NextHopsTest(base.JudgeTestCase):

    @staticmethod
    def facts(**values):
        return sessions.NextHops(**{
            'sessions': (PLAIN,), 'devices': {}, 'loopbacks': {'lo'},
            'vrf': 'vrf-provider', 'asn': '65001', **values})

    def test_next_hops(self):
        """An address of an uplink, of a loopback, and of nobody."""
        facts, judge = self.facts, sessions.judge_next_hops
        self.judged_each(
            judge, (facts(sessions=()), base.OK),
            (facts(sessions=(EXTENDED,)), base.OK,
             'eth2 gets next hops of IPv6'),
            # Another session has the routes.
            (facts(sessions=(EXTENDED, PLAIN)), base.WARN),
            (facts(others=1), base.WARN),
            (facts(devices={'10.0.0.1': 'eth1'}), base.OK,
             'gets the next hop 10.0.0.1'),
            (facts(devices={'10.0.0.1': 'lo'}), base.WARN,
             'of lo, and needs a route'))
        said = self.judged(judge, facts(), base.BROKEN)
        self.assertIn('the next hop 10.0.0.1, which no device', said)
        self.assertIn('"router bgp 65001 vrf vrf-provider" / "neighbor '
                      '2001:db8:5::2 capability extended-nexthop" here', said)
        self.assertNotIn('the same line', said)
        # The side that lacks the capability is named.
        said = self.judged(judge, facts(sessions=(
            PLAIN._replace(offered=True, taken=False),)), base.BROKEN)
        self.assertNotIn(' here', said.partition('add ')[2])
        self.assertIn('add the same line', said)
