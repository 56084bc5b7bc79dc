# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The index over rows, and functions of rows that ask each other."""

import types
import uuid

import hypothesis
from hypothesis import stateful
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import queries
from ovn_network_agent.tests import budget

PLACE = ('nb', 'Person')
NAMES = strategies.sampled_from('abcd')
UUIDS = strategies.integers(1, 6)


class People:
    """Functions of rows that ask each other."""

    def __init__(self, rows):
        self.rows = rows
        self.queries = queries.Queries({PLACE: {
            'name': indexes.Index(lambda row: [row.name]),
            'friend': indexes.Index(lambda row: row.friends)}})
        self.queries.replace({'nb': {'Person': rows}, 'sb': {}})
        self.computed = []

    def title(self, uuid):
        self.computed.append(('title', uuid))
        row = self.queries.row(*PLACE, uuid)
        return '' if row is None else row.title

    def titles(self, name):
        """Of all people of a name and of those who name them as friends."""
        self.computed.append(('titles', name))
        found = (self.queries.find(*PLACE, 'name').find(name) |
                 self.queries.find(*PLACE, 'friend').find(name))
        return sorted((uuid, self.queries.ask(self.title, uuid))
                      for uuid in found)

    def first(self, name):
        """A result that seldom differs."""
        self.computed.append(('first', name))
        titles = self.queries.ask(self.titles, name)
        return [titles[0][1]] if titles else []

    def everybody(self):
        self.computed.append(('everybody',))
        return {name: self.queries.ask(self.first, name)
                for name in self.queries.find(*PLACE, 'name').keys()}

    def friends(self, uuid):
        return self.queries.find(*PLACE, 'friend').keys_of(uuid)

    def answers(self):
        return [self.queries.ask(self.everybody),
                *(self.queries.ask(self.friends, uuid)
                  for uuid in range(1, 7))]


class History(stateful.RuleBasedStateMachine):
    """Rows come, change and go; the answers are those of somebody new."""

    def __init__(self):
        super().__init__()
        self.rows = {}
        self.kept = People(self.rows)
        self.last = self.kept.answers()

    @stateful.initialize(names=strategies.sets(strategies.sampled_from(
        ['title', 'titles', 'first', 'friends'])))
    def read_by_many(self, names):
        for name in names:
            self.kept.queries.read_by_many(getattr(self.kept, name))

    @stateful.rule(uuid=UUIDS, name=NAMES, title=strategies.sampled_from(
        ['', 'Dr']), friends=strategies.sets(NAMES, max_size=2))
    def row(self, uuid, name, title, friends):
        self.rows[uuid] = types.SimpleNamespace(
            uuid=uuid, name=name, title=title, friends=sorted(friends))
        self.kept.queries.apply_change(PLACE, uuid)

    another_row = row

    @stateful.rule(uuid=UUIDS)
    def gone(self, uuid):
        self.rows.pop(uuid, None)
        self.kept.queries.apply_change(PLACE, uuid)

    @stateful.rule(uuid=UUIDS)
    def again(self, uuid):
        self.kept.queries.apply_change(PLACE, uuid, recompute=True)

    @stateful.rule(whole=strategies.booleans())
    def look(self, whole):
        if whole:
            self.kept.queries.rebuild()
        fresh = People(self.rows)
        fresh.queries.rebuild()
        before, self.last = self.last, self.kept.answers()
        assert self.last == fresh.answers()
        for one, other in zip(before, self.last, strict=True):
            # An equal result is the same object.
            assert (one is other) == (one == other)
        # Nothing is kept that nobody asks for any more.
        for kept in ('_results', '_readers'):
            assert len(getattr(self.kept.queries, kept)) == len(
                getattr(fresh.queries, kept))

    look_again = look


History.TestCase.settings = hypothesis.settings(
    max_examples=budget.examples(200), deadline=None, database=None)


class HistoryTest(History.TestCase):
    pass


def person(uuid, name, title):
    return types.SimpleNamespace(uuid=uuid, name=name, title=title, friends=[])


class QueriesTest(base.BaseTestCase):

    def test_only_what_depends_on_a_change_is_computed(self):
        rows = {uuid: person(uuid, name, name.upper())
                for uuid, name in enumerate('aab')}
        people = People(rows)
        people.queries.rebuild()
        people.answers()
        for change, wanted in (
                # The first title of the name is the same.
                ((1, 'a', 'x'), [('title', 1), ('titles', 'a'),
                                 ('first', 'a')]),
                ((2, 'b', 'x'), [('title', 2), ('titles', 'b'),
                                 ('first', 'b'), ('everybody',)]),
                ((2, 'b', 'x'), [('title', 2)])):
            del people.computed[:]
            rows[change[0]] = person(*change)
            people.queries.apply_change(PLACE, change[0])
            people.answers()
            self.assertEqual(wanted, people.computed, change)

    def test_readers_of_an_equal_result_are_not_looked_at(self):
        rows = {uuid: person(uuid, 'a', 'Dr') for uuid in range(2)}
        people = People(rows)
        people.queries.read_by_many(people.first)
        people.queries.rebuild()
        people.answers()
        for title, wanted in (('', set()), ('x', {()})):
            rows[1].title, rows[0].title = '', title or 'Dr'
            for key in rows:
                people.queries.apply_change(PLACE, key)
            self.assertEqual(wanted, people.queries.outdated(people.everybody))
            self.assertEqual({'a': [title or 'Dr']}, people.answers()[0])

    def test_a_function_that_raises_is_called_again(self):
        people = People({})

        def failing():
            people.computed.append('called')
            raise ValueError

        for _time in range(2):
            self.assertRaises(ValueError, people.queries.ask, failing)
        self.assertEqual(2, people.computed.count('called'))


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
