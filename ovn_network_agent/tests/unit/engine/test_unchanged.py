# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A periodic pass believes "unchanged" only where nothing is in doubt."""

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.engine import passes
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

ROUTE = gateways.ROUTE


class Marking(worlds.WorldBackend):
    """Says "unchanged" while its objects are the same ones.

    :ivar said: of each reading, whether it was "unchanged"
    :ivar error: exception of the next readings, or None
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.said = []
        self.error = None

    def reread(self, known, mark):
        if self.error is not None:
            raise self.error
        now = {ref: resource for ref, resource in self.world.objects.items()
               if resource.kind in [kind.kind for kind in self.kinds]}
        self.said.append(now == mark)
        return (None if now == mark else self.read(known())), now


class UnchangedTest(gateways.ReconcilerTestCase):

    def setUp(self):
        super().setUp()
        world = worlds.World()
        self.made = self.gateway(world=world, backends=[
            Marking(name, world) for name in worlds.BACKENDS])
        self.routes = self.made.backend('route')
        self.router = cloud.router(fips=[gateways.FIP])
        # The second one finds what the first one has made.
        for _time in range(3):
            self.periodic()
        self.assertTrue(self.routes.said[-1])

    def periodic(self, *routers, **values):
        return self.made.reconciler.run(passes.Pass(
            cloud.snapshot(*(routers or [self.router])),
            reads=self.made.reconciler.backends.names, **values))

    def said(self, *routers, **values):
        """Whether the routes were unchanged in a further pass."""
        self.periodic(*routers, **values)
        return self.routes.said[-1]

    def test_nothing_is_read_and_nobody_is_asked(self):
        self.made.world.reads.clear()
        self.made.fip_route.asked.clear()
        self.assertTrue(self.periodic().settled)
        self.assertEqual([], self.made.world.reads)
        self.assertEqual([], self.made.fip_route.asked)

    def test_drift_after_it_is_found(self):
        del self.made.world.objects[ROUTE]
        self.assertEqual([ROUTE], [*self.periodic().lost])
        self.assertIn(ROUTE, self.made.world.objects)

    def test_a_write_that_was_lost_is_found(self):
        """The backend said that it was done, and it was not."""
        more = cloud.router(fips=[gateways.FIP, '198.51.100.11'])
        self.made.run(more)
        lost = resources.Ref('kernel_route', (254, '198.51.100.11/32'))
        del self.made.world.objects[lost]
        self.assertFalse(self.said(more))
        self.assertIn(lost, self.made.world.objects)

    def test_after_a_write_that_was_refused_everything_is_read(self):
        """Nobody knows what a system has made of it."""
        more = cloud.router(fips=[gateways.FIP, '198.51.100.11'])
        refused = resources.Ref('kernel_route', (254, '198.51.100.11/32'))
        self.made.world.refuses[refused] = 'no memory'
        for _time in range(3):
            self.assertFalse(self.said(more))
        # What stays on purpose may be another thing by now, too.
        self.made.world.refuses[refused] = base.Kept('of another program')
        for _time in range(3):
            self.assertFalse(self.said(more))
        self.made.world.refuses.clear()
        self.periodic(more)
        self.assertFalse(self.said(more))
        self.assertTrue(self.said(more))

    def test_after_an_error_everything_is_read(self):
        self.routes.error = base.BackendError('no answer')
        self.assertEqual(['route'], [*self.periodic().unreadable])
        self.routes.error = None
        self.made.clock += 60
        self.assertFalse(self.said())
        self.assertTrue(self.said())

    def test_what_has_everything_read(self):
        """A notice, a full pass for another reason, and what is wanted now.

        The kind of an object may depend on what is wanted.
        """
        for values in {'stale': ['route']}, {'full': True}:
            self.made.run(self.router, **values)
            self.assertFalse(self.routes.said[-1])
        self.assertFalse(self.said(stale=('route',)))
        self.assertTrue(self.said())
        self.assertFalse(self.said(cloud.router(
            fips=[gateways.FIP, '198.51.100.11'])))

    def test_a_driver_that_raised_is_asked_again(self):
        self.made.fip_route.raises_for.add(gateways.FIP)
        self.made.run(cloud.router(fips=[gateways.FIP], name='other'))
        self.made.fip_route.raises_for.clear()
        self.made.fip_route.asked_addresses.clear()
        self.periodic()
        self.assertIn(gateways.FIP, self.made.fip_route.asked_addresses)
