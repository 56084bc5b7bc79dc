# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Changes of the intents to peer, by the command of an operator."""

from typing import Any
from typing import cast

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.drivers import source
from ovn_network_agent.files import reading
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import sources
from ovn_network_agent.ovn.peering import peer_intents as intents
from ovn_network_agent.ovn.peering import peerings
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovsdb import columns

_COLUMN = 'options'  # Neutron replaces external_ids at each update of a router


class _Trial(source.Source):
    """A peering of a router, and the objection of another one."""

    KIND = peerings.Peerings.KIND
    INDEXES = peerings.Peerings.INDEXES
    NAMES = peerings.Peerings.NAMES

    def __init__(self, router: str, called: str) -> None:
        self._router = router
        self._called = called

    def build(self, name: str, find: source.Find) -> object:
        """The peering and the objection, see :func:`trial`."""
        other = peerings.twin(find, self._router, self._called)
        return (peerings.Peerings().build(name, find),
                f'peering {other} is with the same router' if other else '')


def trial(nb: columns.Tables, router: columns.Row, name: str, target: str,
          content: reading.Content[intents.End]
          ) -> tuple[model.Peering, str]:
    """The peering that an intent would make, and an objection or ''.  Pure.

    The first by name counts, so a new one could end one with that router.
    """
    changed = columns.Changed(router, _COLUMN, {
        **columns.entries(router, _COLUMN),
        ownership.EXT_ID_PEER_TARGET + name: target})
    database, table = intents.TABLE
    there: queries.Databases = {
        'nb': {**nb, 'Logical_Router': {
            **nb['Logical_Router'], router.uuid: changed}},
        database: {table: content.rows}}
    return cast(tuple[model.Peering, str], sources.one(
        _Trial(str(router.uuid), name), f'{router.uuid}/{name}', there))


class ChangeIntent(commands.NorthboundCommand):
    """Have a router, by the UUID of its row, name another one; filters stay.

    :param target: the other router; None removes all that the row says of the
        peering, its filters, too
    """

    def __init__(self, api: Any, router: str, name: str,
                 target: str | None = None) -> None:
        super().__init__(api)
        self._uuid = router
        self._name = name
        self._target = target

    def run_idl(self, txn: Any) -> None:
        """Refused without the router, and by what the row has now."""
        row = self.router(self._uuid)
        if row is None:
            self.refused = f'router {self._uuid} is gone'
            return
        for column in intents.COLUMNS:
            row.verify(column)
        self.refused = (unknown if self._target is None else there_already)(
            row, self._name)
        if self.refused:
            return
        if self._target is not None:
            row.setkey(_COLUMN, ownership.EXT_ID_PEER_TARGET + self._name,
                       self._target)
            return
        for column in intents.COLUMNS:
            for key in intents.keys(self._name):
                if key in getattr(row, column):
                    row.delkey(column, key)


def there_already(row: columns.Row, name: str) -> str:
    """Why a router cannot have one more peering of a name, or ''."""
    found = intents.options_of(row).get(ownership.EXT_ID_PEER_TARGET + name)
    return '' if found is None else (
        f'it has a peering {name} with {found!r}; remove that one first, or '
        'take another name')


def unknown(row: columns.Row, name: str) -> str:
    """Why a router has no peering of a name to remove, or ''."""
    found = sorted(intents.names(intents.options_of(row)))
    return '' if name in found else (
        f'it has no peering {name!r}; it has ' +
        (', '.join(map(repr, found)) or 'none'))
