# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Port forwarding as frozen values: VIPs, their rules and destinations.

From :mod:`ovn_network_agent.forward.rules`; the agent adds the health of
destinations, present addresses and local gateways.
"""

from collections.abc import Iterable
import dataclasses
import typing

from ovn_network_agent.common import ip_text

if typing.TYPE_CHECKING:
    # The model imports this module.
    from ovn_network_agent import model


class HealthCheck(typing.NamedTuple):
    """How to check a destination."""

    # 'tcp' connects; 'http' also wants one of ``statuses``.
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
    # Share of the clients; 0: no new ones, and the old ones stay.
    weight: int = 1
    alive: bool = True  # whether its health check has not failed
    # For people, so it does not count in comparisons.
    why: str = dataclasses.field(default='', compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """The treatment of one port of a VIP."""

    proto: str  # 'tcp' or 'udp'
    port: int  # destination port of the client's packets
    dest_port: int  # of the destinations, never 0
    destinations: tuple[Destination, ...]  # in the order of the file
    # Whether destinations see an address of this node as the client's.
    masquerade: bool = False
    check: HealthCheck | None = None

    @property
    def usable(self) -> tuple[Destination, ...]:
        """The living, else all with a weight.

        A refusal tells a client more than silence.
        """
        weighted = tuple(b for b in self.destinations if b.weight)
        return tuple(b for b in weighted if b.alive) or weighted


class Vip(typing.NamedTuple):
    """An address whose ports are forwarded."""

    address: str  # canonical text
    # Whether the agent puts it on the device (manage_vip).
    managed: bool = False
    hairpin_masquerade: bool = False  # packets from provider networks
    # Packets from the SNAT addresses of the active routers of this node.
    router_masquerade: bool = False
    rules: tuple[Rule, ...] = ()  # in the order of the file, not empty
    # Whether another source than the agent gives it; not if managed.
    present: bool = False
    # The router or port here with the address ('router web'), or ''.
    taken: str = ''

    @property
    def version(self) -> int:
        """4 or 6."""
        return ip_text.address(self.address).version

    @property
    def dead(self) -> bool:
        """Whether to withdraw the VIP: no rule has a live destination."""
        return not any(each.alive and each.weight
                       for rule in self.rules for each in rule.destinations)


class Forwards(typing.NamedTuple):
    """All port forwards of the node."""

    vips: tuple[Vip, ...] = ()  # in the order of the file
    # Whether this node forwards for a router's gateway, handovers included;
    # None before OVN's answer.
    gateway: bool | None = None
    # Sharing a link with an IPv4 destination; :mod:`forward.node_addresses`.
    links: tuple[str, ...] = ()


class Extent(typing.NamedTuple):
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
    """The VIPs that routers or machines on this node have, and who.

    An operator must not use a tenant's address; a withheld one is free.
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
