# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What surfaces as degraded, because nobody can handle it."""

import dataclasses

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.conf import plugins
from ovn_network_agent.runtime import snapshot_problems
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world


class TroubleTest(base.BaseTestCase):

    def troubles(self, drivers, drained='', **node):
        conf = world.conf(drivers=drivers)
        group = model.GatewayGroup('Gateway_Chassis', 'key', 'lrp-1', (
            model.Candidate(cloud.CHASSIS, 0, drained=drained),
            model.Candidate(cloud.OTHER, 1, drained='shutdown')))
        snapshot = dataclasses.replace(cloud.snapshot(**node), groups=(group,))
        return snapshot_problems.SnapshotProblems().problems(
            snapshot, ('br-ex',), plugins.requested(conf, plugins.RANKING))

    def test_what_was_drained_stays_so_without_the_driver(self):
        """The stop before it was taken out has drained."""
        found, = self.troubles(['fip_route'], 'shutdown')
        self.assertIn('priority 0 in 1 gateway group (lrp-1)', found)
        found, = self.troubles(['fip_route'], drains=frozenset({model.ALL}))
        self.assertIn('a drain of this node is asked for', found)
        self.assertEqual((), self.troubles(['fip_route']))
        self.assertEqual((), self.troubles(
            ['fip_route', 'gateway_drain'], 'shutdown',
            drains=frozenset({model.ALL})))

    def test_a_drain_is_seen_when_it_comes_and_goes(self):
        """The groups may be the same, and the node another one."""
        known = snapshot_problems.SnapshotProblems()
        groups = (model.GatewayGroup('Gateway_Chassis', 'key', 'lrp-1', (
            model.Candidate(cloud.CHASSIS, 1),)),)
        lowered = (groups[0]._replace(candidates=(
            model.Candidate(cloud.CHASSIS, 0, drained='shutdown'),)),)
        for drains, present, count in (
                ((), groups, 0), ((model.ALL,), groups, 1), ((), groups, 0),
                ((), lowered, 1), ((model.ALL,), lowered, 2)):
            seen = dataclasses.replace(
                cloud.snapshot(drains=frozenset(drains)), groups=present)
            self.assertEqual(count, len(known.problems(seen, (), False)))

    def test_it_is_as_if_each_view_were_the_first(self):
        """Routers with problems come, change and go."""
        known = snapshot_problems.SnapshotProblems()
        good = cloud.router(1)
        away = cloud.router(2, ports=(cloud.port(2, segment=None),))
        bad = cloud.router(3, problems=('NAT row x: malformed',))
        for routers, bridges in (
                ((good, away, bad), ('br-ex',)), ((good, away), ('br-ex',)),
                ((good, cloud.router(2)), ('br-ex',)),
                ((good, away, cloud.router(3)), ('br-ex',)),
                ((good, away), ()), ((bad,), ('br-ex',)), ((), ('br-ex',))):
            seen = cloud.snapshot(*routers)
            found = known.problems(seen, bridges, True)
            self.assertEqual(snapshot_problems.SnapshotProblems().problems(
                seen, bridges, True), found)
            self.assertEqual(
                (away in routers) + (bad in routers) + (
                    good in routers and not bridges), len(found))
