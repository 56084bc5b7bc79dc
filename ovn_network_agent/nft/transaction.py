# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Transactions: the standard input of nft, made only by this module.

All arguments are checked here, and the :class:`values.Table` by
:mod:`nft.values`: no text of a caller reaches nft unchecked.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import re
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import listing
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import values

TABLE = ownership.NFT_TABLE
# A comment has at most 127 bytes (NFTNL_UDATA_COMMENT_MAXLEN).
_TEXT_DIGEST = re.compile(r'[0-9a-f]{8,64}')
# No other program uses these.
_OWN = (ownership.NFT_PREFIXES, ownership.NFT_TARGETS, ownership.NFT_LEAVING)
# By the name of a set.
_Contents = Mapping[str, list[Any]]
_CHANGED = (ownership.NFT_NETWORKS, ownership.NFT_PREFIXES,
            ownership.NFT_SNAT, ownership.NFT_GUARDED)


def replacement(table: values.Table, contents: _Contents, leaving: list[Any]
                ) -> str:
    """Replace any table of the same name.

    :param contents: elements by set, with all networks, see
        :mod:`nft.elements`
    :param leaving: :data:`values.Target` of the former table that this one
        lacks
    :raises ValueError: for a value that is refused
    """
    family = table.family
    filled = _filled(table, contents, leaving)
    return ''.join((
        rendering.removal(family), _declared(table),
        *_elements('add', family, filled)))


def extension(table: values.Table, contents: _Contents, present: _Contents,
              leaving: list[Any]) -> str:
    """Put the rules of a table behind the present rules, the first step.

    The kernel removes the elements of a set at once, so a packet in the rule
    that uses it would find none there. After this step, the packet finds the
    element in the next rule.

    Other arguments and exceptions are those of :func:`replacement`.

    :param present: elements by set, with the networks that the rules use
    """
    family = table.family
    filled = _filled(table, contents, leaving)
    removed = {name: sorted(set(found) - set(filled.get(name, [])))
               for name, found in present.items()
               if name in rendering.sets(table) and name in _CHANGED}
    new = {name: sorted(set(found) - set(present.get(name, [])))
           if name in removed else found for name, found in filled.items()}
    return ''.join((
        _declared(table),
        *(f'flush set {family} {TABLE} {name}\n' for name in _OWN),
        *_elements('delete', family, removed),
        *_elements('add', family, new)))


def pruning(family: str, rules: list[Any], chains: list[str], sets: list[str]
            ) -> str:
    """Remove the former parts of the table, the second step.

    :param rules: (chain, handle)
    """
    elements.check_family(family)
    for name in (*(chain for chain, _handle in rules), *chains, *sets):
        if not values.is_name(name):
            raise ValueError(f'{name!r} is no name of a chain or set')
    for _chain, handle in rules:
        if type(handle) is not int or not 0 < handle < 1 << 64:
            raise ValueError(f'{handle!r} is no handle of a rule')
    return ''.join((
        *(f'delete rule {family} {TABLE} {chain} handle {handle}\n'
          for chain, handle in rules),
        *(f'delete chain {family} {TABLE} {name}\n' for name in chains),
        *(f'delete set {family} {TABLE} {name}\n' for name in sets)))


def change(family: str, deletes: _Contents, adds: _Contents) -> str:
    """Remove elements, and add elements, which the set may already have.

    Packets see no order. But nft adds a network only after the removal of a
    network around it.
    """
    elements.check_family(family)
    for name in (*deletes, *adds):
        if type(name) is not str or name not in _CHANGED:
            raise ValueError(f'{name!r} is no set that is changed')
    return ''.join((*_elements('delete', family, deletes),
                    *_elements('add', family, adds)))


def stamp(family: str, digest: str, listing_digest: str) -> str:
    """Note the load of a table in its comment, and forget leaving targets.

    The digests are of :func:`rendering.digest` and :func:`listing.digest`.
    """
    listing.check_digest(listing_digest)
    if type(digest) is not str or not _TEXT_DIGEST.fullmatch(digest):
        raise ValueError(f'{digest!r} is no digest of ours')
    return (rendering.stamp(family, TABLE,
                            listing.comment(digest, listing_digest)) +
            f'delete set {family} {TABLE} {ownership.NFT_LEAVING}\n')


def _declared(table: values.Table) -> str:
    """A table with all its parts, and without elements."""
    family = table.family
    own = ''.join(
        f'set {name} {{ {elements.declaration(family, name)} }}\n'
        for name in _OWN)
    return (f'table {family} {TABLE} {{\nchain {ownership.NFT_LOADED} {{ }}\n'
            f'{own}{rendering.text(table)}\n}}\n')


def _filled(table: values.Table, contents: _Contents, leaving: list[Any]
            ) -> dict[str, list[Any]]:
    """The elements of the sets of a table, by set, with checked names."""
    sets = rendering.sets(table)
    for name in contents:
        if (type(name) is not str or name not in sets or
                name not in _CHANGED):
            raise ValueError(f'the table has no set {name!r}')
    filled = dict(contents)
    networks = filled.pop(ownership.NFT_NETWORKS, [])
    if networks:
        filled[ownership.NFT_PREFIXES] = networks
        filled[ownership.NFT_NETWORKS] = elements.outer(networks)
    filled[ownership.NFT_TARGETS] = values.targets(table)
    filled[ownership.NFT_LEAVING] = leaving
    return filled


def _elements(verb: str, family: str, contents: _Contents) -> Iterator[str]:
    text = elements.added if verb == 'add' else elements.written
    for name, found in contents.items():
        if found:
            listed = ', '.join(text(family, name, element)
                               for element in found)
            yield (f'{verb} element {family} {TABLE} {name} '
                   f'{{ {listed} }}\n')
