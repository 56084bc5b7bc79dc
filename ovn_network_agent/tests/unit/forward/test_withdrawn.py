# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""VIPs without a backend are withdrawn, whatever is known of OVN."""

import dataclasses

from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.model import port_forwards
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

DEAD, GONE, ALIVE = (f'192.0.2.{n}' for n in (1, 2, 3))


def vip(address, alive=True):
    return port_forwards.Vip(address, True, rules=(port_forwards.Rule(
        'tcp', 53, 53,
        (port_forwards.Destination('10.0.0.5', alive=alive),)),))


class WithdrawnTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.conf = world.conf(frr__vrf_name='')
        self.world = world.World()
        self.start()
        self.run_with(*map(vip, (DEAD, GONE, ALIVE)))

    def start(self):
        """A new agent on the same node."""
        self.reconciler = reconciler.Reconciler(
            [world.driver('port_forward', self.conf)],
            world.backends(self.world), lambda reason: None)
        self.addCleanup(self.reconciler.close)

    def run_with(self, *vips, **options):
        return self.reconciler.run(passes.Pass(dataclasses.replace(
            cloud.snapshot(), forwards=port_forwards.Forwards(vips, True)),
            **options))

    def vips(self):
        return {address.partition('/')[0] for _dev, address
                in self.world.found(resources.VipAddress)}

    def test_without_ovn(self):
        """Also what a former run has left; all else stays."""
        self.assertEqual({DEAD, GONE, ALIVE}, self.vips())
        route = resources.KernelRoute(254, '198.51.100.10/32', 'br-ex')
        self.world.put(route)
        self.start()
        self.run_with(vip(DEAD, alive=False), vip(ALIVE), prune=False)
        self.assertEqual({GONE, ALIVE}, self.vips())
        self.assertIn(route, self.world.values())
        self.run_with(vip(DEAD), vip(ALIVE), prune=False)
        self.assertEqual({DEAD, GONE, ALIVE}, self.vips())

    def test_with_ovn(self):
        self.run_with(vip(DEAD, alive=False), vip(ALIVE))
        self.assertEqual({ALIVE}, self.vips())
