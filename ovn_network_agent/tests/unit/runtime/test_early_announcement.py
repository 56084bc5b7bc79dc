# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which routers a start announces first."""

from oslotest import base

from ovn_network_agent.runtime import loop
from ovn_network_agent.tests.unit import cloud


def router(number, count):
    """A router with so many addresses, one of them its own."""
    return cloud.router(number, [
        f'11.{number}.{n >> 8}.{n & 255}' for n in range(count - 1)])


class ForerunTest(base.BaseTestCase):

    def chosen(self, *counts):
        """The view with the first of routers with so many addresses."""
        self.routers = [router(number, count)
                        for number, count in enumerate(counts, 1)]
        return loop.first_of(cloud.snapshot(
            *self.routers, groups=map(cloud.group, self.routers)))

    def test_as_many_as_frr_takes_meanwhile(self):
        found = self.chosen(1000, 900, 200, 5000)
        self.assertEqual([each.bare for each in self.routers[:2]],
                         list(found.routers))
        self.assertEqual([each.uuid for each in self.routers[:2]],
                         list(found.addresses))
        self.assertEqual((), found.groups)
        self.assertEqual(cloud.node(), found.node)
        self.assertEqual(2, len(self.chosen(1000, 1000, 1, 5000).routers))

    def test_no_machines(self):
        view = cloud.with_machines(cloud.snapshot(
            router(1, 1500), router(2, 5000)), cloud.machine('192.0.2.9'))
        found = loop.first_of(view)
        self.assertEqual((1, {}, {}), (len(found.routers), found.networks,
                                       found.machines))
        self.assertIsNone(loop.first_of(cloud.with_machines(
            cloud.snapshot(), *(cloud.machine(f'11.1.{n >> 8}.{n & 255}')
                                 for n in range(5000)))))

    def test_none_where_there_are_few(self):
        self.assertIsNone(self.chosen())
        self.assertIsNone(self.chosen(1000, 1000, 2000))
        self.assertEqual(2, len(self.chosen(1000, 1000, 2001).routers))

    def test_none_where_a_router_has_nearly_all(self):
        self.assertIsNone(self.chosen(9000, 10))
        self.assertIsNone(self.chosen(999, 9000))
        self.assertEqual(1, len(self.chosen(1000, 9000).routers))

    def test_the_first_ones_win_a_conflict(self):
        """Their order is the one in which the engine prefers resources."""
        found = self.chosen(500, 500, 4000)
        others = self.routers[2:]
        self.assertLess(max(str(r.uuid) for r in found.routers),
                        min(str(r.uuid) for r in others))
