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

"""The provider segments of gateway ports, and who uses an address there.

Pure.  Tenants choose the addresses of their own networks, and may choose the
addresses of a provider network, too.  So a row counts as a user only if its
router has a port on that provider network.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from ovn_network_agent import model
from ovn_network_agent.model import wiring as wirings
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_ROUTER = 'Logical_Router'
_PORT = 'Logical_Router_Port'
#: Tables whose rows refer to users, see :meth:`Users.concerned`.
REFERRING = (_ROUTER, 'Load_Balancer_Group')
# Indexes of a router by what it refers to.
_REFERENCES = ('nat', 'balancer', 'group')


@dataclasses.dataclass(frozen=True, slots=True)
class Located:
    """The place where a gateway port meets the provider network."""

    # None while it is unknown.
    segment: model.Segment | None = None
    # See rows.nat_addresses.
    nat_addresses: tuple[str, ...] = ()
    # The Port_Binding rows that this was read from.
    depends: tuple[Uuid, ...] = ()


class Segments:
    """Finds the segments of gateway ports.

    A result depends on the rows in ``Located.depends``, on the wiring, and
    on every localnet port.
    """

    def __init__(self, find: indexes.Find) -> None:
        self._find = find

    def locate(self, bindings: indexes.Bindings, wiring: wirings.Wiring,
               lrp: str) -> Located:
        """Find the segment of a gateway port.

        The patch port of the switch names the router port as its peer.  The
        localnet port is on the datapath of this patch port.
        """
        patch = self._find('sb', 'Port_Binding', 'peer').first(lrp)
        if patch is None:
            return Located()
        datapath = _datapath(bindings[patch])
        addresses = rows.nat_addresses(bindings[patch])
        localnet = self._localnet(bindings, wiring, datapath)
        if localnet is None:
            return Located(None, addresses, (patch,))
        row = bindings[localnet]
        segment = wiring.segment(
            str(datapath), columns.atom(row, 'logical_port'),
            _physical_network(row), columns.atom(row, 'tag', 0))
        return Located(segment, addresses, (patch, localnet))

    def _localnet(self, bindings: indexes.Bindings, wiring: wirings.Wiring,
                  datapath: Uuid) -> Uuid | None:
        """The localnet port of a switch.

        A network of several segments has a localnet port for each segment.
        The localnet port of a physical network of this node comes first.
        """
        here = dict(wiring.mappings)
        found = self._find('sb', 'Port_Binding', 'localnet').find(datapath)
        return min(found, default=None, key=lambda uuid: (
            _physical_network(bindings[uuid]) not in here, uuid))


class Users:
    """Finds the users of addresses.

    A result depends on the rows that :meth:`find_user` names, on rows that
    get the address, and on routers and groups that come to refer to such rows
    (:meth:`concerned`).
    """

    def __init__(self, find: indexes.Find) -> None:
        self._find = find

    def find_user(self, bindings: indexes.Bindings, lrp: str,
                  address: str | None) -> tuple[bool, set[Uuid]]:
        """Whether an address on the provider network of a port is in use.

        :returns: whether a NAT row, a load balancer or a router port has the
            address; the NB rows that this was read from
        """
        network = self._network(bindings, lrp)
        depends: set[Uuid] = set()
        for table in ('NAT', 'Load_Balancer', _PORT):
            for row in self._find('nb', table, 'address').find(address):
                groups = self._groups(row)
                ports = {row} if table == _PORT else self._ports(
                    {row, *groups})
                depends |= {row, *groups, *ports}
                if network is not None and any(
                        self._network(bindings, name) == network
                        for port in ports for name in self._names(port)):
                    return True, depends
        return False, depends

    def claimant(self, bindings: indexes.Bindings, lrps: Iterable[str],
                 address: str, own: Uuid) -> tuple[Uuid | None, set[Uuid]]:
        """Another router on the provider networks with a NAT row's address.

        :param lrps: names of the gateway ports of the router ``own``
        :returns: the other router; the NB rows that this was read from
        """
        places = {self._network(bindings, lrp) for lrp in lrps} - {None}
        by_port = self._find('nb', _ROUTER, 'port')
        depends: set[Uuid] = set()
        for nat in sorted(self._find('nb', 'NAT', 'address').find(address)):
            depends.add(nat)
            for router in sorted(self._find('nb', _ROUTER, 'nat').find(nat)):
                ports = () if router == own else by_port.keys_of(router)
                depends.update(ports)
                if any(self._network(bindings, name) in places
                       for port in ports for name in self._names(port)):
                    return router, depends
        return None, depends

    def balancing(self, address: str) -> set[Uuid]:
        """The routers with a load balancer of an address."""
        return {router for row in self._find(
                    'nb', 'Load_Balancer', 'address').find(address)
                for name, uuids in (('balancer', (row,)),
                                    ('group', self._groups(row)))
                for uuid in uuids
                for router in self._find('nb', _ROUTER, name).find(uuid)}

    def concerned(self, table: str, row: Uuid,
                  changed: Mapping[str, set[Any]]) -> set[Uuid]:
        """Rows whose users may differ after a change of a row of NB.

        :param changed: by name of an index of the table the keys that the row
            has got or lost
        """
        names = {_ROUTER: _REFERENCES,
                 'Load_Balancer_Group': ('balancer',)}.get(table, ())
        found = set[Uuid]().union(*(changed[name] for name in names))
        if changed.get('port'):
            # Its references are in use in other networks now.
            found.update(*(self._find('nb', table, name).keys_of(row)
                           for name in names))
        return found

    def _groups(self, row: Uuid) -> frozenset[Uuid]:
        """The groups that a load balancer is in."""
        return self._find('nb', 'Load_Balancer_Group', 'balancer').find(row)

    def _ports(self, found: Collection[Uuid]) -> set[Uuid]:
        """The ports of all routers that refer to a found row."""
        by_port = self._find('nb', _ROUTER, 'port')
        return {port for name in _REFERENCES for row in found
                for router in self._find('nb', _ROUTER, name).find(row)
                for port in by_port.keys_of(router)}

    def _names(self, port: Uuid) -> tuple[str, ...]:
        return self._find('nb', _PORT, 'name').keys_of(port)

    def _network(self, bindings: indexes.Bindings, lrp: str) -> Uuid | None:
        """The datapath on the other side of a port."""
        patch = self._find('sb', 'Port_Binding', 'peer').first(lrp)
        return None if patch is None else _datapath(bindings[patch])


def _datapath(row: columns.Row) -> Uuid | None:
    return next(iter(columns.referenced(row, 'datapath')), None)


def _physical_network(row: columns.Row) -> str:
    """The name of the physical network of a localnet port, or ''."""
    return columns.entry(row, 'options', 'network_name') or ''
