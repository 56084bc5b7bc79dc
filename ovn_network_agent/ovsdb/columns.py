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

"""Columns of a row that may be empty, or not replicated.  Pure.

What is used of a row that is private is in :mod:`private_names`.
"""


def optional(row, column, default=''):
    """Value of a column that holds none or one, or ``default``."""
    values = getattr(row, column, None)
    return values[0] if values else default


def referenced(row, column):
    """UUIDs that a column refers to, also of rows that are not replicated.

    A row may come into the replica without a change of those that refer to
    it, when its columns begin to match the condition.

    :returns: list of UUID, empty where the schema lacks the column
    """
    if column not in row._data:
        return []
    return [atom.value for atom in row._data[column].values]
