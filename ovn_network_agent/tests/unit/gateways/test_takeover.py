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

    def test_what_is_one(self):
        """Trap T20."""
        one, two = cloud.router(1), cloud.router(2)
        for routers in ([one], [one, two]):
            self.takeovers = takeover.Takeovers(lambda: self.clock)
            self.looked()
            self.assertEqual(
                takeover.Takeover(tuple(r.name for r in routers), 1, 1.0),
                self.looked(*routers, announced=[ANNOUNCED]))

    def test_what_is_none(self):
        """Traps T20 and T21: at the start, and a repair.

        A floating IP that comes later is none, nor is what leaves again.
        """
        router = cloud.router()
        self.assertIsNone(self.looked(router, announced=[ANNOUNCED]))
        self.assertIsNone(self.looked(router, announced=[ANNOUNCED]))
        for values in {}, {'failed': [ANNOUNCED]}:
            self.takeovers = takeover.Takeovers(lambda: self.clock)
            self.looked()
            self.looked(router, **values)
            self.clock += 3600
            if values:
                self.looked()
                self.assertIsNone(self.looked(cloud.router(2), since=100.0))
            else:
                self.assertIsNone(self.looked(router, announced=[ANNOUNCED]))

    def test_what_comes_late_counts_until_it_is_announced(self):
        """What fails first, or what FRR still takes."""
        for values in {'failed': [ANNOUNCED]}, {'announces': True}:
            self.takeovers = takeover.Takeovers(lambda: self.clock)
            self.looked()
            self.assertIsNone(self.looked(
                cloud.router(), since=self.clock - 1, **values))
            self.clock += 5
            self.assertEqual(6.0, self.looked(
                cloud.router(), announced=[ANNOUNCED],
                since=self.clock - 1).seconds)
