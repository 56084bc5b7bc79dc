# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""OVSDB databases without a server.

Rows that nothing refers to go, and so do weak references to rows that are gone
(RFC 7047, 3.2).
"""

import itertools
import uuid

from ovs.db import data
from ovs.db import error
from ovs.db import types as ovs_types

from ovn_network_agent.tests.functional.ovsdb import base as operations
from ovn_network_agent.tests.unit.ovn import schemas

_UUID = ovs_types.Type.from_json('uuid')


class _Waits(Exception):
    """Rows are no longer what somebody has seen."""


class Server:
    """The content of one database.

    :param name: 'nb', 'sb' or 'ovs'
    :param change_schema: function that changes the tables of the schema
    """

    def __init__(self, name, change_schema=None):
        self.name = name
        self.schema = schemas.of(name)
        if change_schema:
            change_schema(self.schema['tables'])
        self._types = {table: {'_uuid': _UUID, **{
            column: ovs_types.Type.from_json(each['type'])
            for column, each in what['columns'].items()}}
            for table, what in self.schema['tables'].items()}
        self.tables = {table: {} for table in self._types}
        self.replicas = []

    def transact(self, *steps):
        """See :meth:`functional.ovsdb.base.Server.transact`.

        An insert may also have the ``key`` of its row.
        """
        handles = {'': None}  # python-ovs takes an empty dict for none
        results = [getattr(self, '_' + each['op'])(
            handles, **{name.replace('-', '_'): value
                        for name, value in each.items() if name != 'op'})
            for each in steps]
        changed = {step['table'] for step in steps if step['op'] not in (
            'select', 'wait', 'comment')}
        if changed:
            changed |= self._collect()
            for each in self.replicas:
                each.follow(changed)
        return results

    def attempt(self, *steps):
        """A transaction of an agent, whole or not at all.

        :returns: the results, of which one has the error
        """
        before = {table: {key: dict(row) for key, row in rows.items()}
                  for table, rows in self.tables.items()}
        try:
            return self.transact(*steps)
        except (_Waits, error.Error) as e:
            self.tables = before
            return [{'error': 'timed out' if isinstance(e, _Waits) else
                     'constraint violation', 'details': str(e)}]

    def rows(self, table, *columns, where=()):
        """Rows of a table in the order in which they came, in JSON."""
        return self._select({}, table, where, columns)['rows']

    def content(self):
        """Everything in the database."""
        return {table: self.rows(table) for table in self.tables}

    def insert(self, table, **row):
        """One row; a dict is a map, and a list a set, also in update()."""
        result, = self.transact(operations.insert(table, **_in_json(row)))
        return result['uuid']

    def update(self, table, where, **row):
        """Change the rows whose columns have these values."""
        self.transact(operations.update(table, where, **_in_json(row)))

    def delete(self, table, **where):
        """Delete such rows."""
        self.transact(operations.delete(table, where))

    def sent(self, table, columns, clauses):
        """The columns of those rows that match a clause, see RFC 7047 4.1.12.

        :param clauses: [True] for all rows
        """
        return {key: {column: row[column] for column in columns}
                for key, row in self.tables[table].items()
                if clauses == [True] or any(
                    self._holds(table, row, *clause, {})
                    for clause in clauses if clause is not False)}

    # -- operations -------------------------------------------------------

    def _insert(self, handles, table, row, uuid_name=None, key=None):
        key = handles.setdefault(uuid_name or object(), key or uuid.uuid4())
        kinds = self._types[table]
        self.tables[table][key] = {
            **{name: _default(kind) for name, kind in kinds.items()},
            **{name: data.Datum.from_json(kinds[name], value, handles)
               for name, value in row.items()},
            '_uuid': data.Datum(_UUID, {data.Atom(ovs_types.UuidType, key):
                                        None})}
        return {'uuid': ['uuid', str(key)]}

    def _update(self, handles, table, where, row):
        kinds = self._types[table]
        for each in self._found(handles, table, where):
            each.update({
                name: data.Datum.from_json(kinds[name], value, handles)
                for name, value in row.items()})
        return {}

    def _mutate(self, handles, table, where, mutations):
        for row, (column, how, value) in itertools.product(
                self._found(handles, table, where), mutations):
            kind = self._types[table][column]
            part = self._part(kind, value, handles)
            now = row[column].values
            if how == 'insert':
                now = {**part, **now}
            else:
                now = {key: each for key, each in now.items()
                       if key not in part or part[key] not in (None, each)}
            row[column] = data.Datum(kind, now)
        return {}

    def _delete(self, handles, table, where):
        for row in self._found(handles, table, where):
            del self.tables[table][_key(row)]
        return {}

    def _select(self, handles, table, where, columns=()):
        return {'rows': [
            {column: row[column].to_json() for column in columns or row}
            for row in self._found(handles, table, where)]}

    def _wait(self, handles, table, where, columns, rows, **_how):
        """Refuse the transaction unless the rows are as its author saw them.
        """
        if [{column: self._part(self._types[table][column], row[column], {})
             for column in columns} for row in rows] != [
                 {column: row[column].values for column in columns}
                 for row in self._found(handles, table, where)]:
            raise _Waits(table)
        return {}

    def _comment(self, handles, comment):
        return {}

    def _found(self, handles, table, where):
        return [row for row in self.tables[table].values() if all(
            self._holds(table, row, *clause, handles) for clause in where)]

    def _holds(self, table, row, column, function, value, handles):
        wanted = self._part(self._types[table][column], value, handles)
        present = row[column].values
        if function == 'includes':
            return all(key in present and present[key] == each
                       for key, each in wanted.items())
        assert function == '==', function
        return present == wanted

    @staticmethod
    def _part(kind, value, handles):
        """The atoms of some values of a column; for a map, keys may do."""
        of_keys = kind.is_map() and value[0] == 'set'
        return data.Datum.from_json(ovs_types.Type(
            kind.key, None if of_keys else kind.value, 0, 1 << 31),
            value, handles).values

    # -- references -------------------------------------------------------

    def _references(self, weak):
        """(table, row, column, keys that it refers to, rows of the other)."""
        for table, kinds in self._types.items():
            for column, kind in kinds.items():
                if kind.key.ref_table_name and (
                        kind.key.ref_type == 'weak') is weak:
                    other = self.tables.get(kind.key.ref_table_name, {})
                    for row in self.tables[table].values():
                        yield table, row, column, {
                            atom.value for atom in row[column].values}, other

    def _collect(self):
        """Take away what has to go; the names of the tables that change."""
        loose = [table for table, what in self.schema['tables'].items()
                 if not what['isRoot']]
        changed, gone = set(), True
        while gone:
            held = set()
            for _table, row, column, keys, other in self._references(False):
                assert keys <= other.keys(), f'{column} of {row} is in use'
                held |= keys
            gone = [(table, key) for table in loose
                    for key in self.tables[table].keys() - held]
            for table, key in gone:
                del self.tables[table][key]
                changed.add(table)
        for table, row, column, keys, other in self._references(True):
            if not keys <= other.keys():
                row[column] = data.Datum(row[column].type, {
                    atom: None for atom in row[column].values
                    if atom.value in other})
                changed.add(table)
        return changed


def _in_json(row):
    return {column: operations.ovsdb_dict(value) if isinstance(value, dict)
            else operations.ovsdb_set(value) if isinstance(value, list) and (
                value[:1] not in (['uuid'], ['set'])) else value
            for column, value in row.items()}


def _default(kind):
    atomic = kind.key.type
    return data.Datum(kind, {data.Atom(atomic, atomic.default): None}
                      if kind.n_min else {})


def _key(row):
    return next(iter(row['_uuid'].values)).value
