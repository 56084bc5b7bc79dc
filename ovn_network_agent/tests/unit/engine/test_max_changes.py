# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A backend with many changes makes a part of them at once."""

from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.engine import test_ahead

FIPS = [f'198.51.100.{n}' for n in range(10, 15)]
NETWORKS = ('198.51.100.1/24', '203.0.113.1/24', '203.0.114.1/24')


class MaxChangesTest(test_ahead.AheadTestCase):

    def setUp(self):
        super().setUp()
        self.lines = self.made.backend('frr_prefix_list')

    def rounds(self, *routers):
        """Passes until nothing is under way; how many."""
        for count in range(1, 30):
            if not self.finished(*routers).pending:
                return count
        raise AssertionError('still under way')

    def created(self, kind):
        """Places in the journal at which resources of a kind were made."""
        return [at for at, (_verb, ref) in enumerate(self.made.world.journal)
                if ref.kind == kind]

    def test_what_is_no_longer_wanted_is_left_out(self):
        self.static.max_changes = 2
        self.static.gate.clear()
        self.made.threads.patience = 0.05
        router = cloud.router(1, FIPS)
        self.made.run(router)
        self.assertEqual(2, len(self.begun()))
        self.static.gate.set()
        fewer = cloud.router(1)
        self.rounds(fewer)
        self.assertTrue(self.finished(fewer).settled)
        self.assertLess(
            len({ref for verb, ref in self.made.world.journal
                 if ref.kind == resources.Announcement.kind}), len(FIPS))

    def test_all_come_and_go(self):
        self.static.max_changes = 2
        router = cloud.router(1, FIPS)
        self.made.run(router)
        self.assertGreaterEqual(self.rounds(router), 2)
        self.assertLessEqual({fip + '/32' for fip in FIPS},
                             self.made.addresses())
        self.rounds(cloud.router(1))
        self.assertEqual(set(), self.made.addresses() & {
            fip + '/32' for fip in FIPS})

    def test_others_of_the_system_come_first(self):
        self.lines.max_changes = 1
        router = cloud.router(1, FIPS, ports=(
            cloud.port(1, networks=NETWORKS),))
        self.made.run(router)
        self.rounds(router)
        lines = self.created(resources.PrefixListEntry.kind)
        self.assertEqual(len(NETWORKS), len(lines))
        self.assertLess(self.created(resources.Announcement.kind)[0], lines[1])

    def test_an_order_is_for_the_changes_that_wait(self):
        """When these are no longer wanted, lines come first again."""
        self.lines.max_changes = 1
        self.lines.gate.clear()
        self.made.threads.patience = 0.05
        one = cloud.router(1, FIPS[:1])
        self.made.run(cloud.router(1, FIPS[:1], ports=(
            cloud.port(1, networks=NETWORKS[:2]),)))
        self.made.run(one)
        self.lines.gate.set()
        self.rounds(one)
        self.rounds(one)
        self.made.threads.patience = 5
        del self.made.world.journal[:]
        two = cloud.router(1, [*FIPS[:1], '203.0.114.9'], ports=(
            cloud.port(1, networks=NETWORKS[::2]),))
        self.made.run(two)
        self.rounds(two)
        self.assertLess(self.created(resources.PrefixListEntry.kind)[0],
                        self.created(resources.Announcement.kind)[0])
