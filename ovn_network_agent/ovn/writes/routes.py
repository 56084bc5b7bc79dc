# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The managed default routes in a replica of NB.  Pure."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns


def managed(nb: columns.Tables,
            owners: Collection[ownership.Owner] | None = None
            ) -> Iterator[tuple[str, columns.Row, model.NbDefaultRoute]]:
    """Managed default routes: UUID of the router, row and route.

    python-ovs makes new objects at each reading of a column; tags first and
    routers only for tagged routes take a fifth of the time with 2,000 routers.

    :param owners: None for all
    """
    found = {uuid: row for uuid, row in
             nb['Logical_Router_Static_Route'].items()
             if _is_of(row.external_ids, owners)}
    for uuid, router in nb['Logical_Router'].items() if found else ():
        for reference in columns.referenced(router, 'static_routes'):
            row = found.get(reference)
            route = rows.default_route(row) if row is not None else None
            if route is not None:
                yield str(uuid), row, route


def _is_of(external_ids: Mapping[str, str],
           owners: Collection[ownership.Owner] | None) -> bool:
    return ownership.is_managed(external_ids) and (
        owners is None or ownership.owner(external_ids) in owners)
