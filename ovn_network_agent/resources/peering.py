# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""All rows of OVN NB by which two routers peer."""

import dataclasses

from ovn_network_agent.resources import base

#: By table of NB, the columns that count; the first one says which row is
#: changed, if its values are not as desired.
COLUMNS = {
    'Logical_Router_Port': ('name', 'mac', 'networks', 'peer', 'enabled'),
    'Logical_Router_Static_Route': ('ip_prefix', 'nexthop', 'output_port',
                                    'policy', 'route_table'),
    'Logical_Router_Policy': ('match', 'priority', 'action'),
    'Address_Set': ('name', 'addresses')}


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class PeerPolicy:
    """A row of Logical_Router_Policy; its action is 'allow' or 'drop'."""

    priority: int
    match: str
    action: str

    def __str__(self) -> str:
        return f'{self.priority:d} {self.action} {self.match}'


@dataclasses.dataclass(frozen=True, slots=True)
class PeerSide:
    """The rows of one router.  All tuples are sorted."""

    # UUID of the Logical_Router row.
    router: str
    # The port that leads to the other router: its name, MAC and networks, as
    # '10.0.1.1/32'.
    port: str
    mac: str
    networks: tuple[str, ...]
    # (prefix, next hop), all by the port.
    routes: tuple[tuple[str, str], ...]
    policies: tuple[PeerPolicy, ...]
    # Rows of Address_Set: (name, addresses).
    address_sets: tuple[tuple[str, tuple[str, ...]], ...]

    def __str__(self) -> str:
        routes = ', '.join(' via '.join(each) for each in self.routes)
        policies = ', '.join(map(str, self.policies))
        sets = ', '.join(f'{name} = {" ".join(addresses) or "empty"}'
                         for name, addresses in self.address_sets)
        return (f'[router {self.router}: port {self.port} {self.mac} '
                f'{" ".join(self.networks)}; routes {routes or "none"}; '
                f'policies {policies or "none"}; address sets '
                f'{sets or "none"}]')


@dataclasses.dataclass(frozen=True, slots=True)
class Peering(base.Resource):
    """A link between two routers, whose rows change in one transaction."""

    # '<UUID of a router>~<UUID of a router>', the lower one first.
    pair: str
    # In the order of the pair.
    sides: tuple[PeerSide, PeerSide]

    kind = 'peering'
    key_fields = ('pair',)
    stage = base.Stage.NORTHBOUND
