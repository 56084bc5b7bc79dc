# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends never hear of another way to clients than the gateway.

The table may be gone, or a connection removed: an answer that is under way is
then not translated, and goes on to the default gateway, on the device where
the answer came from.  A router reports that by an ICMP redirect (RFC 1812,
section 5.2.7.2; RFC 4861, section 8.2).  Linux obeys for five minutes, and
all answers to that client miss the gateway for so long.
"""

import socket

from lab import dump
from lab import node as nodes
from lab import plan
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import forwarding as pf
from ovn_network_agent.watches import rate_limit

# How many answers nobody has asked for.
_UNASKED = 5


class Redirects:
    """Tests; see :mod:`ovn_network_agent.tests.lab.forwarding`."""

    def test_no_redirect_while_the_table_is_gone(self):
        """Row PFT-15: what nobody translated has no consequences."""
        gw1, agent = self.cloud['gw1'], self.cloud.agents['gw1']
        usual = self.state('gw1')
        agent.freeze()
        self.addCleanup(agent.thaw)
        # Linux obeys only if the other router is a known neighbour.
        self.cloud['backend'].run(['ping', '-c', '1', plan.SINK])
        gw1.run(['nft', 'flush', 'ruleset'])
        self._answers_nobody_asked_for(pf.REMOTE, plan.CLIENT)
        agent.thaw()
        # The repair may wait: earlier tests have flushed the table, too, and
        # the agent takes a row of repairs for a fight with another program.
        nodes.wait_until('all is as before', lambda: not dump.difference(
            usual, self.state('gw1')), rate_limit.LAST + base.SETTLE)
        # Until then nobody translated what backends sent again in connections
        # that earlier tests have left.
        self.untranslated_on_purpose()
        self.assertEqual((pf.REMOTE, plan.CLIENT),
                         self.asked(pf.PLAIN, 81, 'udp'))

    def _answers_nobody_asked_for(self, source, client):
        """Send some; returns when the default gateway of gw1 has them."""
        before = self.cloud.sink.untranslated()
        self.cloud['backend'].call(_send, source, client)
        nodes.wait_until('the default gateway has the answers', lambda: (
            self.cloud.sink.untranslated() >= before + _UNASKED),
            base.SETTLE)
        self.untranslated_on_purpose()


def _send(source, client):
    """Datagrams from a backend, as if the client had asked."""
    family = socket.AF_INET6 if ':' in source else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.bind((source, 0))
        for _number in range(_UNASKED):
            one.sendto(b'', (client, 9))
