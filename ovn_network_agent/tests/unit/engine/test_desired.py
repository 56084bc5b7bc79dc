# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Merging what drivers want."""

import dataclasses

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.engine import tracking

ROUTE = resources.KernelRoute(254, '198.51.100.10/32', 'br-ex')
OTHER = resources.KernelRoute(254, '198.51.100.10/32', 'br-other')
RULE = resources.Rule(2000, 200, src='198.51.100.0/24')
A, B = ('driver', 'a'), ('driver', 'b')


def _with_requirements(tracker):
    return {(r, r.requires) for r in tracker.wanted()}


class DesiredStateTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.begin()

    def begin(self):
        self.tracker = tracking.Tracker()
        self.state = tracking.DesiredState(self.tracker)

    def wanted(self):
        return set(self.tracker.wanted())

    def test_a_contribution_replaces_the_one_before(self):
        self.state.contribute(A, [ROUTE, RULE])
        self.assertEqual({ROUTE, RULE}, self.wanted())
        self.state.contribute(A, [RULE])
        self.assertEqual({RULE}, self.wanted())
        self.state.contribute(A, ())
        self.assertEqual(set(), self.wanted())
        self.assertEqual([], self.state.contributed(A))

    def test_what_is_no_part_of_the_value_follows(self):
        """Or what is written is refused for ever, as decided on the past."""
        for before in ((('gw1', 2), ('gw2', 1)), (('gw1', 2), ('gw2', 3))):
            lowered = resources.GatewayPriority(
                'Gateway_Chassis', 'key', 'gw1', 0, before=before)
            self.state.contribute(A, [lowered])
            self.assertEqual(before,
                             self.tracker.desired(lowered.ref).before)

    def test_in_a_conflict_the_name_decides_and_it_is_reported(self):
        for order in ((A, B), (B, A)):
            self.begin()
            claims = {A: [ROUTE], B: [OTHER, RULE]}
            for contributor in order:
                self.state.contribute(contributor, claims[contributor])
            self.assertEqual({ROUTE, RULE}, self.wanted())
            self.assertEqual([ROUTE.ref], list(self.state.conflicts))
            self.assertIn('br-other', self.state.conflicts[ROUTE.ref])

    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.sampled_from([A, B, ('driver', 'c')]),
        strategies.lists(strategies.sampled_from([
            ROUTE, OTHER, RULE, resources.Keep(ROUTE.ref),
            dataclasses.replace(ROUTE, requires=(RULE.ref,))]),
            max_size=3)), max_size=12))
    def test_what_came_before_does_not_matter(self, history):
        self.begin()
        for contributor, wanted in history:
            self.state.contribute(contributor, wanted)
        fresh_tracker = tracking.Tracker()
        fresh = tracking.DesiredState(fresh_tracker)
        for contributor, wanted in sorted(dict(history).items()):
            fresh.contribute(contributor, wanted)
        self.assertEqual(fresh.conflicts, self.state.conflicts)
        self.assertEqual(_with_requirements(fresh_tracker),
                         _with_requirements(self.tracker))
        for tracker in (fresh_tracker, self.tracker):
            tracker.resync(['kernel_route', 'rule'], [ROUTE, RULE])
        self.assertEqual(fresh_tracker.delta(['kernel_route', 'rule']),
                         self.tracker.delta(['kernel_route', 'rule']))

    def test_one_that_changes_its_mind_stays_first(self):
        self.state.contribute(A, [ROUTE])
        self.state.contribute(B, [ROUTE])
        self.state.contribute(A, [OTHER])
        self.assertEqual({OTHER}, self.wanted())
        self.assertIn(ROUTE.ref, self.state.conflicts)

    def test_a_contradiction_inside_one_contribution(self):
        self.state.contribute(A, [ROUTE, OTHER, RULE])
        self.assertEqual({ROUTE, RULE}, self.wanted())
        self.assertEqual([ROUTE.ref], list(self.state.conflicts))
        self.state.contribute(A, [ROUTE, ROUTE])
        self.assertEqual({}, self.state.conflicts)

    def test_keep_counts_its_contributors(self):
        self.tracker.found(ROUTE)
        keep = resources.Keep(ROUTE.ref)
        self.state.contribute(A, [keep])
        self.state.contribute(B, [keep])
        self.state.contribute(A, ())
        self.assertFalse(self.tracker.delta(['kernel_route']))
        self.state.contribute(B, ())
        self.assertEqual((ROUTE,),
                         self.tracker.delta(['kernel_route']).delete)

    def test_from_wanted_to_kept_leaves_it_in_place(self):
        self.state.contribute(A, [ROUTE])
        self.tracker.found(ROUTE)
        self.state.contribute(A, [resources.Keep(ROUTE.ref)])
        self.assertEqual(set(), self.wanted())
        self.assertFalse(self.tracker.delta(['kernel_route']))

    def test_wanted_by_one_and_kept_by_another(self):
        self.state.contribute(A, [resources.Keep(ROUTE.ref)])
        self.state.contribute(B, [ROUTE])
        self.assertEqual((ROUTE,),
                         self.tracker.delta(['kernel_route']).create)

    def test_other_requirements_alone_are_taken_over(self):
        # The flow that an announcement rests on is another one when the
        # patch port has got another number.
        first = dataclasses.replace(ROUTE, requires=(RULE.ref,))
        second = dataclasses.replace(ROUTE, requires=())
        self.state.contribute(A, [first])
        self.state.contribute(A, [second])
        self.assertEqual((), self.tracker.desired(ROUTE.ref).requires)
