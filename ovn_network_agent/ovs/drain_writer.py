# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The drains that an operator asks for, in the local database.

The value is 'all', or UUIDs of routers, separated by commas.
"""

from collections.abc import Callable
from collections.abc import Iterable
import re
from typing import Any

from ovsdbapp.backend.ovs_idl import command

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovsdb import command as writing
from ovn_network_agent.ovsdb import connection

_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z')


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID as OVSDB writes them, in lower case."""
    return _UUID.match(text) is not None


def parse(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Parse the text; only the malformed parts are left out.

    :returns: drains as in :class:`model.Node`, messages about the rest
    """
    parts = [part.strip() for part in text.split(',') if part.strip()]
    drains = {part.lower() for part in parts
              if part.lower() == model.ALL or is_uuid(part.lower())}
    bad = [part for part in parts if part.lower() not in drains]
    return frozenset(drains), tuple(
        f'Open_vSwitch external_ids:{ownership.EXT_ID_DRAIN}: {part!r} is '
        f'neither "{model.ALL}" nor the UUID of a router, and is left out; '
        'correct it with "ovn-network-agent-ctl drain" or "undrain"'
        for part in bad)


def render(drains: Iterable[str]) -> str:
    """The text for a set of drains, '' for none."""
    return ','.join(sorted(drains))


_How = Callable[[frozenset[str]], frozenset[str]]


class _Change(command.BaseCommand):
    """Change the drains as they are at the moment of the transaction."""

    def __init__(self, api: Any, change: _How) -> None:
        super().__init__(api)
        self._change = change

    def run_idl(self, txn: Any) -> None:
        found = list(self.api.idl.tables['Open_vSwitch'].rows.values())
        if not found:
            raise RuntimeError('it has no row Open_vSwitch')
        row, = found
        row.verify('external_ids')
        external_ids = dict(row.external_ids)
        before, _bad = parse(
            external_ids.pop(ownership.EXT_ID_DRAIN, ''))
        after = self._change(before)
        if after:
            external_ids[ownership.EXT_ID_DRAIN] = render(after)
        # This also removes malformed parts alone.
        if external_ids != row.external_ids:
            row.external_ids = external_ids
        self.result = (before, after)


def change(database: connection.Database, how: _How, timeout: float
           ) -> tuple[frozenset[str], frozenset[str]]:
    """Change the wish in one transaction, again if the row has changed.

    :param how: its exceptions are raised here, and nothing is written
    :returns: before and after, as the server has it
    :raises writing.NotWritten: when the wish may not have been written
    """
    result: tuple[frozenset[str], frozenset[str]] = writing.write(
        database, 'the local Open_vSwitch database',
        lambda api: _Change(api, how), timeout, 'status').result
    return result
