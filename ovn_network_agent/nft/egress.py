# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The nftables table of egress addresses: its text, and its listing. Pure.

Only elements change: by machine and link the egress address, and the machines
and links whose packets leave translated or not at all. A packet without a
connection (invalid, or not tracked) meets no chain of the type nat, and is
dropped behind it.
"""

from collections.abc import Iterable
import functools
import typing
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import listing
from ovn_network_agent.nft import rendering

TABLE = ownership.NFT_EGRESS
_CHANGING = (ownership.NFT_MACHINES, ownership.NFT_ADDRESSES,
             ownership.NFT_HELD)
# A tenant may give a machine an address of the node, whose own packets come by
# no device. Linux before 5.7 knows no such device here.
_OWN = ['iif 0 accept']
# Hosts have to find the address, and may ping it.
_ANSWERED = {'ip': 'icmp', 'ip6': 'ipv6-icmp'}


class Listed(typing.NamedTuple):
    """A table as it is in the kernel."""

    # Of the text of the load, or listing.ALTERED.
    digest: str
    # Of the listing.
    listing: str
    # (machine, link).
    machines: frozenset[tuple[str, str]]
    # (machine, link, egress address).
    sources: frozenset[tuple[str, str, str]]
    # Egress addresses.
    held: frozenset[str] = frozenset()


def family(address: str) -> str:
    """The family of an address for nft: 'ip' or 'ip6'."""
    return 'ip6' if ':' in address else 'ip'


def text(of: str) -> str:
    """What is between the braces of a table of the family."""
    address = elements.ADDRESS_TYPES[of]
    place, mark = f'{of} saddr . oifname', f'{ownership.MARK_EGRESS:#x}'
    return '\n'.join((
        *rendering.braces('set', ownership.NFT_MACHINES,
                          [f'type {address} . ifname']),
        *rendering.braces('map', ownership.NFT_ADDRESSES,
                          [f'type {address} . ifname : {address}']),
        *rendering.braces('set', ownership.NFT_HELD, [f'type {address}']),
        *rendering.braces('chain', ownership.NFT_LOADED, []),
        # What belongs to a connection of a machine is forwarded, and not here.
        *rendering.chain('strangers', ('filter', 'input', 'filter'), [[
            f'{of} daddr @{ownership.NFT_HELD} '
            f'meta l4proto != {_ANSWERED[of]} drop']]),
        # The policy rules of the way back are for answers alone, whose
        # destination is translated before; what is forwarded to a machine on
        # purpose may pass.
        *rendering.chain('answers', ('filter', 'prerouting', 'dstnat + 10'), [
            [f'ct direction reply ct mark and {mark} == {mark} '
             f'meta mark set meta mark or {mark}'],
            ['ct direction reply accept'], ['ct status dnat accept'],
            ['fib daddr type local accept'],
            [f'{of} daddr . iifname @{ownership.NFT_MACHINES} drop']]),
        # Before the chain of port forwarding, which may masquerade.
        *rendering.chain('sources', ('nat', 'postrouting', 'srcnat - 1'), [
            _OWN, [f'{place} @{ownership.NFT_MACHINES} '
                   f'ct mark set ct mark or {mark}'], [
                f'snat {of} to {place} map @{ownership.NFT_ADDRESSES}']]),
        *rendering.chain('untranslated', (
            'filter', 'postrouting', 'srcnat + 10'), [[
                # A tunnel would go by it, too.
                f'meta mark and {mark} == {mark} '
                f'meta mark set meta mark xor {mark}'], _OWN, [
                f'{place} @{ownership.NFT_MACHINES} drop']]))) + '\n'


@functools.cache
def digest(of: str) -> str:
    """The digest by which the agent recognises a table."""
    return rendering.digest(text(of))


def replacement(of: str, machines: Iterable[object],
                sources: Iterable[object], held: Iterable[object]) -> str:
    """Replace any table of the same name.

    :param machines: of (machine, link); unchecked, like the others
    :param sources: of (machine, link, egress address)
    :raises ValueError: for a value that is refused
    :raises TypeError: likewise
    """
    return (rendering.removal(of, TABLE) +
            f'table {of} {TABLE} {{\n{text(of)}}}\n' +
            _elements('add', of, machines, sources, held))


def change(of: str, removed: Iterable[Iterable[object]],
           added: Iterable[Iterable[object]]) -> str:
    """Remove and add (machines, sources, held) of :func:`replacement` at once.
    """
    elements.check_family(of)
    return ''.join(_elements(verb, of, *_fields(each, 3))
                   for verb, each in (('delete', removed), ('add', added)))


def stamp(of: str, listed: str) -> str:
    """Note the load of a table in its comment, with the listing's digest."""
    listing.check_digest(listed)
    return rendering.stamp(of, TABLE, listing.comment(digest(of), listed))


def parse(printed: str) -> Listed:
    """The meaning of ``nft -j -n list table``.

    :raises listing.Unreadable: when nft prints no such text
    """
    with listing.understood():
        items = listing.items(printed)
        found = listing.digest(items, _CHANGING)
        loaded, listed = listing.stamp(items)
        contents = {value['name']: value.get('elem', [])
                    for kind, value in items if kind in ('set', 'map')}
        return Listed(
            loaded if listed == found else listing.ALTERED, found,
            frozenset((each['concat'][0], each['concat'][1]) for each in
                      contents.get(ownership.NFT_MACHINES, [])),
            frozenset((key['concat'][0], key['concat'][1], value)
                      for key, value in
                      contents.get(ownership.NFT_ADDRESSES, [])),
            frozenset(map(ip_text.canonical,
                          contents.get(ownership.NFT_HELD, []))))


def _elements(verb: str, of: str, machines: Any, sources: Any,
              held: Any) -> str:
    version = elements.FAMILIES[of]
    keys = [_place(version, *_fields(each, 2)) for each in machines]
    entries = []
    for each in sources:
        machine, link, address = _fields(each, 3)
        entries.append(f'{_place(version, machine, link)} : '
                       f'{_host(version, address)}')
    return ''.join(
        f'{verb} element {of} {TABLE} {name} {{ {", ".join(found)} }}\n'
        for name, found in ((ownership.NFT_HELD, [
            _host(version, each) for each in held]),
                            (ownership.NFT_ADDRESSES, entries),
                            (ownership.NFT_MACHINES, keys)) if found)


def _fields(value: object, count: int) -> tuple[object, ...]:
    if not isinstance(value, list | tuple) or len(value) != count:
        raise ValueError(f'{value!r} is no element of {count} fields')
    return tuple(value)


def _place(version: int, machine: object, link: object) -> str:
    return f'{_host(version, machine)} . {elements.device(link)}'


def _host(version: int, address: object) -> str:
    found = ip_text.address(elements.plain(address))
    if found.version != version or found.is_multicast or (
            found.is_loopback or found.is_unspecified):
        raise ValueError(f'{address!r} is no address of a host of '
                         f'IPv{version}')
    return str(found)
