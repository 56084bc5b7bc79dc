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


import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.ovn import indexes
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
        gone, come = indexes.difference(one, other)
        self.assertCountEqual(set(before) - set(now),
                              [_place(part) for part in gone])
        self.assertCountEqual(set(now) - set(before),
                              [_place(part) for part in come])

    def test_equal_objects_are_not_the_same(self):
        kept, first, second = ['kept'], ['value'], ['value']
        gone, come = indexes.difference((kept, first, kept),
                                        (kept, second, kept))
        self.assertIs(first, *gone)
        self.assertIs(second, *come)


def _place(part):
    """The number of an object in PARTS."""
    return next(at for at, each in enumerate(PARTS) if each is part)
