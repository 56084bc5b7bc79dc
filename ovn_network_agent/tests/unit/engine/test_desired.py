# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Merging what drivers want; desired and actual side by side."""

import dataclasses

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.engine import tracking
from ovn_network_agent.tests import budget

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

    def test_what_is_no_part_of_the_value_follows(self):
        """Or what is written is refused for ever, as decided on the past."""
        for before in ((('gw1', 2), ('gw2', 1)), (('gw1', 2), ('gw2', 3))):
            lowered = resources.GatewayPriority(
                'Gateway_Chassis', 'key', 'gw1', 0, before=before)
            self.state.contribute(A, [lowered])
            self.assertEqual(before, self.tracker.desired(lowered.ref).before)

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

    def test_a_contradiction_inside_one_contribution(self):
        self.state.contribute(A, [ROUTE, OTHER, RULE])
        self.assertEqual({ROUTE, RULE}, self.wanted())
        self.assertEqual([ROUTE.ref], list(self.state.conflicts))
        self.state.contribute(A, [ROUTE, ROUTE])
        self.assertEqual({}, self.state.conflicts)

    def test_wanted_by_one_and_kept_by_another(self):
        self.state.contribute(A, [resources.Keep(ROUTE.ref)])
        self.state.contribute(B, [ROUTE])
        self.assertEqual((ROUTE,), self.tracker.delta(['kernel_route']).create)


MOVED = resources.KernelRoute(254, '198.51.100.10/32', 'br-other')
PLAIN = resources.Rule(1000, 200, dst='198.51.100.10/32')
SYSCTL = resources.Sysctl('net/ipv4/ip_forward', '1')
KINDS = ('kernel_route', 'rule', 'sysctl')


class TrackerTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.tracker = tracking.Tracker()

    def delta(self):
        found = self.tracker.delta(KINDS)
        return found.create, found.update, found.delete

    def test_a_reading_as_wanted_is_there_once(self):
        self.tracker.want(ROUTE)
        found = [dataclasses.replace(ROUTE), PLAIN]
        self.tracker.resync(KINDS, found)
        self.assertIs(ROUTE, self.tracker.existing(ROUTE.ref))
        self.assertIs(ROUTE, found[0])
        self.assertIs(PLAIN, self.tracker.existing(PLAIN.ref))
        self.assertEqual(((), (), (PLAIN,)), self.delta())

    def test_what_is_kept_is_not_deleted(self):
        self.tracker.found(ROUTE)
        self.tracker.keep(ROUTE.ref)
        self.assertFalse(self.tracker.delta(KINDS))
        self.tracker.keep(ROUTE.ref, kept=False)
        self.assertEqual(((), (), (ROUTE,)), self.delta())

    def test_retained_kinds_stay(self):
        self.tracker.want(SYSCTL)
        self.tracker.found(SYSCTL)
        self.tracker.unwant(SYSCTL.ref)
        self.assertFalse(self.tracker.delta(KINDS))
        self.assertEqual([SYSCTL], self.tracker.actual())

    def test_what_goes_keeps_its_prerequisites(self):
        """They go after it, also if it is read again meanwhile."""
        route = dataclasses.replace(ROUTE, requires=(PLAIN.ref,))
        self.tracker.want(route)
        self.tracker.found(route)
        self.tracker.unwant(route.ref)
        self.tracker.resync([ROUTE.kind], [dataclasses.replace(
            ROUTE, requires=())])
        self.assertEqual((PLAIN.ref,),
                         self.tracker.existing(ROUTE.ref).requires)

    def test_what_was_read_before_gets_its_prerequisites(self):
        """As after a start, when OVN is loaded after the first reading."""
        self.tracker.resync([ROUTE.kind], [dataclasses.replace(
            ROUTE, requires=())])
        self.tracker.want(dataclasses.replace(ROUTE, requires=(PLAIN.ref,)))
        self.assertEqual((PLAIN.ref,),
                         self.tracker.existing(ROUTE.ref).requires)

    def test_resync_leaves_other_kinds_alone(self):
        self.tracker.found(PLAIN)
        self.tracker.resync(['kernel_route'], [])
        self.assertEqual([PLAIN], self.tracker.actual(['rule']))

    def test_resync_refuses_a_foreign_kind(self):
        self.assertRaises(ValueError, self.tracker.resync,
                          ['kernel_route'], [PLAIN])

    def test_a_difference_is_computed_again_after_a_change_alone(self):
        self.tracker.want(ROUTE)
        self.tracker.want(PLAIN)
        kinds = [ROUTE.kind]
        first = self.tracker.delta(kinds)
        # A change of another kind makes no difference.
        self.tracker.found(PLAIN)
        self.assertIs(first, self.tracker.delta(kinds))
        self.tracker.want(MOVED)
        self.assertEqual((MOVED,), self.tracker.delta(kinds).create)
        self.tracker.found(MOVED)
        self.assertFalse(self.tracker.delta(kinds))

    def test_known_refs(self):
        self.tracker.want(ROUTE)
        self.tracker.found(PLAIN)
        self.tracker.want(SYSCTL)
        self.assertEqual({ROUTE.ref, PLAIN.ref},
                         self.tracker.known_refs(['kernel_route', 'rule']))


def routes():
    return strategies.builds(
        resources.KernelRoute, strategies.just(254),
        strategies.sampled_from([f'192.0.2.{n}/32' for n in range(6)]),
        strategies.sampled_from(['br-a', 'br-b']))


class TrackerPropertyTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(150),
                         deadline=None, database=None)
    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.sampled_from(['want', 'unwant', 'found', 'gone',
                                 'apply', 'read']), routes()), max_size=40))
    def test_applying_the_difference_reaches_what_is_wanted(self, steps):
        # Whatever the history, the difference is exactly what lies between
        # the two sides.
        tracker, wanted, actual = tracking.Tracker(), {}, {}
        for verb, route in [*steps, ('apply', None)]:
            if verb == 'want':
                wanted[route.key] = route
                tracker.want(route)
            elif verb == 'unwant':
                wanted.pop(route.key, None)
                tracker.unwant(route.ref)
            elif verb == 'found':
                actual[route.key] = route
                tracker.found(route)
            elif verb == 'gone':
                actual.pop(route.key, None)
                tracker.removed(route.ref)
            elif verb == 'read':
                actual = {route.key: route}
                tracker.resync(['kernel_route'], [route])
            found = tracker.delta(['kernel_route'])
            self.assertEqual(
                {(actual.get(key), wanted.get(key))
                 for key in wanted.keys() | actual.keys()
                 if wanted.get(key) != actual.get(key)},
                {(None, resource) for resource in found.create} |
                set(found.update) |
                {(resource, None) for resource in found.delete})
            if verb == 'apply':
                for resource in found.delete:
                    del actual[resource.key]
                    tracker.removed(resource.ref)
                for resource in [*found.create,
                                 *(new for _old, new in found.update)]:
                    actual[resource.key] = resource
                    tracker.found(resource)
        self.assertEqual(wanted, actual)
