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

"""The index over rows."""

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.ovn import indexes
from ovn_network_agent.tests import budget


class IndexTest(base.BaseTestCase):

    def test_rows_come_change_and_go(self):
        one = indexes.Index(lambda row: row)
        one.update(1, ['a', 'b'])
        one.update(2, ['b'])
        self.assertEqual({1, 2}, one.find('b'))
        self.assertEqual(1, one.first('b'))
        self.assertEqual(('a', 'b'), one.keys_of(1))
        one.update(1, ['c'])
        self.assertEqual(frozenset(), one.find('a'))
        self.assertIsNone(one.first('a'))
        one.update(2, None)
        self.assertFalse(one.covers(2))
        self.assertEqual(1, len(one))

    @hypothesis.settings(max_examples=budget.examples(100),
                         deadline=None, database=None)
    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.integers(0, 5), strategies.none() |
        strategies.lists(strategies.sampled_from('abc'), unique=True))))
    def test_it_equals_one_that_is_rebuilt(self, changes):
        kept, rows = indexes.Index(lambda row: row), {}
        for uuid, row in changes:
            kept.update(uuid, row)
            if row is None:
                rows.pop(uuid, None)
            else:
                rows[uuid] = row
        rebuilt = indexes.Index(lambda row: row)
        rebuilt.rebuild(rows)
        for key in 'abc':
            self.assertEqual(rebuilt.find(key), kept.find(key))
        self.assertEqual(len(rows), len(kept))
