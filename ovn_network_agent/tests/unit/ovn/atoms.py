# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows as python-ovs has them, of which nothing is an attribute."""

import types
import uuid

from ovs.db import data
from ovs.db import types as ovs_types

from ovn_network_agent.ovn import sources


def _many(kind, **more):
    return ovs_types.Type.from_json(
        {'key': kind, 'min': 0, 'max': 'unlimited', **more})


_MAP = _many('string', value='string')
_LISTS = {str: _many('string'), uuid.UUID: _many('uuid'),
          int: _many('integer')}
_TEXT = ovs_types.Type.from_json('string')


def made(uuid, **columns):
    """A row of some columns.

    :param uuid: of the row
    :param columns: a text; a list of texts, UUIDs or integers; or a dict of
        texts
    """
    def kind(value):
        if isinstance(value, dict):
            return _MAP
        return _LISTS[type(value[0]) if value else str] if isinstance(
            value, list) else _TEXT
    return types.SimpleNamespace(uuid=uuid, _data={
        name: data.Datum.from_python(kind(value), value, lambda each: each)
        for name, value in columns.items()})


class Tables:
    """Tables of NB and SB, and a source that makes subjects of their rows.

    :param files: what the source reads beside them
    """

    def __init__(self, source, files=None):
        self.tables = {'nb': {}, 'sb': {}}
        for database, table in source.INDEXES:
            if database in self.tables:
                self.tables[database][table] = {}
        self.dirty = {}
        self.kind = source.KIND
        self.made = sources.Sources([source], files or {})

    def set(self, table, key, columns):
        """A new or changed row; without columns, one that is gone."""
        database = 'nb' if table in self.tables['nb'] else 'sb'
        rows = self.tables[database][table]
        if columns:
            rows[key] = made(key, **columns)
        else:
            rows.pop(key, None)
        self.dirty.setdefault((database, table), set()).add(key)

    def subjects(self, whole=False):
        """What the source makes of the present rows, in no order."""
        found = self.made.update(self.tables, self.dirty, whole)[self.kind]
        self.dirty = {}
        return found
