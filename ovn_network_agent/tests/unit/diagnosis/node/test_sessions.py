# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node.bgp import sessions
from ovn_network_agent.diagnosis.readers import frr
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

    def test_what_passes(self):
        gone = ('prefix-list', 'GONE'),
        peers = (PEERS[0], ('172.31.1.2', gone))
        self.judged_each(
            sessions.judge_outbound,
            (self.found('10.0.0.0/8'), base.OK,
             '2 addresses pass to 2 neighbours'),
            # Once for all neighbours, with the line that removes the line.
            (self.found('198.51.100.10/32'), base.WARN,
             '198.51.100.10 is kept back from all neighbours',
             '"no ip prefix-list LIST seq 5 deny 198.51.100.10/32 le 32"'),
            (self.found('198.51.100.0/24'), base.BROKEN),
            # Two lines, of which none alone keeps everything back.
            (self.found('198.51.100.10/32', '198.51.100.11/32'),
             (base.WARN, base.WARN)),
            (self.found(neighbours=peers, GONE=None), base.WARN,
             'prefix-list GONE does not exist', 'kept back from 172.31.1.2'),
            (self.found(neighbours=tuple((name, gone) for name, _ in PEERS),
                        GONE=None), base.BROKEN, 'all neighbours'),
            # What goes by more is left alone.
            (self.found(neighbours=(
                ('172.31.1.1', (('distribute-list', '7'),)),)), base.OK))


PLAIN = frr.NextHop('2001:db8:5::2', '10.0.0.1', False, True)
EXTENDED = frr.NextHop('eth2', '10.0.0.1', True, True)


class NextHopsTest(base.JudgeTestCase):

    def test_next_hops(self):
        """An address of an uplink, of a loopback, and of nobody."""
        def facts(**values):
            return sessions.NextHops(**{
                'sessions': (PLAIN,), 'devices': {}, 'loopbacks': {'lo'},
                'vrf': 'vrf-provider', 'asn': '65001', **values})

        judge = sessions.judge_next_hops
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
