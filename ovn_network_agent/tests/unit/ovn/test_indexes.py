# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The index over rows."""

import types
import uuid

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
        self.assertNotIn(2, one.rows())
        self.assertEqual(1, len(one))

    @hypothesis.settings(max_examples=budget.examples(100),
                         deadline=None, database=None)
    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.integers(0, 5), strategies.none() |
        strategies.lists(strategies.sampled_from('abc'), unique=True))))
    def test_it_equals_one_that_is_rebuilt(self, changes):
        kept, rows = indexes.Index(lambda row: row), {}
        for number, row in changes:
            kept.update(number, row)
            if row is None:
                rows.pop(number, None)
            else:
                rows[number] = row
        rebuilt = indexes.Index(lambda row: row)
        rebuilt.rebuild(rows)
        for key in 'abc':
            self.assertEqual(rebuilt.find(key), kept.find(key))
        self.assertEqual(len(rows), len(kept))


class ReferencesTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(200), deadline=None,
                         database=None)
    @hypothesis.given(strategies.lists(strategies.lists(
        strategies.tuples(strategies.integers(0, 5), strategies.booleans()),
        unique_by=lambda reference: reference[0])))
    def test_references_come_and_go(self, states):
        """An equal reference may be the same object, or another one."""
        index, before = indexes.References('nat'), set()
        known = [uuid.UUID(int=number) for number in range(6)]
        for state in states:
            values = [types.SimpleNamespace(
                value=known[number] if same else uuid.UUID(int=number))
                for number, same in state]
            now = {value.value for value in values}
            self.assertEqual(before ^ now, index.update(
                1, types.SimpleNamespace(
                    _data={'nat': types.SimpleNamespace(values=values)})))
            self.assertEqual(now, set(index.keys()))
            before = now

    def test_one_of_many_is_hashed(self):
        index = indexes.References('nat')
        known = [_Counted() for _number in range(100)]
        for left in (known, [*known[:50], *known[51:]]):
            _Counted.hashed = 0
            index.update(1, types.SimpleNamespace(_data={
                'nat': types.SimpleNamespace(values=[
                    types.SimpleNamespace(value=each) for each in left])}))
        self.assertLess(_Counted.hashed, 10)


class _Counted:
    """Counts how often its objects are hashed."""

    hashed = 0

    def __hash__(self):
        _Counted.hashed += 1
        return id(self)
