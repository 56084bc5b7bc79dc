# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The intents to peer in Logical_Router rows.  Pure."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import re

from ovn_network_agent import ownership
from ovn_network_agent.common import control_characters
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.ovsdb import columns

_TARGET, _EXPORT, _IMPORT = (ownership.EXT_ID_PEER_TARGET,
                             ownership.EXT_ID_PEER_EXPORT,
                             ownership.EXT_ID_PEER_IMPORT)
# As a label of a host name, but with a letter first.
_NAME = re.compile('[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?')
# What rules of a firewall call both directions.
_RESERVED = ('internal', 'external')
#: Prefixes that pass, None for all.
Filter = tuple[ip_text.Network, ...] | None


@dataclasses.dataclass(frozen=True, slots=True)
class Intent:
    """What one router says of one peering."""

    target: str  # UUID, name of the row, or name in Neutron
    exports: Filter = None
    imports: Filter = None
    problem: str = ''  # why the intent does not count, in one line, or ''


#: Of Logical_Router; of a key that is in both, the last one counts.
COLUMNS = ('external_ids', 'options')


def options_of(row: columns.Row) -> dict[str, str]:
    """What a row says, by key.

    Neutron replaces external_ids at each update, but keeps others' options,
    and OVN passes over unknown ones.
    """
    return {key: value for column in COLUMNS
            for key, value in columns.entries(row, column).items()}


def names(options: Mapping[str, str]) -> set[str]:
    """The names of peerings that a row mentions, also bad ones."""
    return {key.removeprefix(prefix) for key in options
            for prefix in (_TARGET, _EXPORT, _IMPORT)
            if key.startswith(prefix)}


def keys(name: str) -> tuple[str, ...]:
    """All keys that are about a peering."""
    return _TARGET + name, _EXPORT + name, _IMPORT + name


def read(options: Mapping[str, str]) -> dict[str, Intent]:
    """The intents of a row by name, also bad ones, in the order of names."""
    return {name: _intent(options, name) for name in sorted(names(options))}


def _intent(options: Mapping[str, str], name: str) -> Intent:
    problem = name_objection(name)
    if problem:
        return Intent('', problem=problem)
    target = options.get(_TARGET + name, '').strip()
    if not target:
        return Intent('', problem=f'{_TARGET}{name} names no router; set it '
                      'to the UUID of one, or remove all keys of this name')
    filters: list[Filter] = []
    for prefix in (_EXPORT, _IMPORT):
        try:
            filters.append(_filter(options.get(prefix + name)))
        except ValueError as error:
            return Intent(target, problem=control_characters.line(
                f'{prefix}{name}: {error}'))
    return Intent(target, filters[0], filters[1])


def name_objection(name: str) -> str:
    """Why a peering cannot have a name, or ''."""
    if not _NAME.fullmatch(name):
        return (f'{name!r} is no name of a peer; take 1 to 63 letters, '
                'digits and dashes, with a letter first and no dash last')
    if name.lower() in _RESERVED:
        return f'the name {name!r} is reserved; choose another one'
    return ''


def _filter(text: str | None) -> Filter:
    """The prefixes of a text, separated by commas or blanks.

    :raises ValueError: with what is wrong, and the remedy
    """
    if text is None:
        return None
    found = text.replace(',', ' ').split()
    if not found:
        raise ValueError('it names no prefix; name those that pass, or '
                         'remove the key, and all pass')
    return tuple(_prefixes(found))


def _prefixes(texts: Iterable[str]) -> Iterator[ip_text.Network]:
    for text in texts:
        try:
            yield ip_text.network(text)
        except ValueError as error:
            raise ValueError(f'{text!r} is no prefix ({error}); correct or '
                             'remove it') from error


def passes(prefix: ip_text.Network, *filters: Filter) -> bool:
    """Whether a prefix is inside of one prefix of each filter."""
    return all(chosen is None or any(
        each.prefixlen <= prefix.prefixlen and networks.overlap(each, prefix)
        for each in chosen) for chosen in filters)
