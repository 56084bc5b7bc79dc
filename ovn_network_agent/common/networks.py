# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses and provider networks of a router: pure functions."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import functools
import ipaddress
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text

VERSIONS = (4, 6)

# Parsing would take a third of the time of a driver, which reads each address
# several times.
_REMEMBERED = 4096
_parsed = functools.lru_cache(_REMEMBERED)(ip_text.address)
_OF_TYPE = {'dnat_and_snat': 'fip', 'snat': 'snat', 'dnat': 'dnat'}


@functools.lru_cache(_REMEMBERED)
def parse_interface(text: str) -> ip_text.Interface | None:
    """Parse 'address/len', None when malformed."""
    try:
        return ip_text.interface(text)
    except ValueError:
        return None


def unusable(network: ip_text.Network) -> str:
    """Why routes of the agent may not lead to a network of OVN, or ''.

    The privileged side would refuse them.
    """
    if not network.prefixlen:
        return 'is everything'
    if network.prefixlen < ip_text.SHORTEST[network.version]:
        return 'is too wide'
    return 'is of no hosts' if (
        network.is_loopback or network.is_multicast) else ''


def translated(text: str) -> ipaddress.IPv4Network | None:
    """The IPv4 network that a row of type 'snat' translates.

    :param text: ``logical_ip`` of the row, an address or 'address/len'
    :returns: None when malformed, of IPv6, or everything
    """
    source = parse_interface(text)
    if (not isinstance(source, ipaddress.IPv4Interface) or
            not source.network.prefixlen):
        return None
    return source.network


def host_prefix(address: str) -> str:
    """The host prefix of an address: '198.51.100.10/32', or /128 for IPv6.

    :raises ValueError: when the text is no address
    """
    return f'{address}/{_parsed(address).max_prefixlen:d}'


def canonical(text: str) -> str:
    """The usual notation of an address or prefix of more than one address.

    :raises ValueError: when the text is neither
    """
    if '/' not in text:
        return ip_text.canonical(text)
    network = ip_text.network(text)
    return str(network if network.num_addresses > 1
               else network.network_address)


def covers(known: str, wanted: str) -> bool:
    """Whether KNOWN is WANTED, or a prefix with it; both canonical text."""
    return known == wanted or ('/' in known and '/' not in wanted and
                               inside(wanted, [ip_text.network(known)]))


def family(address: str) -> int:
    """The IP version of an address or prefix, 4 or 6.

    :raises ValueError: when the text is no address
    """
    return _parsed(address.partition('/')[0]).version


def family_of_valid(address: str) -> int:
    """As :func:`family`, of a text that is known to be an address or prefix.

    A driver asks about all addresses of a router, and beyond some thousands of
    them each would be parsed again.
    """
    return 6 if ':' in address else 4


def sort_key(address: str) -> tuple[int, int]:
    """The key by which addresses are in the order of their numbers."""
    ip = _parsed(address)
    return ip.version, int(ip)


def virtual_gateway(networks: Iterable[str], version: int = 4) -> str | None:
    """The virtual gateway of a family, None if no network has room for one.

    For IPv4, the last host address of the first network with room, which one
    of length 31 or 32 has not.  For IPv6, the link-local address of the
    segment's device, which is in no network.

    :param networks: 'address/len'
    """
    if version == 6:
        return (ownership.SEGMENT_LINK_LOCAL if of_version(6, networks)
                else None)
    for text in networks:
        interface = parse_interface(text)
        if (interface is not None and interface.version == 4 and
                interface.network.prefixlen <= 30):
            return str(interface.network.broadcast_address - 1)
    return None


def provider_networks(networks: Collection[str], manual: Collection[str] = ()
                      ) -> tuple[ip_text.Network, ...]:
    """Provider networks of a gateway port: IPv4 first, each family sorted.

    :param networks: 'address/len', the column of the router port
    :param manual: configured networks, which replace those of both families
    """
    return tuple(network for version in VERSIONS
                 for network in of_version(version, manual or networks))


def of_version(version: int,
               networks: Iterable[str]) -> tuple[ip_text.Network, ...]:
    """The sorted networks of one family, without link-local ones of IPv6.

    :param networks: 'address/len'
    """
    found: set[ip_text.Network] = set()
    for text in networks:
        interface = parse_interface(text)
        if (interface is not None and interface.version == version and
                not (version == 6 and interface.is_link_local)):
            found.add(interface.network)
    return tuple(sorted(found))


def inside(address: str, networks: Iterable[ip_text.Network]) -> bool:
    """Whether an address is in one of the networks."""
    ip = _parsed(address)
    return any(ip in network for network in networks)


def overlap(one: ip_text.Network, other: ip_text.Network) -> bool:
    """Whether one of two networks contains the other."""
    return one.version == other.version and one.overlaps(other)


def owner_of(nat: model.Nat, ports: Sequence[model.GatewayPort]
             ) -> model.GatewayPort | None:
    """The gateway port that answers for a NAT row, None without ports.

    As in ovn-northd, gateway_port of the row decides, and else the networks of
    the ports (ovn-nb(5), table NAT).
    """
    if not ports:
        return None
    named = next((port for port in ports if port.lrp == nat.gateway_port),
                 None)
    return named or owner(nat.external_ip, ports)


def owner(address: str,
          ports: Sequence[model.GatewayPort]) -> model.GatewayPort:
    """The first port with a network of the address, else the first port."""
    ip = _parsed(address)
    for port in ports:
        for text in port.networks:
            interface = parse_interface(text)
            if interface is not None and ip in interface.network:
                return port
    return ports[0]


class AddressSources(typing.NamedTuple):
    """The sources of one address of a router."""

    nats: Sequence[model.Nat] = ()  # sorted
    balanced: model.BalancedAddress | None = None
    sent: Sequence[str] = ()  # the ports whose nat_addresses have the address


class _Claim(typing.NamedTuple):
    """What one source says about an address."""

    port: model.GatewayPort
    mac: str
    kind: str
    answered: bool = True
    resident: bool = False
    unanswered: str = ''


def own_addresses(router: model.Router) -> dict[str, list[model.GatewayPort]]:
    """The ports that serve addresses of their own, by address."""
    found: dict[str, list[model.GatewayPort]] = {}
    for port in router.ports:
        for interface in map(parse_interface,
                             port.networks if port.served else ()):
            if interface is not None:
                found.setdefault(str(interface.ip), []).append(port)
    return found


def served_addresses(router: model.Router, address: str, found: AddressSources,
                     ports: Sequence[model.GatewayPort] = ()
                     ) -> Iterator[model.ServedAddress]:
    """The answers for an address: one, unless sources disagree.

    Nothing is withheld; ``ports`` have the address, see :func:`own_addresses`.
    """
    by_answer: dict[tuple[str, str], list[_Claim]] = {}
    for claim in _claims(router, address, found, ports):
        by_answer.setdefault((claim.port.lrp, claim.mac), []).append(claim)
    for claims in by_answer.values():
        kinds = {claim.kind for claim in claims}
        yield model.ServedAddress(
            router.uuid, router.called, address, claims[0].mac,
            claims[0].port,
            tuple(kind for kind in model.KINDS if kind in kinds),
            not router.routed_by_ovn and any(
                claim.answered for claim in claims),
            any(claim.resident for claim in claims),
            unanswered=next((claim.unanswered for claim in claims
                             if claim.unanswered), ''))


def _claims(router: model.Router, address: str, found: AddressSources,
            ports: Sequence[model.GatewayPort]) -> Iterator[_Claim]:
    if not router.ports:
        return
    for nat in found.nats:
        yield from _of_nat(router, nat)
    if found.balanced is not None:
        yield from _of_balancer(router, found.balanced)
    for port in ports:
        yield _Claim(port, port.mac, 'router')
    # OVN sends floating IPs, too, and SNAT a moment before NAT has it.
    if found.balanced is None and all(nat.type == 'snat'
                                      for nat in found.nats):
        for port in router.ports:
            if port.served and port.lrp in found.sent:
                yield _Claim(port, port.mac, 'snat')


def _of_nat(router: model.Router, nat: model.Nat) -> Iterator[_Claim]:
    """The port or the machine that answers for a NAT row."""
    port = (router.ports[0] if len(router.ports) == 1 else
            owner_of(nat, router.ports))
    if port is None:
        return
    if nat.resident and port.hosting:
        yield _Claim(port, nat.distributed_mac, 'fip', resident=True)
    elif port.served:
        yield _Claim(port, nat.distributed_mac or port.mac,
                     _OF_TYPE.get(nat.type, 'dnat'),
                     answered=not nat.distributed_mac)


def _of_balancer(router: model.Router,
                 balanced: model.BalancedAddress) -> Iterator[_Claim]:
    """The port that answers for a virtual IP; none for a tenant's of IPv6."""
    port = owner(balanced.address, router.ports)
    if port.served and (family(balanced.address) == 4 or
                        inside(balanced.address, of_version(
                            6, port.networks))):
        yield _Claim(port, port.mac, 'fip' if balanced.floating else 'vip',
                     not balanced.unanswered, unanswered=balanced.unanswered)
