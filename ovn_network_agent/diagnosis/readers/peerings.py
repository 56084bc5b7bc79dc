# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The peerings of routers by which one address is reached, and their rows."""

import collections
import dataclasses

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.diagnosis.readers import sources
from ovn_network_agent.ovn import peering_rows
from ovn_network_agent.ovsdb import columns


@dataclasses.dataclass(frozen=True, slots=True)
class Way:
    """One intent to peer that concerns an address.

    :ivar peering: :class:`model.Peering`
    :ivar wanted: :class:`resources.Peering`, None unless it is created
    :ivar missing: tuple of :class:`peering_rows.Values` that no row has
    :ivar others: likewise of the rows that are not wanted
    :ivar foreign: policies of the other router that are not the agent's,
        tuple of :class:`resources.PeerPolicy`; its action is any text
    :ivar detours: likewise those of this router that send packets elsewhere
        or drop them, whatever their priority
    """

    peering: model.Peering
    wanted: resources.Peering | None = None
    missing: tuple = ()
    others: tuple = ()
    foreign: tuple = ()
    detours: tuple = ()

    @property
    def entry(self):
        """The other router, a :class:`resources.PeerSide`."""
        return next(side for side in self.wanted.sides
                    if side.router != self.peering.router)


def read(conf, drivers, address, node, timeout):
    """Find the peerings that give or take an address.

    :param conf: the oslo.config ConfigOpts
    :param drivers: list of :class:`drivers.base.Driver`
    :param address: IP address in canonical notation
    :param node: :class:`model.Node`
    :param timeout: seconds
    :returns: tuple of :class:`Way`: routers that have the address behind a
        peer, and intents of routers that would give it to one
    :raises readers.Unread: when NB cannot be read
    """
    asking = [each for each in drivers if model.Peering in each.SUBJECTS]
    if not asking:
        return ()
    made, _unmade, rows = sources.read(conf, asking, timeout)
    there = peering_rows.found(rows['nb'])
    return tuple(_way(asking[0], each, node, rows['nb'], there)
                 for _name, each in made if isinstance(each, model.Peering) and
                 any(networks.covers(prefix, address) for prefix in (
                     each.takes if each.pair else each.gives)))


def _way(driver, peering, node, nb, there):
    wanted = next((each for each in driver.resources(peering, node)
                   if each.kind == resources.Peering.kind), None)
    if wanted is None:
        return Way(peering)
    desired = collections.Counter(peering_rows.wanted(wanted))
    found = collections.Counter(
        each.values for each in there.get(wanted.key, ()))
    way = Way(peering, wanted, tuple((desired - found).elements()),
              tuple((found - desired).elements()))
    here, there = (sorted(_foreign(nb, router), reverse=True)
                   for router in (peering.router, way.entry.router))
    return dataclasses.replace(way, foreign=tuple(there), detours=tuple(
        each for each in here if each.action != 'allow'))


def _foreign(nb, router):
    for row in nb['Logical_Router'].values():
        if str(row.uuid) == router:
            for policy in columns.rows(row, 'policies'):
                if not columns.entry(policy, 'external_ids',
                                     ownership.EXT_ID_MANAGED):
                    yield resources.PeerPolicy(
                        columns.atom(policy, 'priority'),
                        columns.atom(policy, 'match'),
                        columns.atom(policy, 'action'))
