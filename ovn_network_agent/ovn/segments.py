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

import dataclasses

from ovn_network_agent import model
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns

_ROUTER = 'Logical_Router'
_PORT = 'Logical_Router_Port'
#: Tables whose rows refer to users, see :meth:`Users.concerned`.
REFERRING = (_ROUTER, 'Load_Balancer_Group')
# Indexes of a router by what it refers to.
_REFERENCES = ('nat', 'balancer', 'group')


@dataclasses.dataclass(frozen=True, slots=True)
class Located:
    """The place where a gateway port meets the provider network.

    :ivar segment: :class:`model.Segment`, or None while it is unknown
    :ivar nat_addresses: tuple of IPv4 text from SB nat_addresses
    :ivar depends: UUIDs of the Port_Binding rows that this was read from
    """

    segment: model.Segment | None = None
    nat_addresses: tuple = ()
    depends: tuple = ()


class Segments:
    """Finds the segments of gateway ports.

    A result depends on the rows in ``Located.depends``, on the wiring, and
    on every localnet port.

    :param find: function(database, table, name) that returns the
        :class:`indexes.Index` of that name
    """

    def __init__(self, find):
        self._find = find

    def locate(self, bindings, wiring, lrp):
        """Find the segment of a gateway port.

        The patch port of the switch names the router port as its peer.  The
        localnet port is on the datapath of this patch port.

        :param bindings: dict of UUID to row of Port_Binding
        :param wiring: :class:`model.wiring.Wiring`
        :param lrp: name of the Logical_Router_Port
        :returns: :class:`Located`
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

    def _localnet(self, bindings, wiring, datapath):
        """UUID of the localnet port of a switch, or None.

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

    :param find: function(database, table, name) that returns the
        :class:`indexes.Index` of that name
    """

    def __init__(self, find):
        self._find = find

    def find_user(self, bindings, lrp, address):
        """Whether an address on the provider network of a port is in use.

        :param bindings: dict of UUID to row of Port_Binding
        :param lrp: name of the Logical_Router_Port
        :param address: IP address, text
        :returns: (whether a NAT row, a load balancer or a router port has the
            address; set of the UUIDs of the NB rows that this was read from)
        """
        network = self._network(bindings, lrp)
        depends = set()
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

    def claimant(self, bindings, lrps, address, own):
        """Another router on the provider networks with a NAT row's address.

        :param bindings: dict of UUID to row of Port_Binding
        :param lrps: names of the gateway ports of a router
        :param address: IP address, text
        :param own: UUID of this router
        :returns: (UUID of the other router, None without one; set of the
            UUIDs of the NB rows that this was read from)
        """
        places = {self._network(bindings, lrp) for lrp in lrps} - {None}
        depends, by_port = set(), self._find('nb', _ROUTER, 'port')
        for nat in sorted(self._find('nb', 'NAT', 'address').find(address)):
            depends.add(nat)
            for router in sorted(self._find('nb', _ROUTER, 'nat').find(nat)):
                ports = () if router == own else by_port.keys_of(router)
                depends.update(ports)
                if any(self._network(bindings, name) in places
                       for port in ports for name in self._names(port)):
                    return router, depends
        return None, depends

    def balancing(self, address):
        """UUIDs of the routers with a load balancer of an address."""
        return {router for row in self._find(
                    'nb', 'Load_Balancer', 'address').find(address)
                for name, uuids in (('balancer', (row,)),
                                    ('group', self._groups(row)))
                for uuid in uuids
                for router in self._find('nb', _ROUTER, name).find(uuid)}

    def concerned(self, table, row, changed):
        """Rows whose users may differ after a change of a row.

        :param table: name of a table of NB
        :param row: UUID
        :param changed: dict of the name of each index of the table to the
            set of keys that the row has got or lost
        :returns: set of UUID
        """
        names = {_ROUTER: _REFERENCES,
                 'Load_Balancer_Group': ('balancer',)}.get(table, ())
        found = set().union(*(changed[name] for name in names))
        if changed.get('port'):
            # Its references are in use in other networks now.
            found.update(*(self._find('nb', table, name).keys_of(row)
                           for name in names))
        return found

    def _groups(self, row):
        """UUIDs of the groups that a load balancer is in."""
        return self._find('nb', 'Load_Balancer_Group', 'balancer').find(row)

    def _ports(self, found):
        """UUIDs of the ports of all routers that refer to a found row."""
        by_port = self._find('nb', _ROUTER, 'port')
        return {port for name in _REFERENCES for row in found
                for router in self._find('nb', _ROUTER, name).find(row)
                for port in by_port.keys_of(router)}

    def _names(self, port):
        return self._find('nb', _PORT, 'name').keys_of(port)

    def _network(self, bindings, lrp):
        """UUID of the datapath on the other side of a port, or None."""
        patch = self._find('sb', 'Port_Binding', 'peer').first(lrp)
        return None if patch is None else _datapath(bindings[patch])


def _datapath(row):
    """UUID of the datapath of a row of Port_Binding, or None."""
    return next(iter(columns.referenced(row, 'datapath')), None)


def _physical_network(row):
    """The name of the physical network of a localnet port, or ''."""
    return columns.entry(row, 'options', 'network_name') or ''
