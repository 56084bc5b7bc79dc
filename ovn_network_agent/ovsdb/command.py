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

"""What every write to an OVSDB server rests on: refusal and verification."""

from ovsdbapp.backend.ovs_idl import command


class Command(command.BaseCommand):
    """Base: remembers why it did not act.

    :ivar refused: reason as text, '' when it acted or had nothing to do
    """

    refused = ''

    def rows(self, table):
        """The rows of a table, dict of UUID to row."""
        table = self.api.idl.tables.get(table)
        return table.rows if table else {}


def verify(txn, row, column):
    """Have the server refuse a transaction if a column has changed.

    Row.verify() alone is without effect for a row that the transaction does
    not change: ovs 4.0 sends the prerequisites of changed rows only.  The
    library in C, which it follows, takes the row into the transaction.
    How is in :mod:`private_names`.

    :param txn: ovs.db.idl.Transaction
    """
    row.verify(column)
    txn._txn_rows[row.uuid] = row
