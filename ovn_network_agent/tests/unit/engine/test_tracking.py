# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Desired and actual side by side."""

import dataclasses

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.engine import tracking
from ovn_network_agent.tests import budget

ROUTE = resources.KernelRoute(254, '198.51.100.10/32', 'br-ex')
MOVED = resources.KernelRoute(254, '198.51.100.10/32', 'br-other')
RULE = resources.Rule(1000, 200, dst='198.51.100.10/32')
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
        found = [dataclasses.replace(ROUTE), RULE]
        self.tracker.resync(KINDS, found)
        self.assertIs(ROUTE, self.tracker.existing(ROUTE.ref))
        self.assertIs(ROUTE, found[0])
        self.assertIs(RULE, self.tracker.existing(RULE.ref))
        self.assertEqual(((), (), (RULE,)), self.delta())

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

    def test_resync_replaces_what_was_believed(self):
        self.tracker.want(ROUTE)
        self.tracker.found(ROUTE)
        self.tracker.found(RULE)
        self.tracker.resync(['kernel_route', 'rule'], [MOVED])
        self.assertEqual(((), ((MOVED, ROUTE),), ()), self.delta())
        self.assertIsNone(self.tracker.existing(RULE.ref))

    def test_what_goes_keeps_its_prerequisites(self):
        """They go after it, also if it is read again meanwhile."""
        route = dataclasses.replace(ROUTE, requires=(RULE.ref,))
        self.tracker.want(route)
        self.tracker.found(route)
        self.tracker.unwant(route.ref)
        self.tracker.resync([ROUTE.kind], [dataclasses.replace(
            ROUTE, requires=())])
        self.assertEqual((RULE.ref,),
                         self.tracker.existing(ROUTE.ref).requires)

    def test_what_was_read_before_gets_its_prerequisites(self):
        """As after a start, when OVN is loaded after the first reading."""
        self.tracker.resync([ROUTE.kind], [dataclasses.replace(
            ROUTE, requires=())])
        self.tracker.want(dataclasses.replace(ROUTE, requires=(RULE.ref,)))
        self.assertEqual((RULE.ref,),
                         self.tracker.existing(ROUTE.ref).requires)

    def test_resync_leaves_other_kinds_alone(self):
        self.tracker.found(RULE)
        self.tracker.resync(['kernel_route'], [])
        self.assertEqual([RULE], self.tracker.actual(['rule']))

    def test_resync_refuses_a_foreign_kind(self):
        self.assertRaises(ValueError, self.tracker.resync,
                          ['kernel_route'], [RULE])

    def test_a_difference_is_computed_again_after_a_change_alone(self):
        self.tracker.want(ROUTE)
        self.tracker.want(RULE)
        kinds = [ROUTE.kind]
        first = self.tracker.delta(kinds)
        # A change of another kind makes no difference.
        self.tracker.found(RULE)
        self.assertIs(first, self.tracker.delta(kinds))
        self.tracker.want(MOVED)
        self.assertEqual((MOVED,), self.tracker.delta(kinds).create)
        self.tracker.found(MOVED)
        self.assertFalse(self.tracker.delta(kinds))

    def test_known_refs(self):
        self.tracker.want(ROUTE)
        self.tracker.found(RULE)
        self.tracker.want(SYSCTL)
        self.assertEqual({ROUTE.ref, RULE.ref},
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
                tracker.gone(route.ref)
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
                    tracker.gone(resource.ref)
                for resource in [*found.create,
                                 *(new for _old, new in found.update)]:
                    actual[resource.key] = resource
                    tracker.found(resource)
        self.assertEqual(wanted, actual)
