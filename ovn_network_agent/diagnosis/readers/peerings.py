# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The peerings of routers by which one address is reached, and their rows."""

import collections
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import typing

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis.readers import sources
from ovn_network_agent.drivers import base
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.ovn.writes import marked_rows
from ovn_network_agent.ovsdb import columns


@dataclasses.dataclass(frozen=True, slots=True)
class Way:
    """One intent to peer that concerns an address."""

    peering: model.Peering
    wanted: resources.Peering | None = None  # None unless it is created
    missing: tuple[marked_rows.Values, ...] = ()  # that no row has
    # Likewise of the rows that are not wanted.
    others: tuple[marked_rows.Values, ...] = ()
    # Foreign policies of the other router; any text may be their action.
    foreign: tuple[resources.PeerPolicy, ...] = ()
    # Likewise those of this router, of any priority, that reroute or drop.
    detours: tuple[resources.PeerPolicy, ...] = ()

    @property
    def entry(self) -> resources.PeerSide:
        """The other router."""
        sides = self.wanted.sides if self.wanted else ()
        return next(side for side in sides
                    if side.router != self.peering.router)


def read(conf: cfg.ConfigOpts, drivers: Sequence[base.Driver], address: str,
         node: model.Node, timeout: float) -> tuple[Way, ...]:
    """Ways to an address behind a peer, and intents to give it to a peer."""
    asking = [each for each in drivers if model.Peering in each.SUBJECTS]
    if not asking:
        return ()
    made, _unmade, rows = sources.read(conf, asking, timeout)
    there = peering_rows.found(rows['nb'])
    return tuple(_way(asking[0], each, node, rows['nb'], there)
                 for _name, each in made if isinstance(each, model.Peering) and
                 any(networks.covers(prefix, address) for prefix in (
                     each.takes if each.pair else each.gives)))


def _way(driver: base.Driver, peering: model.Peering, node: model.Node,
         nb: columns.Tables,
         there: Mapping[tuple[Hashable, ...], Iterable[typing.Any]]) -> Way:
    wanted = next((each for each in driver.resources(peering, node)
                   if isinstance(each, resources.Peering)), None)
    if wanted is None:
        return Way(peering)
    desired = collections.Counter(peering_rows.wanted(wanted))
    found = collections.Counter(
        each.values for each in there.get(wanted.key, ()))
    way = Way(peering, wanted, tuple((desired - found).elements()),
              tuple((found - desired).elements()))
    here, elsewhere = (sorted(_foreign(nb, router), reverse=True)
                   for router in (peering.router, way.entry.router))
    return dataclasses.replace(way, foreign=tuple(elsewhere), detours=tuple(
        each for each in here if each.action != 'allow'))


def _foreign(nb: columns.Tables, router: str
             ) -> Iterator[resources.PeerPolicy]:
    for row in nb['Logical_Router'].values():
        if str(row.uuid) == router:
            for policy in columns.rows(row, 'policies'):
                if not columns.entry(policy, 'external_ids',
                                     ownership.EXT_ID_MANAGED):
                    yield resources.PeerPolicy(
                        columns.atom(policy, 'priority'),
                        columns.atom(policy, 'match'),
                        columns.atom(policy, 'action'))
