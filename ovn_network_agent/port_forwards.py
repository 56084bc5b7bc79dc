# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Port forwarding as frozen values: VIPs, their rules and destinations.

Plain values without I/O, like :mod:`ovn_network_agent.model`.  They come from
the rules file (:mod:`ovn_network_agent.forward.rules`).  Before drivers see
the values, the agent adds its own findings: the health of destinations, the
present addresses and the local gateways.
"""

from collections.abc import Iterable
import dataclasses
import typing

from ovn_network_agent import iptext

if typing.TYPE_CHECKING:
    # The model imports this module.
    from ovn_network_agent import model


@dataclasses.dataclass(frozen=True, slots=True)
class HealthCheck:
    """How to check a destination.

    :ivar kind: 'tcp' for a check that makes a connection, or 'http' for a
        check that also wants one of ``statuses`` as the answer
    :ivar interval: seconds from one check to the next
    :ivar timeout: most seconds for one check
    :ivar rise: number of good checks in a row after which a dead destination
        is alive
    :ivar fall: number of bad checks in a row after which a destination is dead
    :ivar port: TCP port to check, 0 for the port of the destination
    :ivar path: of the HTTP request, '/health'
    :ivar host: its Host header, '' for the address of the destination
    :ivar statuses: (first, last) of the good status codes
    """

    kind: str
    interval: float = 2.0
    timeout: float = 1.0
    rise: int = 2
    fall: int = 3
    port: int = 0
    path: str = '/'
    host: str = ''
    statuses: tuple[tuple[int, int], ...] = ((200, 399),)


@dataclasses.dataclass(frozen=True, slots=True)
class Destination:
    """One destination of a rule.

    :ivar address: IP address, canonical text
    :ivar weight: share of the clients, relative to the other destinations of
        the rule; with 0 it gets no new clients and keeps its clients
    :ivar alive: False when its health check has failed; True without a result
    :ivar why: the result for which it is dead, or ''; this text is
        for people, and does not count in comparisons
    """

    address: str
    weight: int = 1
    alive: bool = True
    why: str = dataclasses.field(default='', compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """The treatment of one port of a VIP.

    :ivar proto: 'tcp' or 'udp'
    :ivar port: destination port of the client's packets
    :ivar dest_port: port of the destinations, never 0
    :ivar destinations: in the order of the file
    :ivar masquerade: whether destinations see an address of this node instead
        of the client's, by the rule or else by its VIP
    """

    proto: str
    port: int
    dest_port: int
    destinations: tuple[Destination, ...]
    masquerade: bool = False
    check: HealthCheck | None = None

    @property
    def usable(self) -> tuple[Destination, ...]:
        """The destinations that get clients.

        If no destination is alive, these are all destinations with a weight: a
        refusal tells a client more than silence.
        """
        weighted = tuple(b for b in self.destinations if b.weight)
        return tuple(b for b in weighted if b.alive) or weighted


@dataclasses.dataclass(frozen=True, slots=True)
class Vip:
    """An address whose ports are forwarded.

    :ivar address: IP address, canonical text
    :ivar managed: whether the agent puts the address on the device
        (manage_vip)
    :ivar hairpin_masquerade: masquerade packets from provider networks
    :ivar router_masquerade: masquerade packets from the SNAT addresses of the
        active routers of this node
    :ivar rules: in the order of the file, not empty
    :ivar present: whether the node has the address from another source than
        the agent; False for a managed VIP
    :ivar taken: the router or port on this node with the address, such as
        'router web', or ''
    """

    address: str
    managed: bool = False
    hairpin_masquerade: bool = False
    router_masquerade: bool = False
    rules: tuple[Rule, ...] = ()
    present: bool = False
    taken: str = ''

    @property
    def version(self) -> int:
        """4 or 6."""
        return iptext.address(self.address).version

    @property
    def dead(self) -> bool:
        """Whether no destination is left, so that the VIP has to be withdrawn.

        One live destination of one rule keeps the VIP.
        """
        return not any(each.alive and each.weight
                       for rule in self.rules for each in rule.destinations)


@dataclasses.dataclass(frozen=True, slots=True)
class Forwards:
    """All port forwards of the node.

    :ivar vips: in the order of the file
    :ivar gateway: whether this node forwards for the gateway of a router,
        also during its handover; None before the answer of OVN
    :ivar links: the devices of this node that share a link with a destination
        of IPv4, sorted; see :mod:`forward.neighbours`
    """

    vips: tuple[Vip, ...] = ()
    gateway: bool | None = None
    links: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Extent:
    """The part of the rules that routers need; this part seldom changes.

    :ivar versions: 4 and 6, the families with a VIP
    :ivar routers: the same, the families with a router_masquerade
    """

    versions: tuple[int, ...] = ()
    routers: tuple[int, ...] = ()


def extent(forwards: Forwards) -> Extent:
    """The part that routers need."""
    vips = [vip for vip in forwards.vips if not vip.taken]
    return Extent(
        tuple(sorted({vip.version for vip in vips})),
        tuple(sorted({vip.version for vip in vips if vip.router_masquerade})))


def taken(vips: Iterable[Vip],
          view: 'model.Snapshot') -> frozenset[tuple[str, str]]:
    """The VIPs that are addresses of routers or machines on this node.

    These keep such an address, because the operator must not use the address
    of a tenant.  An address that is withheld from a machine is free.

    :returns: (address, who has it)
    """
    addresses = {vip.address for vip in vips}
    if not addresses:
        return frozenset()
    return frozenset((
        *((each.address, f'router {each.called}')
          for known in view.addresses.values() for each in known.values()
          if each.answered and each.address in addresses and
          not each.port.vni),
        *((each.address, f'port {each.port}')
          for machines in view.machines.values() for each in machines.values()
          if each.address in addresses and
          not (each.withheld or each.claimed or each.network.vni))))
