# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Chassis that OVN still has, but that do not answer any more.  Row A-20."""

import time

from ovn_network_agent.tests.functional.backends import stale
from ovn_network_agent.tests.functional.ovn import cloud

LIMIT = 2


class SilentAgentTest(stale.Silent, stale.AgentTestCase):
    """The whole loop; no full pass helps."""

    def test_its_rows_are_removed_and_only_these(self):
        for number, (name, host) in enumerate((
                ('gateway', 'gw7.example.org'), ('fresh', 'gw8.example.org'),
                ('unheard', 'gw9.example.org'))):
            self.appear(name, host, f'192.0.2.{20 + number}')
            self.leave(f'r{number}', stale.tags(host))
        self.leave('live', stale.tags(cloud.OTHER_HOSTNAME))
        kept = self.left()
        self.leave('silent', stale.tags(stale.DEAD))
        self.cloud.move('lrp-r0', 'gateway')
        self.answer('gateway', stale.LONG_AGO, behind=1)
        self.answer('fresh', behind=1)
        started = time.monotonic()
        agent = self.survivor(gateway_drain__silent_chassis_limit=LIMIT)
        self.eventually(lambda: agent.status.reasons == (), 'all is well')
        self.eventually(lambda: self.left() == kept, self.left)
        # The limit comes first, and then the grace.
        self.assertGreaterEqual(time.monotonic() - started, LIMIT + 1)
