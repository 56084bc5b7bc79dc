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

from ovn_network_agent.common import ip_text

if typing.TYPE_CHECKING:
    # The model imports this module.
    from ovn_network_agent import model


@dataclasses.dataclass(frozen=True, slots=True)
class HealthCheck:
    """How to check a destination."""

    # 'tcp' for a check that makes a connection; 'http' for one that also wants
    # one of ``statuses`` as the answer.
    kind: str
    interval: float = 2.0  # seconds from one check to the next
    timeout: float = 1.0  # most seconds for one check
    # Good checks in a row after which a dead destination is alive.
    rise: int = 2
    fall: int = 3  # bad checks in a row after which a destination is dead
    port: int = 0  # to check, 0 for the port of the destination
    path: str = '/'
    host: str = ''  # header of the HTTP request, '' for the address
    # (first, last) of the good status codes.
    statuses: tuple[tuple[int, int], ...] = ((200, 399),)


@dataclasses.dataclass(frozen=True, slots=True)
class Destination:
    """One destination of a rule."""

    address: str  # canonical text
    # Share of the clients, relative to the other destinations of the rule;
    # with 0 it gets no new clients and keeps its clients.
    weight: int = 1
    alive: bool = True  # whether its health check has not failed
    # The result for which it is dead, or ''; for people, so it does not count
    # in comparisons.
    why: str = dataclasses.field(default='', compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """The treatment of one port of a VIP."""

    proto: str  # 'tcp' or 'udp'
    port: int  # destination port of the client's packets
    dest_port: int  # of the destinations, never 0
    destinations: tuple[Destination, ...]  # in the order of the file
    # Whether destinations see an address of this node instead of the client's,
    # by the rule or else by its VIP.
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
    """An address whose ports are forwarded."""

    address: str  # canonical text
    # Whether the agent puts it on the device (manage_vip).
    managed: bool = False
    hairpin_masquerade: bool = False  # packets from provider networks
    # Packets from the SNAT addresses of the active routers of this node.
    router_masquerade: bool = False
    rules: tuple[Rule, ...] = ()  # in the order of the file, not empty
    # Whether the node has the address from another source than the agent;
    # False for a managed VIP.
    present: bool = False
    # The router or port on this node with the address, such as 'router web',
    # or ''.
    taken: str = ''

    @property
    def version(self) -> int:
        """4 or 6."""
        return ip_text.address(self.address).version

    @property
    def dead(self) -> bool:
        """Whether no destination is left, so that the VIP has to be withdrawn.

        One live destination of one rule keeps the VIP.
        """
        return not any(each.alive and each.weight
                       for rule in self.rules for each in rule.destinations)


@dataclasses.dataclass(frozen=True, slots=True)
class Forwards:
    """All port forwards of the node."""

    vips: tuple[Vip, ...] = ()  # in the order of the file
    # Whether this node forwards for the gateway of a router, also during its
    # handover; None before the answer of OVN.
    gateway: bool | None = None
    # The devices of this node that share a link with a destination of IPv4,
    # sorted; see :mod:`forward.neighbours`.
    links: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Extent:
    """The part of the rules that routers need; this part seldom changes."""

    versions: tuple[int, ...] = ()  # 4 and 6, the families with a VIP
    # The same, the families with a router_masquerade.
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
