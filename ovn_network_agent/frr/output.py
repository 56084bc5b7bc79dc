# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Strict parsers of vtysh's output.  Pure.

Static routes come from the running configuration, and only if it is complete:
no JSON of FRR has one whose next hop is down, which staticd announces when the
next hop is back.  A line in an unknown notation counts as another program's
route, so at worst routes are added again, never removed by mistake.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import functools
import json
import re
import typing
from typing import Any

from ovn_network_agent.common import ip_text

_BEGIN = 'Building configuration...'
_CURRENT = 'Current configuration:'
_END = 'end'
_ROUTES = ('ip route ', 'ipv6 route ')
_VERSION = re.compile(r'frr version (\d{1,4})')
_MGMTD_VERSION = 9
# vtysh of FRR 10 prints {"zebra":} for a daemon without a prefix list
_NO_ANSWER = re.compile(r'"(\w+)":(?=[,}])')
#: cached: lists are read again and again, and rarely change
network = functools.lru_cache(4096)(ip_text.network)
_ANY = 'any'


class Unreadable(ValueError):
    """Output in an unknown format, or incomplete output."""


class Entry(typing.NamedTuple):
    """An entry of a prefix list; ge and le are 0 when not given."""

    sequence: int
    action: str
    prefix: str
    ge: int
    le: int


def split(text: str) -> tuple[set[str], list[str]]:
    """Daemons and configuration, see :func:`daemons` and :func:`parts`."""
    before, configuration = parts(text)
    return daemons(before), configuration


def parts(text: str) -> tuple[list[str], list[str]]:
    """Lines before and of the configuration; Unreadable without its end."""
    lines = text.split('\n')
    try:
        begin = lines.index(_BEGIN)
        current = lines.index(_CURRENT, begin)
        end = lines.index(_END, current)
    except ValueError as error:
        raise Unreadable('vtysh did not show the whole running '
                         'configuration') from error
    return lines[:begin], lines[current + 1:end]


def daemons(lines: Iterable[str]) -> set[str]:
    """Names in 'show daemons', which are indented, unlike vtysh's messages."""
    return {name for line in lines if line.startswith(' ')
            for name in line.split()}


def is_version(line: str) -> bool:
    """Whether a line of the configuration names the version of FRR."""
    return _VERSION.match(line) is not None


def holders(lines: Iterable[str]) -> tuple[str, ...]:
    """Daemons that have to run to show and accept static routes.  Without
    mgmtd, FRR 9 and later show none, though zebra has them.
    """
    versions = [int(found[1]) for found in map(_VERSION.match, lines)
                if found]
    of_all = ('mgmtd',) if max(versions, default=0) >= _MGMTD_VERSION else ()
    return (*of_all, 'zebra', 'staticd')


def static_routes(lines: Iterable[str], vrf: str) -> list[tuple[str, str]]:
    """(prefix, rest of the line) of one VRF's static routes."""
    found = []
    section: str | None = None
    for line in lines:
        indented = line.startswith(' ')
        if not indented:
            section = line.removeprefix('vrf ') if line.startswith(
                'vrf ') else None
        if indented == bool(vrf) and (not vrf or section == vrf):
            words = line.strip()
            if words.startswith(_ROUTES):
                prefix, _blank, rest = words.partition(' route ')[2].partition(
                    ' ')
                found.append((prefix, rest.strip()))
    return found


def known_routes(text: str) -> set[str]:
    """Prefixes of zebra's routes, also unselected, in 'show ip route ...
    json'; may raise :class:`Unreadable`.
    """
    return {prefix for document in json_documents(text, _without_values)
            for prefix in document}


def _without_values(pairs: Iterable[tuple[str, object]]) -> dict[str, None]:
    """The names alone: 95 bytes for a route, 1,280 with all values."""
    return dict.fromkeys(name for name, _value in pairs)


def prefix_list(text: str, name: str) -> list[Entry] | None:
    """The lists of a name in a daemon's 'show ip prefix-list <name> json',
    None without one; may raise :class:`Unreadable`.
    """
    found: list[Entry] | None = None
    try:
        for document in json_documents(_NO_ANSWER.sub(r'"\1":{}', text)):
            for asked, shown in named(document, 'entries'):
                if asked != name:
                    raise Unreadable(f'FRR shows {asked!r} in place of the '
                                     f'prefix list {name!r}')
                found = (found or []) + _entries(shown)
    except (AttributeError, KeyError, TypeError) as error:
        raise Unreadable(
            f'prefix list in JSON of FRR: {error!r}') from error
    return found


def named(document: Mapping[str, Any],
          member: str) -> Iterator[tuple[str, Any]]:
    """The objects that a daemon shows by name, such as its route maps.

    FRR 8 and 9 put the daemon's name around them; in FRR 10 only vtysh does
    so, and prints no value for a daemon that has none.

    :param member: name of a list that each of the objects has
    :raises AttributeError: when the document has another shape
    :raises Unreadable: for a document of several daemons
    """
    if len(document) > 1:
        raise Unreadable(f'FRR shows {", ".join(sorted(document))} in place '
                         'of one object')
    for name, shown in document.items():
        # an object may have the name of a daemon
        if isinstance(shown.get(member), list):
            yield name, shown
        else:
            yield from shown.items()


def json_documents(text: str,
                   made: Callable[[list[tuple[str, Any]]], Any] | None = None
                   ) -> Iterator[dict[str, Any]]:
    """The JSON objects that follow each other in a text, each made when asked
    for: thousands at once take ten times the memory of their text.

    :param made: makes the dict of each object, also of inner ones
    :raises Unreadable: when the text has anything else, on the way
    """
    decoder = json.JSONDecoder(object_pairs_hook=made)
    position = 0
    text = text.strip()
    while position < len(text):
        try:
            document, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise Unreadable(
                'FRR did not answer in JSON: '
                f'{text[position:position + 80]!r}') from error
        if not isinstance(document, dict):
            raise Unreadable('FRR answered in JSON without an object: '
                             f'{text[:80]!r}')
        yield document
        while position < len(text) and text[position].isspace():
            position += 1


def _entries(shown: Mapping[str, Any]) -> list[Entry]:
    by_sequence = {}
    for entry in shown['entries']:
        made = Entry(
            entry['sequenceNumber'], entry['type'], entry['prefix'],
            entry.get('minimumPrefixLength', 0),
            entry.get('maximumPrefixLength', 0))
        _check(made)
        by_sequence[made.sequence] = made
    return list(by_sequence.values())


def _check(entry: Entry) -> None:
    """TypeError for a value of another type, Unreadable for no network."""
    if not (isinstance(entry.action, str) and isinstance(entry.prefix, str)
            and all(type(number) is int for number in (
                entry.sequence, entry.ge, entry.le))):
        raise TypeError(f'{entry!r} is no entry')
    if entry.prefix != _ANY:
        try:
            network(entry.prefix)
        except ValueError as error:
            raise Unreadable(f'entry of a prefix list: {error}') from error
