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

"""Writes what an operator wants to be drained into the local database."""

from ovsdbapp import exceptions
from ovsdbapp.backend.ovs_idl import command

from ovn_network_agent import ownership
from ovn_network_agent.ovs import drains
from ovn_network_agent.ovsdb import bounded
from ovn_network_agent.ovsdb import connection


class NotWritten(Exception):
    """It could not be written, or nobody knows; the text says why."""


class _Change(command.BaseCommand):
    """Change the wishes on what they are at the moment of the transaction.

    :param change: function(frozenset) that returns a frozenset
    """

    def __init__(self, api, change):
        super().__init__(api)
        self._change = change

    def run_idl(self, txn):
        found = list(self.api.idl.tables['Open_vSwitch'].rows.values())
        if not found:
            raise RuntimeError('it has no row Open_vSwitch')
        row, = found
        row.verify('external_ids')
        external_ids = dict(row.external_ids)
        before, _bad = drains.parse(
            external_ids.pop(ownership.EXT_ID_DRAIN, ''))
        after = self._change(before)
        if after:
            external_ids[ownership.EXT_ID_DRAIN] = drains.render(after)
        # Also where only something malformed goes.
        if external_ids != row.external_ids:
            row.external_ids = external_ids
        self.result = (before, after)


def change(database, how, timeout):
    """Change what is wished, in one transaction.

    The server refuses it when somebody else changed the row meanwhile; then
    it is done again on what is there.

    :param database: the :class:`connection.Database` of the local one
    :param how: function(frozenset of what is wished) that returns what is
        to be wished; what it raises is raised here, and nothing is written
    :param timeout: seconds
    :returns: (frozenset before, frozenset after), as the server took it
    :raises NotWritten:
    """
    try:
        ovsdb = database.connection
    except connection.Unavailable as e:
        raise NotWritten(str(e)) from e
    txn = bounded.Transaction(
        bounded.Api(ovsdb.idl), ovsdb, check_error=True, log_errors=False,
        timeout=timeout)
    wish = txn.add(_Change(txn.api, how))
    try:
        txn.commit()
    except (exceptions.TimeoutException, bounded.NoAnswer) as e:
        raise NotWritten(
            'the local Open_vSwitch database did not answer within '
            f'{timeout:g} s; ask "status" what it has come to') from e
    except RuntimeError as e:
        raise NotWritten('the local Open_vSwitch database '
                         f'refused it: {e}') from e
    return wish.result
