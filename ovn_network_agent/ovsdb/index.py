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

"""An index over OVSDB rows, updated row by row."""

import collections


class Index:
    """Finds the rows of one table by keys that are computed from a row.

    :param keys: function of a row, returns an iterable of hashable keys
    """

    def __init__(self, keys):
        self._keys = keys
        self._uuids = collections.defaultdict(set)
        self._keys_of = {}

    def __len__(self):
        return len(self._keys_of)

    def update(self, uuid, row):
        """Update the index for a new, changed or deleted row.

        :param uuid: UUID of the row
        :param row: the row, or None when it is gone
        """
        for key in self._keys_of.pop(uuid, ()):
            self._uuids[key].discard(uuid)
            if not self._uuids[key]:
                del self._uuids[key]
        if row is not None:
            keys = tuple(self._keys(row))
            self._keys_of[uuid] = keys
            for key in keys:
                self._uuids[key].add(uuid)

    def rebuild(self, rows):
        """Make the index anew from all rows.

        :param rows: dict of UUID to row
        """
        self._uuids.clear()
        self._keys_of.clear()
        for uuid, row in rows.items():
            self.update(uuid, row)

    def find(self, key):
        """UUIDs of the rows with a key, a frozenset."""
        return frozenset(self._uuids.get(key, ()))

    def first(self, key):
        """The smallest UUID of the rows with a key, or None."""
        return min(self._uuids.get(key, ()), default=None)

    def keys(self):
        """All keys of all rows, a set-like view."""
        return self._uuids.keys()

    def covers(self, uuid):
        """Whether the index has a row."""
        return uuid in self._keys_of

    def keys_of(self, uuid):
        """The keys of a row, a tuple."""
        return self._keys_of.get(uuid, ())
