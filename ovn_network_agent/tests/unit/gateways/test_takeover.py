# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How long a takeover took, and what is none."""

from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.common import trigger
from ovn_network_agent.engine import outcome
from ovn_network_agent.gateways import takeover
from ovn_network_agent.tests.unit import cloud

ANNOUNCED = resources.Announcement('vrf-provider', '198.51.100.10/32',
                                   '169.254.0.1')


class TakeoverTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.clock = 100.0
        self.takeovers = takeover.Takeovers(lambda: self.clock)

    def looked(self, *routers, announced=(), failed=(), since=99.0,
               announces=False):
        """The takeover that is known of after a pass."""
        self.takeovers.after_pass(
            cloud.snapshot(*routers), trigger.Wake(('x',), fired_at=since),
            outcome.Outcome(
                applied=tuple(('created', r) for r in announced),
                failures={r.ref: 'refused' for r in failed},
                announces=announces))
        return self.takeovers.last

    def test_a_router_that_comes_is_timed(self):
        # Trap T20.
        self.looked()
        self.assertEqual(takeover.Takeover((cloud.router().name,), 1, 1.0),
                         self.looked(cloud.router(), announced=[ANNOUNCED]))

    def test_what_is_here_at_the_start_is_none(self):
        """Trap T21."""
        self.assertIsNone(self.looked(cloud.router(), announced=[ANNOUNCED]))

    def test_a_repair_is_none(self):
        """Trap T21."""
        self.looked(cloud.router(), announced=[ANNOUNCED])
        self.assertIsNone(self.looked(cloud.router(), announced=[ANNOUNCED]))

    def test_without_an_announcement_no_clock_goes_on(self):
        """Trap T20: the floating IP that comes later is no takeover."""
        self.looked()
        self.looked(cloud.router())
        self.clock += 3600
        self.assertIsNone(self.looked(cloud.router(), announced=[ANNOUNCED]))

    def test_what_fails_first_counts_until_it_is_announced(self):
        self.looked()
        self.assertIsNone(self.looked(cloud.router(), failed=[ANNOUNCED]))
        self.clock += 5
        self.assertEqual(6.0, self.looked(
            cloud.router(), announced=[ANNOUNCED], since=104.0).seconds)

    def test_what_frr_still_takes_counts_until_it_is_announced(self):
        """FRR takes seconds for thousands of addresses."""
        self.looked()
        self.assertIsNone(self.looked(cloud.router(), announces=True))
        self.clock += 2
        self.assertEqual(3.0, self.looked(
            cloud.router(), announced=[ANNOUNCED], since=102.0).seconds)

    def test_what_leaves_again_is_none(self):
        self.looked()
        self.looked(cloud.router(), failed=[ANNOUNCED])
        self.looked()
        self.assertIsNone(
            self.looked(cloud.router(2), announced=[], since=100.0))

    def test_several_at_once_are_one(self):
        self.looked()
        last = self.looked(cloud.router(1), cloud.router(2),
                           announced=[ANNOUNCED])
        self.assertEqual(2, len(last.routers))
