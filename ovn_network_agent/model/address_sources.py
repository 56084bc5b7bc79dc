# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What answers for an address of a router, from four sources.  Pure."""

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import typing

from ovn_network_agent import model
from ovn_network_agent.common import networks

_OF_TYPE = {'dnat_and_snat': 'fip', 'snat': 'snat', 'dnat': 'dnat'}


@dataclasses.dataclass(frozen=True, slots=True)
class Sources:
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


def own(router: model.Router) -> dict[str, list[model.GatewayPort]]:
    """The ports that serve addresses of their own, by address."""
    found: dict[str, list[model.GatewayPort]] = {}
    for port in router.ports:
        for interface in map(networks.parse_interface,
                             port.networks if port.served else ()):
            if interface is not None:
                found.setdefault(str(interface.ip), []).append(port)
    return found


def subjects(router: model.Router, address: str, found: Sources,
             ports: Sequence[model.GatewayPort] = ()
             ) -> Iterator[model.ServedAddress]:
    """The answers for an address: one, unless sources disagree.

    Nothing is withheld; ``ports`` have the address, see :func:`own`.
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


def _claims(router: model.Router, address: str, found: Sources,
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
            networks.owner_of(nat, router.ports))
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
    port = networks.owner(balanced.address, router.ports)
    if port.served and (networks.family(balanced.address) == 4 or
                        networks.inside(balanced.address, networks.of_version(
                            6, port.networks))):
        yield _Claim(port, port.mac, 'fip' if balanced.floating else 'vip',
                     not balanced.unanswered, unanswered=balanced.unanswered)
