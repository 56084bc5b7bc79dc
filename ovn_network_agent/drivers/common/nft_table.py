# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The nftables table of port forwarding, from rules to frozen values.

Pure.  :mod:`nft.rendering` says what nft reads for these values.
"""

from collections.abc import Iterable
import dataclasses
import functools
import itertools
import math

from ovn_network_agent import resources
from ovn_network_agent.drivers.common import consistent_hashing
from ovn_network_agent.model import port_forwards
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import values


@dataclasses.dataclass(frozen=True, slots=True)
class Manner:
    """The part of the configuration that the table depends on."""

    # Of connection tracking.
    zone: int
    # 'jhash' or 'consistent'.
    balance: str
    # Whether VIPs are in a VRF, so that replies have to go back there.
    vrf: bool
    vnis: bool = False


def family(version: int) -> str:
    """Name of an address family for nft: 'ip' or 'ip6'."""
    return 'ip' if version == 4 else 'ip6'


def wanted(version: int, vips: Iterable[port_forwards.Vip],
           manner: Manner) -> resources.NftTable:
    """The table of one family, for at least one VIP of that family."""
    table = values.Table(
        family(version), manner.zone, manner.vrf,
        tuple(_vip(vip, manner.balance) for vip in vips), manner.vnis)
    return resources.NftTable(
        table.family, rendering.digest(rendering.text(table)), table,
        tuple(values.targets(table)))


def _vip(vip: port_forwards.Vip, balance: str) -> values.Vip:
    return values.Vip(
        vip.address, vip.hairpin_masquerade, vip.router_masquerade,
        tuple(_service(rule, balance) for rule in vip.rules))


# Each death of a destination asks for all rules.
@functools.lru_cache(maxsize=16384)
def _service(rule: port_forwards.Rule, balance: str) -> values.Service:
    usable = rule.usable
    return values.Service(
        rule.proto, rule.port, rule.dest_port, rule.masquerade,
        tuple(values.Destination(each.address, each.alive or each in usable)
              for each in rule.destinations),
        _shares(rule, balance))


def _shares(rule: port_forwards.Rule, balance: str
            ) -> tuple[tuple[int, int], ...]:
    """The share of the clients that each destination of a rule gets.

    :returns: (index in ``rule.destinations``, number of buckets), see
        :func:`nft.rendering.balance`
    """
    usable = rule.usable
    places = {destination.address: index
              for index, destination in enumerate(rule.destinations)}
    if len(usable) == 1:
        return ((places[usable[0].address], 1),)
    if balance == 'consistent' and usable:
        weights = frozenset((each.address, each.weight)
                            for each in rule.destinations if each.weight)
        gone = frozenset(address for address, _weight in weights) - {
            destination.address for destination in usable}
        return tuple(
            (places[address], len(list(same))) for address, same
            in itertools.groupby(consistent_hashing.owners(weights, gone)))
    common = math.gcd(*(destination.weight for destination in usable))
    return tuple((places[destination.address], destination.weight // common)
                 for destination in usable)
