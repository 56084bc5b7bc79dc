# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The same seed makes the same plan; each action has its turn."""

import json
import random
import unittest

from lab.chaos import __main__ as command
from lab.chaos import actions
from lab.chaos import planning
from lab.chaos import profiles

_MANY = 200
# What issue 14.6 asks for at least.
_LEAST = 30


def first(seed, profile='static', count=_MANY, only=()):
    """The first lines of a plan, list of text."""
    chosen = profiles.PROFILES[profile]
    plan = planning.plan(seed, chosen, planning.permitted(
        actions.ACTIONS, chosen, only))
    return [str(next(plan)) for _number in range(count)]


class PlanTest(unittest.TestCase):

    def test_same_seed_same_plan(self):
        for profile in profiles.PROFILES:
            with self.subTest(profile):
                random.seed(1)
                once = first(7, profile)
                random.seed(2)
                self.assertEqual(once, first(7, profile))

    def test_other_seed_other_plan(self):
        self.assertNotEqual(first(1), first(2))

    def test_a_longer_run_begins_like_a_shorter_one(self):
        self.assertEqual(first(3, count=20), first(3)[:20])

    def test_all_actions_have_their_turn(self):
        for name, profile in profiles.PROFILES.items():
            permitted = planning.permitted(actions.ACTIONS, profile)
            plan = planning.plan(5, profile, permitted)
            for _round in range(2):
                played = [next(plan).action.name for _one in permitted]
                with self.subTest(name):
                    self.assertEqual({one.name for one in permitted},
                                     set(played))

    def test_parameters(self):
        """They are among the choices, and JSON can write them."""
        profile = profiles.PROFILES['three-gateways']
        plan = planning.plan(1, profile, planning.permitted(
            actions.ACTIONS, profile))
        for _number in range(_MANY):
            planned = next(plan)
            action, chosen = planned.action, dict(planned.parameters)
            json.dumps(chosen)
            self.assertIn(planned.target, action.targets(profile))
            least, most = action.seconds
            self.assertEqual(bool(most), 'seconds' in chosen)
            self.assertTrue(least <= chosen.pop('seconds', least) <= most)
            self.assertEqual(set(action.choices), set(chosen))
            for name, value in chosen.items():
                self.assertIn(value, action.choices[name])


class PermittedTest(unittest.TestCase):

    def names(self, profile, only=()):
        return {one.name for one in planning.permitted(
            actions.ACTIONS, profiles.PROFILES[profile], only)}

    def test_enough_actions(self):
        for name in profiles.PROFILES:
            self.assertGreaterEqual(len(self.names(name)), _LEAST, name)

    def test_profiles_name_actions(self):
        for name, profile in profiles.PROFILES.items():
            with self.subTest(name):
                self.assertLessEqual(set(profile.without),
                                     actions.ACTIONS.keys())
                self.assertEqual(profile.gateways, len(profile.methods))

    def test_without_routers(self):
        self.assertNotIn('priority', self.names('port-forward-only'))
        self.assertIn('drift-nft', self.names('port-forward-only'))

    def test_only(self):
        self.assertEqual({'nb', 'sb'}, self.names('static', ['sb', 'nb']))

    def test_refused(self):
        for only in ('nbx',), ('vrf',):
            with self.subTest(only), self.assertRaises(ValueError):
                self.names('default-vrf', only)


class CommandTest(unittest.TestCase):

    def test_unknown_action(self):
        with self.assertRaises(SystemExit) as refused:
            command.main(['--only', 'no-such-action'])
        self.assertEqual(2, refused.exception.code)
