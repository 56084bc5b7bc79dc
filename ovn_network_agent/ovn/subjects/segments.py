# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The provider segments of gateway ports, and who uses an address there.

Pure.  Tenants choose their addresses, perhaps a provider network's: only a row
of a router on that network counts.

A route of the agent to an address that this node itself sends to would take
the node's packets along.
"""

import bisect
from collections.abc import Collection
from collections.abc import Iterator

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_ROUTER = 'Logical_Router'
_PORT = 'Logical_Router_Port'


class Segments:
    """Finds the segments of router ports, and users of addresses on them."""

    def __init__(self, rows: queries.Queries, known: inputs.Inputs) -> None:
        self._rows = rows
        self._inputs = known

    def redirect(self, lrp: str) -> columns.Row | None:
        """The chassisredirect port of a router port."""
        return self._binding('redirect', lrp)

    def patch(self, lrp: str) -> columns.Row | None:
        """The switch's patch port, which names the router port as its peer."""
        return self._binding('peer', lrp)

    def _binding(self, index: str, lrp: str) -> columns.Row | None:
        uuid = self._rows.find('sb', 'Port_Binding', index).first(lrp)
        return uuid and self._rows.row('sb', 'Port_Binding', uuid)

    def datapath(self, lrp: str) -> Uuid | None:
        """The datapath of the switch on the other side of a router port."""
        patch = self.patch(lrp)
        found = [] if patch is None else columns.referenced(patch, 'datapath')
        return found[0] if found else None

    def segment(self, lrp: str) -> model.Segment | None:
        """The segment of a gateway port, None while it is unknown."""
        datapath = self._rows.ask(self.datapath, lrp)
        row = self.localnet(datapath)
        return row and self.of_localnet(datapath, row)

    def localnet(self, datapath: Uuid | None) -> columns.Row | None:
        """The localnet port of a switch.

        One for each segment; that of a physical network here comes first.
        """
        here = dict(self._inputs.wiring.mappings)
        return min(self._rows.rows('sb', 'Port_Binding', self._rows.find(
            'sb', 'Port_Binding', 'localnet').find(datapath)),
            default=None, key=lambda row: (
                _physical_network(row) not in here, row.uuid))

    def of_localnet(self, datapath: Uuid, row: columns.Row) -> model.Segment:
        """The segment of a localnet port."""
        return self._inputs.wiring.segment(
            str(datapath), columns.atom(row, 'logical_port'),
            _physical_network(row), columns.atom(row, 'tag', 0))

    def is_used(self, lrp: str, address: str) -> bool:
        """Whether a NAT row, load balancer or port there has an address."""
        network = self._rows.ask(self.datapath, lrp)
        return network is not None and any(
            self.has(network, table, address)
            for table in ('NAT', 'Load_Balancer', _PORT))

    def has(self, network: Uuid, table: str, address: str) -> bool:
        """Whether a router on a network has a row with an address.

        :param network: UUID of the datapath
        :param table: 'NAT', 'Load_Balancer' or 'Logical_Router_Port'
        """
        return any(
            self._rows.ask(self.datapath, name) == network
            for row in sorted(self._rows.find('nb', table,
                                              'address').find(address))
            for port in ([row] if table == _PORT else self._ports(row))
            for name in self._names(port))

    def claimant(self, lrps: Collection[str], address: str,
                 own: Uuid) -> Uuid | None:
        """Another router on these networks with a NAT row of the address."""
        places = {self._rows.ask(self.datapath, lrp) for lrp in lrps} - {None}
        by_nat = self._rows.find('nb', _ROUTER, 'nat')
        return next((
            router
            for nat in sorted(self._rows.find('nb', 'NAT',
                                              'address').find(address))
            for router in sorted(by_nat.find(nat)) if router != own
            for port in self._rows.find('nb', _ROUTER, 'port').keys_of(router)
            for name in self._names(port)
            if self._rows.ask(self.datapath, name) in places), None)

    def _ports(self, row: Uuid) -> Iterator[Uuid]:
        for router in self.routers(row):
            yield from self._rows.find('nb', _ROUTER, 'port').keys_of(router)

    def routers(self, row: Uuid) -> Iterator[Uuid]:
        """The routers with a NAT row or a load balancer."""
        groups = self._rows.find('nb', 'Load_Balancer_Group',
                                 'balancer').find(row)
        for name in ('nat', 'balancer', 'group'):
            for each in sorted({row, *groups}):
                yield from self._rows.find('nb', _ROUTER, name).find(each)

    def _names(self, port: Uuid) -> tuple[str, ...]:
        return self._rows.find('nb', _PORT, 'name').keys_of(port)


def _physical_network(row: columns.Row) -> str:
    """The name of the physical network of a localnet port, or ''."""
    return columns.entry(row, 'options', 'network_name') or ''


class OwnNeeds:
    """The tunnels of all chassis, and the servers that options name."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs) -> None:
        self._rows = found
        self._inputs = known

    def objection(self, net: ip_text.Network) -> str:
        """Why there may be no route to a network or address, or ''."""
        known, first = self._rows.ask(self._addresses), int(net[0])
        at = bisect.bisect_left(known, (net.version, first))
        if at == len(known) or known[at] > (net.version, int(net[-1])):
            return ''
        return (f'{net[known[at][1] - first]} is of a tunnel or server of '
                'OVN, which this node could not reach any more')

    def _addresses(self) -> tuple[tuple[int, int], ...]:
        """Family and number of each, sorted."""
        texts = (*self._rows.find('sb', 'Encap', 'ip').keys(),
                 *self._inputs.chosen.servers)
        return tuple(sorted({
            (found.version, int(found.ip)) for text in texts
            if (found := networks.parse_interface(text))}))
