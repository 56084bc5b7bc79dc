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
