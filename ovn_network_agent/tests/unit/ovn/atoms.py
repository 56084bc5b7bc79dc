# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows as python-ovs has them, of which nothing is an attribute."""

import types
import uuid

from ovs.db import data
from ovs.db import types as ovs_types


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
