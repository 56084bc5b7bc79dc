# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The meaning of ``nft -j -n list table`` for a table of ours.

nft does not print a table as it was written. So nft lists the table once after
a load, and a comment in the table has the digests of the text and of that
listing.
"""

from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import hashlib
import json
import re
import typing
from typing import Any
from typing import TypeAlias

from ovn_network_agent import ownership
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import values

#: kind and value of an object in a listing
Item: TypeAlias = tuple[str, dict[str, Any]]
#: digest of a table that has changed since its load
ALTERED = 'altered'

_LISTING = re.compile(r'[0-9a-f]{40}')
_COMMENT = re.compile(r'text:([0-9a-f]+) list:([0-9a-f]+)')
# The elements of these sets change while the table stays.
_CHANGING = (ownership.NFT_NETWORKS, ownership.NFT_PREFIXES,
             ownership.NFT_SNAT, ownership.NFT_GUARDED)
# The fields that differ between two listings of the same table.
_PASSING = ('handle', 'packets', 'bytes', 'used', 'expires', 'index')
_UNORDERED = ('elem', 'set')
_PLAIN = (str, int, bool, type(None))
_PROTOCOLS = {str(number): name for name, number in
              elements.PROTOCOLS.items()} | {
                  name: name for name in elements.PROTOCOLS}


class Unreadable(Exception):
    """The listing was not understood."""


class Listed(typing.NamedTuple):
    """A table as it is in the kernel."""

    # Of the text of the load, or ALTERED.
    digest: str
    # Of the listing, hex.
    listing: str
    # Names of its sets.
    sets: frozenset[str] = frozenset()
    # (set, element) of the sets that change, with the given networks.
    elements: frozenset[tuple[str, str]] = frozenset()
    # The prefixes that the rules use.
    networks: frozenset[str] = frozenset()
    # The targets of translations.
    targets: frozenset[values.Target] = frozenset()
    # The targets whose connections are still to be removed.
    leaving: frozenset[values.Target] = frozenset()
    # Names of its chains.
    chains: frozenset[str] = frozenset()
    # (chain, handle).
    rules: tuple[tuple[str, int], ...] = ()


def check_digest(text: object) -> None:
    """Check the digest of a listing.

    :raises ValueError: when it is none
    """
    if type(text) is not str or not _LISTING.fullmatch(text):
        raise ValueError(f'{text!r} is no digest of ours')


def comment(digest: str, listing: str) -> str:
    """The comment in the table: its text's and its listing's digest."""
    return f'text:{digest} list:{listing}'


@contextlib.contextmanager
def understood() -> Iterator[None]:
    """Raise Unreadable where nft prints no such text."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError,
            StopIteration, RecursionError) as error:
        raise Unreadable(f'the listing of nft was not understood: '
                         f'{type(error).__name__}: {error}') from error


def items(*listings: str) -> list[Item]:
    """The objects of listings; only in :func:`understood`."""
    return [next(iter(item.items())) for listing in listings
            for item in json.loads(listing)['nftables']]


def parse(*listings: str) -> Listed:
    """Parse the listing of a table, or the listings of some of its sets.

    :raises Unreadable: when nft prints no such text
    """
    with understood():
        return _listed(items(*listings))


def _listed(items: list[Item]) -> Listed:
    sets = {value['name']: value for kind, value in items if kind == 'set'}
    contents = {name: value.get('elem', []) for name, value in sets.items()}
    found = digest(items)
    networks, unknown = _networks(contents.get(ownership.NFT_NETWORKS, []))
    prefixes = frozenset(
        f'{pair["concat"][0]}/{pair["concat"][1]}'
        for pair in contents.get(ownership.NFT_PREFIXES, []))
    text, listed = stamp(items)
    intact = (listed == found and not unknown and
              networks == frozenset(elements.outer(prefixes)))
    return Listed(
        text if intact else ALTERED, found, frozenset(sets),
        frozenset([(ownership.NFT_NETWORKS, prefix) for prefix in prefixes] +
                  [(name, element)
                   for name in (ownership.NFT_SNAT, ownership.NFT_GUARDED)
                   for element in contents.get(name, [])]),
        networks, _targets(contents.get(ownership.NFT_TARGETS, [])),
        _targets(contents.get(ownership.NFT_LEAVING, [])),
        frozenset(value['name'] for kind, value in items if kind == 'chain'),
        tuple((value['chain'], value['handle']) for kind, value in items
              if kind == 'rule'))


def digest(items: list[Item], changing: Collection[str] = _CHANGING) -> str:
    """Digest of the items of a table, 40 hex digits.

    :param changing: names of the sets and maps whose elements do not count
    """
    kept = []
    for kind, value in items:
        name = value.get('name')
        if (kind == 'metainfo' or kind == 'rule' and
                value.get('chain') == ownership.NFT_LOADED or
                kind == 'set' and name == ownership.NFT_LEAVING):
            continue
        if kind in ('set', 'map') and name in changing:
            value = {key: of for key, of in value.items() if key != 'elem'}
        kept.append([kind, _lasting(value)])
    # Chains have the order of their handles; that of rules in one counts.
    return hashlib.sha256(json.dumps(
        kept, sort_keys=True).encode()).hexdigest()[:40]


def _lasting(value: Any) -> Any:
    """A list or dict without the fields that change, with sorted sets."""
    if isinstance(value, list):
        return [of if type(of) in _PLAIN else _lasting(of) for of in value]
    kept = {}
    for key, of in value.items():
        if key in _PASSING:
            continue
        if type(of) not in _PLAIN:
            of = _lasting(of)
            if key in _UNORDERED and isinstance(of, list):
                of.sort(key=repr)
        kept[key] = of
    return kept


def stamp(items: list[Item]) -> tuple[str, str]:
    """(digest of the text, digest of the listing) of the load."""
    for kind, value in items:
        if kind == 'rule' and value.get('chain') == ownership.NFT_LOADED:
            match = _COMMENT.fullmatch(value.get('comment', ''))
            if match:
                return match[1], match[2]
    return ALTERED, ''


def _networks(contents: list[Any]) -> tuple[frozenset[str], bool]:
    """(prefixes of a set of intervals, whether there are other elements)."""
    prefixes = set()
    unknown = False
    for element in contents:
        if isinstance(element, str):
            length = 128 if ':' in element else 32
            prefixes.add(f'{element}/{length}')
        elif 'prefix' in element:
            of = element['prefix']
            prefixes.add(f'{of["addr"]}/{of["len"]}')
        else:
            unknown = True
    return frozenset(prefixes), unknown


def _targets(contents: list[Any]) -> frozenset[values.Target]:
    targets = set()
    for element in contents:
        proto, vip, port, destination, dest_port = element['concat']
        targets.add((_PROTOCOLS[str(proto)], vip, port, destination,
                     dest_port))
    return frozenset(targets)
