# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows as python-ovs has them, of which nothing is an attribute."""

import types

from ovs.db import data
from ovs.db import types as ovs_types

_TEXT = ovs_types.Type.from_json('string')
_TEXTS = ovs_types.Type.from_json(
    {'key': 'string', 'min': 0, 'max': 'unlimited'})


def made(uuid, **texts):
    """A row with some columns of type string.

    :param uuid: of the row
    :param texts: the columns and their values, text or a list of texts
    """
    return types.SimpleNamespace(uuid=uuid, _data={
        column: data.Datum.from_python(
            _TEXTS if isinstance(text, list) else _TEXT, text,
            lambda value: value)
        for column, text in texts.items()})
