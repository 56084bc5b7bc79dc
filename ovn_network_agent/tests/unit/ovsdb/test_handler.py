# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import types

import hypothesis
from hypothesis import strategies
from oslotest import base
from ovsdbapp.backend.ovs_idl import event as ovsdb_event

from ovn_network_agent.ovsdb import replica
from ovn_network_agent.tests import budget

TABLES = ('NAT', 'Logical_Router')


class Event(ovsdb_event.RowEvent):
    """An event of one table and verb."""

    def __init__(self, number, table, verb):
        super().__init__((verb,), table, None)
        self.priority = 10 * (number % 2)
        self.event_name = f'{number:d} {table} {verb}'

    def run(self, event, row, old):
        """Nothing."""


EVENTS = [Event(number, table, verb)
          for number, (table, verb) in enumerate(
              (table, verb) for table in TABLES for verb in
              (Event.ROW_CREATE, Event.ROW_UPDATE, Event.ROW_DELETE))]


class HandlerTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(50), deadline=None,
                         database=None)
    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.booleans(), strategies.booleans(),
        strategies.lists(strategies.sampled_from(EVENTS)))))
    def test_a_row_has_the_same_events_as_with_the_library(self, changes):
        ours, library = (replica.Handler(), ovsdb_event.RowEventHandler())
        try:
            for watched, together, events in changes:
                for handler in (ours, library):
                    self.change(handler, watched, together, events)
                for table in TABLES:
                    self.compare(ours, library, table)
        finally:
            ours.stop()
            library.shutdown()

    @staticmethod
    def change(handler, watched, together, events):
        if together:
            (handler.watch_events if watched
             else handler.unwatch_events)(events)
            return
        for event in events:
            (handler.watch_event if watched else handler.unwatch_event)(event)

    def compare(self, ours, library, table):
        row = types.SimpleNamespace(_table=types.SimpleNamespace(name=table))
        for verb in (Event.ROW_CREATE, Event.ROW_UPDATE, Event.ROW_DELETE):
            found, expected = (handler.matching_events(verb, row, None)
                               for handler in (ours, library))
            self.assertCountEqual(expected, found)
            self.assertEqual([each.priority for each in expected],
                             [each.priority for each in found])
