# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Subjects that sources make of rows: as if made of all rows afresh."""

import collections
import dataclasses
import types

import fixtures
from hypothesis import settings as hypothesis
from hypothesis import stateful
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.drivers import source as drivers
from ovn_network_agent.ovn import sources
from ovn_network_agent.tests import budget

PORT, SWITCH = ('nb', 'Port'), ('sb', 'Switch')
NAMES = ('a', 'b', 'c')


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """Ports of one name, with the tags of their switches in SB."""

    name: str
    places: tuple


class Machines(drivers.Source):
    """Joins two tables of two databases."""

    KIND = Machine
    INDEXES = {PORT: {'name': lambda row: [row.name]},
               SWITCH: {'label': lambda row: row.labels}}
    NAMES = ('nb', 'Port', 'name')

    def build(self, name, find):
        found = [(port.switch, [switch.tag for switch in find(
            'sb', 'Switch', 'label', port.switch)])
                 for port in find(*self.NAMES, name)]
        if any(tags == [13] for _switch, tags in found):
            raise ValueError('the number 13')
        if not any(tags for _switch, tags in found):
            return None
        return Machine(name, tuple(sorted((switch, *sorted(tags))
                                          for switch, tags in found)))


class History(stateful.RuleBasedStateMachine):
    """Rows come, change and go, of both tables, also many at once."""

    def __init__(self):
        super().__init__()
        self.tables = {'nb': {'Port': {}}, 'sb': {'Switch': {}}}
        self.dirty = collections.defaultdict(set)
        self.made = sources.Sources([Machines()])
        self.made.update(self.tables, {}, True)

    def change(self, place, uuid, **values):
        rows = self.tables[place[0]][place[1]]
        if values:
            rows[uuid] = types.SimpleNamespace(uuid=uuid, **values)
        else:
            rows.pop(uuid, None)
        self.dirty[place].add(uuid)

    @stateful.rule(uuid=strategies.integers(0, 4),
                   name=strategies.sampled_from(NAMES),
                   switch=strategies.sampled_from(NAMES))
    def port(self, uuid, name, switch):
        self.change(PORT, uuid, name=name, switch=switch)

    @stateful.rule(uuid=strategies.integers(0, 4),
                   labels=strategies.sets(strategies.sampled_from(NAMES)),
                   tag=strategies.sampled_from((1, 2, 13)))
    def switch(self, uuid, labels, tag):
        self.change(SWITCH, uuid, labels=sorted(labels), tag=tag)

    @stateful.rule(place=strategies.sampled_from((PORT, SWITCH)),
                   uuid=strategies.integers(0, 4))
    def gone(self, place, uuid):
        self.change(place, uuid)

    @stateful.rule(place=strategies.sampled_from((PORT, SWITCH)))
    def gone_without_an_event(self, place):
        """As at a reconnection, of a row whose change is known."""
        rows = self.tables[place[0]][place[1]]
        if not self.dirty[place] and rows:
            del rows[min(rows)]
            self.look(whole=False)

    @stateful.rule(whole=strategies.sampled_from((False, False, False, True)))
    def look(self, whole):
        before = self.made.update(self.tables, {}, False)[Machine]
        now = self.made.update(self.tables, self.dirty, whole)[Machine]
        self.present = now
        self.dirty.clear()
        fresh = sources.Sources([Machines()])
        wanted = fresh.update(self.tables, {}, True)[Machine]
        assert self.made.problems == fresh.problems
        failed = {f'Machine {name}' for name in self.made._sources[0].failed}
        assert {name: each for name, each in now.items()
                if name not in failed} == wanted
        for name in failed:
            # What was there before the source raised is kept.
            assert now.get(name) is before.get(name)
        for name, each in now.items():
            assert each is before.get(name) or each != before.get(name)
        assert (now is before) == (now == before)

    look_again = look


class SourcesTest(base.BaseTestCase):

    def test_random_histories(self):
        self.useFixture(fixtures.FakeLogger())
        stateful.run_state_machine_as_test(History, settings=hypothesis(
            max_examples=budget.examples(60), stateful_step_count=30,
            deadline=None, database=None))

    def test_a_row_that_is_gone_without_an_event(self):
        history = History()
        history.port(uuid=1, name='a', switch='b')
        history.switch(uuid=1, labels={'b'}, tag=1)
        history.look(whole=False)
        self.assertEqual({'Machine a'}, set(history.present))
        history.gone_without_an_event(place=PORT)
        self.assertEqual({}, history.present)

    def test_a_row_on_which_keys_fail_costs_only_itself(self):
        self.useFixture(fixtures.FakeLogger())
        rows = {1: types.SimpleNamespace(uuid=1, name='a', switch='x'),
                2: types.SimpleNamespace(uuid=2)}
        made = sources.Sources([Machines()]).update(
            {'nb': {'Port': rows}, 'sb': {'Switch': {
                3: types.SimpleNamespace(uuid=3, labels=['x'], tag=7)}}},
            {}, True)
        self.assertEqual({'Machine a': {'': Machine('a', (('x', 7),))}},
                         made[Machine])
