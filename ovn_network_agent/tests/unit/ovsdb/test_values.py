# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The replica's values are those of python-ovs, for any JSON."""

import copy
import itertools
from unittest import mock
import uuid

import hypothesis
from hypothesis import strategies as st
from oslotest import base
from ovs.db import data
from ovs.db import idl as ovs_idl

from ovn_network_agent.ovsdb import replica
from ovn_network_agent.ovsdb import update_errors

TABLE = 'T'
UUID = ['uuid', str(uuid.UUID(int=7))]
# Each kind of type that a schema can have (RFC 7047, section 3.2).
COLUMNS = {
    'text': 'string',
    'short': {'key': {'type': 'string', 'maxLength': 2}},
    'long': {'key': {'type': 'string', 'minLength': 2}},
    'kind': {'key': {'type': 'string', 'enum': ['set', ['a', 'b']]}},
    'number': 'integer',
    'small': {'key': {'type': 'integer', 'minInteger': 0, 'maxInteger': 9}},
    'real': 'real',
    'flag': 'boolean',
    'reference': {'key': 'uuid'},
    'perhaps': {'key': 'string', 'min': 0, 'max': 1},
    'perhaps_kind': {'key': {'type': 'string', 'enum': ['set', ['a', 'b']]},
                     'min': 0, 'max': 1},
    'perhaps_number': {'key': 'integer', 'min': 0, 'max': 1},
    'texts': {'key': 'string', 'min': 0, 'max': 'unlimited'},
    'some_texts': {'key': 'string', 'min': 1, 'max': 2},
    'references': {'key': 'uuid', 'min': 0, 'max': 'unlimited'},
    'map': {'key': 'string', 'value': 'string', 'min': 0,
            'max': 'unlimited'},
    'small_map': {'key': 'string', 'value': 'string', 'min': 0, 'max': 1},
    'one_pair': {'key': 'string', 'value': 'string'},
    'map_of_kinds': {'key': 'string', 'value': {
        'type': 'string', 'enum': ['set', ['a', 'b']]}, 'min': 0,
                     'max': 'unlimited'},
    'map_of_numbers': {'key': 'string', 'value': 'integer', 'min': 0,
                       'max': 'unlimited'},
}
ATOMS = ('', 'a', 'b', 'abc', 0, 1, 7, 12, 1.0, 0.5, True, False, UUID)
VALUES = (
    *ATOMS, None, {}, [], ['set'], ['map'], ['set', []], ['map', []],
    ['set', [], []], ['uuid', 'x'], ['set', 'a'], ['map', {}],
    *(['set', [one]] for one in ATOMS),
    *(['set', [one, other]] for one, other in itertools.product(
        ('a', 'b', 1, UUID), repeat=2)),
    *(['map', [[one, other]]] for one, other in itertools.product(
        ('', 'a', 1, None), ('', 'a', 7, None))),
    ['map', [['a', 'b'], ['b', 'a']]], ['map', [['a', 'b'], ['a', 'a']]],
    ['map', [['a']]], ['map', ['a', 'b']], ['map', [['a', 'b', 'c']]])


class _Nobody:
    """What the replica tells, and nobody hears."""

    def notify(self, *_arguments):
        """A row has changed."""

    def mark(self, *_arguments):
        """Likewise."""


def _replica():
    helper = ovs_idl.SchemaHelper(None, {
        'name': 'D', 'version': '1.0.0', 'tables': {TABLE: {'columns': {
            name: {'type': type_} for name, type_ in COLUMNS.items()}}}})
    helper.register_all()
    found = replica.Idl('unix:/nowhere', helper, _Nobody(), _Nobody(),
                        lambda: None, lambda: None, 0)
    # One that counts not, as the columns of Chassis_Private's reports.
    found.tables[TABLE].columns['flag'].alert = False
    return found


def _take(idl, take, rows):
    """Take in updates of one row, one after another.

    :returns: list, for each update: (whether the row has changed, complaints,
        the content)
    """
    table, found = idl.tables[TABLE], []
    row = ovs_idl.Row(idl, table, uuid.UUID(int=1),
                      ovs_idl.ColumnDefaultDict(table))
    for update in rows:
        heard = []
        update_errors.COMPLAINTS.collect(heard)
        try:
            changed = take(table, row, copy.deepcopy(update))
        finally:
            update_errors.COMPLAINTS.collect(None)
        found.append((changed, heard, {
            name: _shown(row._data[name]) for name in COLUMNS}))
    return found


def _shown(datum):
    """A value with the types of its parts, in their order."""
    return [(repr(_plain(key)), repr(_plain(value)))
            for key, value in datum.values.items()]


def _plain(atom):
    """The value of an atom; that of a default atom is an atom itself."""
    while isinstance(atom, data.Atom):
        atom = atom.value
    return atom


class ValuesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        # The complaints of thousands of rows are for the lists alone.
        self.enterContext(mock.patch.object(update_errors, 'LOG'))

    def assert_same(self, rows):
        ours, theirs = _replica(), _replica()
        library = ovs_idl.Idl._Idl__row_update
        self.assertEqual(
            _take(theirs, lambda *update: library(theirs, *update), rows),
            _take(ours, ours._Idl__row_update, rows))

    def test_each_value_in_each_column(self):
        for name in COLUMNS:
            self.assert_same([{name: value} for value in VALUES])

    def test_a_number_that_equals_a_boolean(self):
        self.assert_same([{'flag': ['set', [False]]}, {'flag': ['set', [0]]}])
        self.assert_same([{'flag': False}, {'flag': 0}])
        self.assert_same([{'number': 1}, {'number': 1.0}, {'number': True}])

    def test_equal_scalars_are_there_once(self):
        """Thousands of rows have the same type, or the same datapath."""
        idl = _replica()
        table, rows = idl.tables[TABLE], []
        for number in range(2):
            row = ovs_idl.Row(idl, table, uuid.UUID(int=number),
                              ovs_idl.ColumnDefaultDict(table))
            idl._Idl__row_update(table, row, copy.deepcopy({
                'kind': 'a', 'text': 'abc', 'reference': UUID, 'number': 7,
                'texts': 'abc', 'map': ['map', [['a', 'b']]]}))
            rows.append(row._data)
        one, other = rows
        for name in ('kind', 'text', 'reference', 'number'):
            self.assertIs(one[name], other[name])
        # The library changes these in place.
        for name in ('texts', 'map'):
            self.assertIsNot(one[name], other[name])
            self.assertIsNot(one[name].values, other[name].values)

    def test_the_columns_that_a_new_row_lacks(self):
        ours, theirs = _replica(), _replica()
        library = ovs_idl.Idl._Idl__add_default
        for some in (), ('text',), ('reference', 'map'), tuple(COLUMNS):
            expected, found = [dict.fromkeys(some, 'x') for _n in range(2)]
            library(theirs, theirs.tables[TABLE], expected)
            ours._Idl__add_default(ours.tables[TABLE], found)
            self.assertEqual(expected, found)
            self.assertEqual(expected and {
                name: type(value) for name, value in expected.items()},
                {name: type(value) for name, value in found.items()})
        self.assertIn('reference', found)

    def test_unknown_columns(self):
        self.assert_same([{'other': 1, 'text': 'a'}])

    @hypothesis.given(st.lists(st.dictionaries(
        st.sampled_from(sorted(COLUMNS)), st.sampled_from(VALUES))))
    def test_rows_in_any_order(self, rows):
        self.assert_same(rows)
