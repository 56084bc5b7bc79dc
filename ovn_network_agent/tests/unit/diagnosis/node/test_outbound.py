# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node.bgp import sessions
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
