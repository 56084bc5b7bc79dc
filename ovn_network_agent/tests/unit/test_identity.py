# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


import operator

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import identity
from ovn_network_agent.tests import budget

# (name, value): each is an object of its own, and some are equal.
PARTS = [(name, int(str(value))) for name in 'abcd' for value in (1, 1, 2)]


class DifferenceTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(200), deadline=None,
                         database=None)
    @hypothesis.given(*[strategies.lists(strategies.sampled_from(
        range(len(PARTS))), unique=True)] * 2)
    def test_what_one_side_alone_has(self, before, now):
        one, other = ([PARTS[at] for at in view] for view in (before, now))
        gone, come = identity.difference(one, other)
        self.assertCountEqual(set(before) - set(now),
                              [_place(part) for part in gone])
        self.assertCountEqual(set(now) - set(before),
                              [_place(part) for part in come])

    def test_equal_objects_are_not_the_same(self):
        kept, first, second = ['kept'], ['value'], ['value']
        gone, come = identity.difference((kept, first, kept),
                                         (kept, second, kept))
        self.assertIs(first, *gone)
        self.assertIs(second, *come)


def _place(part):
    """The number of an object in PARTS."""
    return next(at for at, each in enumerate(PARTS) if each is part)


class PartsTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(100), deadline=None,
                         database=None)
    @hypothesis.given(strategies.lists(strategies.lists(
        strategies.sampled_from(range(len(PARTS))),
        unique_by=lambda at: PARTS[at][0])))
    def test_what_comes_and_goes(self, views):
        kept = identity.Parts(operator.itemgetter(0))
        before = ()
        for view in views:
            now = tuple(PARTS[at] for at in view)
            come, gone = kept.take(now)
            # No part that has changed is left out.
            self.assertEqual(
                {name for name, _value in set(now) - set(before)},
                {name for name, _value in come} & {
                    name for name, _value in set(now) - set(before)})
            self.assertLessEqual({id(part) for part in come},
                                 {id(part) for part in now})
            self.assertEqual({name for name, _value in before} -
                             {name for name, _value in now},
                             {name for name, _value in gone})
            self.assertEqual(len(now), len(kept))
            before = now

    def test_the_same_is_not_new(self):
        kept = identity.Parts(operator.itemgetter(0))
        one, two, other = ('a', [1]), ('b', [2]), ('b', [2])
        self.assertEqual(([], []), kept.take(()))
        self.assertCountEqual([one, two], kept.take((one, two))[0])
        self.assertEqual(([], []), kept.take((two, one)))
        come, gone = kept.take((one, other))
        self.assertIs(other, come[0])
        self.assertEqual([], gone)
        kept.forget()
        self.assertEqual(2, len(kept.take((one, other))[0]))
