# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of what other programs drop, by flows or in nftables."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import typing

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.conf.options import bridges
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import flows
from ovn_network_agent.diagnosis.readers import nft
from ovn_network_agent.nft import filters

# Words of ovs-ofctl for the Ethernet types of IPv4 and ARP, and the words
# for the addresses then.
_TYPES = {None: ('', 'nw'), 0x0800: ('ip', 'nw'), 0x0806: ('arp', 'arp')}
_FIELDS = {'nw': ('nw_src', 'nw_dst'), 'arp': ('arp_spa', 'arp_tpa')}


class Drops(typing.NamedTuple):
    """The flows that drop, and what must not be dropped."""

    addresses: tuple[ip_text.Address, ...]
    bridge: str
    ports: frozenset[int]  # its OpenFlow ports that lead to OVN
    drops: tuple[flows.Drop, ...]


def read_drops(sources: sources.Sources) -> tuple[Drops, ...]:
    """Read the dropping flows of other programs."""
    sources.ovn()
    sources.privileged()
    segments, found = sources.segments(), []
    for bridge in bridges.served(sources.conf):
        try:
            drops = flows.read_drops(sources.conf, bridge)
        except readers.Unread as error:
            raise check.NotChecked(str(error)) from error
        found.append(Drops(sources.announceable(4), bridge, frozenset(
            segment.patch_port for segment in segments
            if segment.bridge == bridge), drops))
    return tuple(found)


def judge_drops(found: Sequence[Drops]) -> list[check.Result]:
    """Warn of each flow that drops packets of this node's addresses.

    One that drops those of all addresses, without a condition, is broken.
    """
    results = [each for drops in found for each in _judge_bridge(drops)]
    number = sum(len(drops.drops) for drops in found)
    return results or [check.ok(
        f'of {number:d} flows of other programs that drop, none drops packets '
        'of this node\'s addresses')]


def _judge_bridge(found: Drops) -> Iterator[check.Result]:
    for drop in found.drops:
        affected = _affected(drop, found)
        if affected:
            certain = (not drop.selection.narrow and
                       affected == set(found.addresses))
            yield check.Result(
                check.Verdict.BROKEN if certain else check.Verdict.WARN,
                f'{found.bridge}: the flow with cookie {drop.cookie:#x} and '
                f'"{match(drop)}" of another program drops packets of '
                f'{check.named(affected)}', _remedy(drop, found.bridge))


def _affected(drop: flows.Drop, found: Drops) -> set[ip_text.Address]:
    chosen = drop.selection
    if chosen.ether_type not in _TYPES or not found.addresses:
        return set()
    if not chosen.src and not chosen.dst:
        # Packets that the agent's flows leave alone may be dropped.
        above = drop.priority > ownership.PRIORITY_MAC_TWEAK
        every = above and not chosen.narrow and chosen.ether_type in (
            None, 0x0800) and _passes(chosen.in_port, found.ports, True)
        return set(found.addresses) if every else set()
    affected = set()
    if chosen.dst and _passes(chosen.in_port, (resources.LOCAL,)):
        affected |= _covered(chosen.dst, found.addresses)
    if (chosen.src and drop.priority > ownership.PRIORITY_MAC_TWEAK and
            _passes(chosen.in_port, found.ports)):
        affected |= _covered(chosen.src, found.addresses)
    return affected


def _passes(in_port: int | None, ports: Collection[int], local: bool = False
            ) -> bool:
    return in_port is None or in_port in ports or (
        local and in_port == resources.LOCAL)


def _covered(prefix: str, addresses: Iterable[ip_text.Address]
             ) -> set[ip_text.Address]:
    network = ip_text.network(prefix)
    return {each for each in addresses if each in network}


def match(drop: flows.Drop) -> str:
    """The known match of a flow of IPv4, ARP or both, for ovs-ofctl(8)."""
    chosen = drop.selection
    protocol, family = _TYPES[chosen.ether_type]
    port = ('LOCAL' if chosen.in_port == resources.LOCAL
            else chosen.in_port)
    fields = (('in_port', port), (protocol, ''),
              *zip(_FIELDS[family], (
                  prefix and prefix.removesuffix('/32')
                  for prefix in (chosen.src, chosen.dst)), strict=True))
    return ','.join((f'priority={drop.priority:d}', *(
        f'{name}={value}' if value else name for name, value in fields
        if name and value is not None)))


def _remedy(drop: flows.Drop, bridge: str) -> str:
    if drop.selection.narrow:
        return (f'look at "ovs-ofctl dump-flows {bridge} '
                f'cookie={drop.cookie:#x}/-1", and have its program except '
                'these addresses')
    return ('have its program except these addresses; "ovs-ofctl --strict '
            f'del-flows {bridge} cookie={drop.cookie:#x}/-1,{match(drop)}" '
            'removes the flow')


class Filters(typing.NamedTuple):
    """What other programs drop, and what must not be dropped."""

    addresses: tuple[ip_text.Address, ...]
    found: filters.Found


def read_filters(sources: sources.Sources) -> Filters:
    """Read the dropping rules of other programs in nftables."""
    sources.ovn()
    sources.privileged()
    try:
        found = nft.read_filters()
    except readers.Unread as error:
        raise check.NotChecked(str(error)) from error
    return Filters(sources.announceable(4), found)


def judge_filters(has: Filters) -> Iterator[check.Result]:
    """Warn of each rule that drops packets of this node's addresses.

    A rule that certainly drops the packets of all addresses is broken.
    """
    wrong = False
    for one in has.found.filters:
        affected = {each for each in has.addresses if one.covers(each)}
        if not affected:
            continue
        wrong = True
        what, show = nft.culprit(one)
        certain = one.certain and affected == set(has.addresses)
        yield check.Result(
            check.Verdict.BROKEN if certain else check.Verdict.WARN,
            f'{what} of another program drops '
            f'{"" if one.certain else "some "}packets of '
            f'{check.named(affected)}',
            f'look at "{show}", and have its program except these addresses')
    if not wrong:
        closed = ', '.join(f'"{chain}"' for chain in has.found.closed
                           if not chain.startswith('ip6 '))
        yield check.ok(
            f'of {len(has.found.filters):d} rules of other programs that '
            'drop by address, none names an address of this node' + (
                f'; {closed} drops what its rules do not accept'
                if closed else ''))


CHECKS = (
    check.Check(
        'dropping-flows', 'provider bridge', 'no flow of another program '
        'drops packets of this node\'s addresses', read_drops, judge_drops,
        ('ovs-database', 'nb-database', 'sb-database', 'bridge-mappings')),
    check.Check(
        'packet-filters', 'kernel', 'no rule of another program in nftables '
        'drops packets of this node\'s addresses by name', read_filters,
        judge_filters, ('ovs-database', 'nb-database', 'sb-database')),
)
