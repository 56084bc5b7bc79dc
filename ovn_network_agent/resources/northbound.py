# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of OVN's Northbound database."""

import dataclasses

from ovn_network_agent import ownership
from ovn_network_agent.resources import base


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultRoute(base.Resource):
    """A default route of a gatewayless router, in OVN NB."""

    # UUID of the Logical_Router row.
    router: str
    # Name of the gateway Logical_Router_Port.
    lrp: str
    # The virtual gateway.
    nexthop: str
    owner: ownership.Owner
    # Host name of another chassis in the mark of the proof, or None; only
    # found, and never wanted.
    outdated: str | None = None
    # '0.0.0.0/0' or '::/0'.
    prefix: str = '0.0.0.0/0'

    kind = 'default_route'
    key_fields = ('router', 'prefix')
    stage = base.Stage.NORTHBOUND

    @property
    def follows(self) -> bool:
        """True, although the stage comes before the announcements."""
        # The route of the former owner is there, or the router is new.
        return True


@dataclasses.dataclass(frozen=True, slots=True)
class OnLinkRoute(DefaultRoute):
    """The route of a router to a half of its provider network, in OVN NB.

    The network is on-link: the router would ask there for addresses of other
    chassis, in vain. A half is longer, so its route comes first.
    """

    kind = 'on_link_route'


@dataclasses.dataclass(frozen=True, slots=True)
class StaleRoute(base.Resource):
    """A default route of a chassis gone for good; found, never wanted."""

    # UUID of the Logical_Router row.
    router: str
    lrp: str
    nexthop: str
    owner: ownership.Owner

    kind = 'stale_route'
    key_fields = ('router', 'lrp', 'nexthop', 'owner')
    stage = base.Stage.NORTHBOUND


@dataclasses.dataclass(frozen=True, slots=True)
class MacBinding(base.Resource):
    """A Static_MAC_Binding row of OVN NB: virtual gateway to our MAC."""

    lrp: str
    ip: str
    mac: str

    kind = 'mac_binding'
    key_fields = ('lrp', 'ip')
    stage = base.Stage.NORTHBOUND

    @property
    def follows(self) -> bool:
        """True, although the stage comes before the announcements."""
        # The MAC-tweak flow takes packets for the MAC of a former owner.
        return True


@dataclasses.dataclass(frozen=True, slots=True)
class BfdTimers(base.Resource):
    """The timers of BFD in OVN's tunnels that this chassis requests, in NB.

    Requests are in NB_Global, and give the fleet's one set of options in the
    same row (:mod:`ovn.chassis.bfd`).
    """

    # Host name of this chassis, the tag of the request.
    chassis: str
    # Milliseconds, the option bfd-min-rx.
    min_rx: int
    # Milliseconds, the option bfd-min-tx.
    min_tx: int
    # The option bfd-mult, number of packets.
    mult: int
    # Why the options or other requests are not as the requests want them, or
    # None; only found, never wanted.
    astray: str | None = None

    kind = 'bfd_timers'
    key_fields = ('chassis',)
    # The timers matter at the next failure; no packet waits for them.
    stage = base.Stage.LEAD


@dataclasses.dataclass(frozen=True, slots=True)
class Advertised(base.Resource):
    """The proof that a router's addresses are announced here, in OVN NB.

    The mark ``ovn-network-agent-advertised`` on its managed default route,
    which the former owner waits for.
    """

    # UUID of the Logical_Router row.
    router: str
    # This chassis.
    owner: ownership.Owner
    # '198.51.100.10/32', to be advertised to a BGP neighbour before the proof
    # is written; the engine adds them (engine.contributions).
    prefixes: tuple[str, ...] = dataclasses.field(
        default=(), compare=False, repr=False)
    # 4 or 6; not part of the value, likewise prefixes.
    version: int = dataclasses.field(default=4, compare=False, repr=False)

    kind = 'advertised'
    key_fields = ('router',)
    stage = base.Stage.LEAD
    # The proof goes with the route, or when the next owner takes the route.
    retained = True


@dataclasses.dataclass(frozen=True, slots=True)
class GatewayPriority(base.Resource):
    """The priority of a candidate in a gateway group, in OVN NB."""

    # 'Gateway_Chassis' or 'HA_Chassis_Group'.
    table: str
    # UUID of the Logical_Router_Port or HA_Chassis_Group.
    group: str
    chassis: str
    # 0..32767.
    priority: int
    # The reason of an agent that has lowered the priority, as in
    # model.Candidate, else ''.
    drained: str = ''
    # The priority before that, 0 when not drained.
    earlier: int = 0
    # chassisredirect ports that have to be on this chassis at the write; not
    # part of the value.
    owned: tuple[str, ...] = dataclasses.field(
        default=(), compare=False, repr=False)
    # (chassis, priority) of the group at the decision; not part of the value.
    before: tuple[tuple[str, int], ...] = dataclasses.field(
        default=(), compare=False, repr=False)
    # Likewise the wanted priorities of the group.
    after: tuple[tuple[str, int], ...] = dataclasses.field(
        default=(), compare=False, repr=False)

    kind = 'gateway_priority'
    key_fields = ('table', 'group', 'chassis')
    stage = base.Stage.LEAD
    # The row is Neutron's.
    retained = True


#: By table of NB, the columns that count; the first one says which row is
#: changed, if its values are not as desired.
PEERING_COLUMNS = {
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


#: As :data:`PEERING_COLUMNS`; two of the names are keys of
#: external_ids.
EGRESS_COLUMNS = {
    'NAT': ('logical_ip', 'type', 'external_ip', 'gateway_port',
            'allowed_ext_ips', ownership.EXT_ID_EGRESS_ADDRESS,
            ownership.EXT_ID_EGRESS_CHASSIS),
    'Logical_Router_Policy': ('match', 'priority', 'action', 'nexthops'),
    'Address_Set': ('name', 'addresses')}


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class EgressNat:
    """A row of NAT, of the type 'snat'."""

    machine: str
    external: str
    # Name of the gateway port, '' where the router has one.
    port: str = ''
    # Name of the address set with the destinations, '' for all.
    destinations: str = ''
    # The egress address, and the chassis that translates to it, if the
    # machine keeps its own address up to there.
    address: str = ''
    chassis: str = ''

    def __str__(self) -> str:
        return (f'{self.machine} to {self.external}' +
                f' by {self.port}' * bool(self.port) +
                f' for ${self.destinations}' * bool(self.destinations) +
                f', {self.address} at {self.chassis}' * bool(self.chassis))


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class EgressPolicy:
    """A row of Logical_Router_Policy: 'reroute', 'allow' without next hops."""

    priority: int
    match: str
    # Sorted.
    nexthops: tuple[str, ...] = ()

    def __str__(self) -> str:
        return (f'{self.priority:d} {self.match} '
                f'{" ".join(("via", *self.nexthops)) if self.nexthops else ""}'
                ).rstrip()


@dataclasses.dataclass(frozen=True, slots=True)
class EgressRows(base.Resource):
    """The rows of an egress address at one router, sorted, in one transaction.
    """

    name: str
    # UUID of the Logical_Router row.
    router: str
    nats: tuple[EgressNat, ...]
    policies: tuple[EgressPolicy, ...] = ()
    # (name, addresses).
    address_sets: tuple[tuple[str, tuple[str, ...]], ...] = ()

    kind = 'egress_rows'
    key_fields = ('name', 'router')
    stage = base.Stage.NORTHBOUND
