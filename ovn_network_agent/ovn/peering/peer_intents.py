# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The intents to peer, in Logical_Router rows and in a file of the operator.

An entry names both routers, so both agree.  A flaw costs the entry, or the
file if its entries cannot be told apart.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import re
import typing
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.files import file_problems
from ovn_network_agent.files import reading
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
#: Of Logical_Router; of a key that is in both, the last one counts.
COLUMNS = ('external_ids', 'options')
#: The table of the ends, for sources.
TABLE = ('file', 'network_peer')
OPTION = '[network_peer] peers_file'
_KEY = 'network_peers'

_Written = dict[str, Any]  # a mapping of the file

_PEERING = {'type': 'string', 'description': 'a name for the peering'}
_ROUTER = {'type': 'string', 'minLength': 1,
           'description': 'a router, by its UUID or name, in quotes where '
                          'YAML takes it for something else'}
_PREFIXES = {'type': 'array', 'minItems': 1,
             'items': {'type': 'string', 'description': 'a prefix'},
             'description': 'a list of one or more prefixes; without it, all '
                            'pass'}
_END = {
    'type': ['string', 'object'],
    'description': 'a router, or a mapping with "router" and more',
    'required': ['router'],
    'additionalProperties': False,
    'properties': {'router': _ROUTER, 'name': _PEERING, 'export': _PREFIXES,
                   'import': _PREFIXES}}
_ENTRY = {
    'type': 'object',
    'description': 'a mapping with "name" and "routers"',
    'required': ['routers'],
    'additionalProperties': False,
    'properties': {
        'name': _PEERING,
        'routers': {'type': 'array', 'minItems': 2, 'maxItems': 2,
                    'items': _END, 'description': 'a list of two routers'}}}
SCHEMA = reading.schema_of_list(_KEY, _ENTRY, 'peerings')


class Intent(typing.NamedTuple):
    """What one router says of one peering."""

    target: str  # UUID, name of the row, or name in Neutron
    exports: Filter = None
    imports: Filter = None
    problem: str = ''  # why the intent does not count, in one line, or ''


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
            return Intent(target, problem=wording.one_line(
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


class End(typing.NamedTuple):
    """One end of a peering in the file, a row of :data:`TABLE`."""

    uuid: str  # the key of the row
    router: str  # any name of the router, see peer_routers.resolve()
    name: str
    intent: Intent


def load(conf: Any) -> reading.Content[End]:
    """The configured file's content, nothing without one; raises BadFile."""
    path = conf.network_peer.peers_file
    return (parse(reading.read(path, OPTION), path) if path
            else reading.Content({}))


# A start parses the file for its problems, its warnings, and its values.
@functools.lru_cache(maxsize=1)
def parse(content: bytes, name: str) -> reading.Content[End]:
    """The ends in the content of a file; see :func:`load`."""
    return reading.parse_entries(content, name, SCHEMA, _Peerings,
                                 'this peering is left out')


class _Peerings(reading.EntryParser[End]):
    """Makes the ends of the peerings of one file."""

    def __init__(self, document: Any) -> None:
        super().__init__(document)
        # Of the entries with known ends, by their keys.
        self._lines: dict[str, int] = {}

    def objections(self, path: file_problems.Path,
                   entry: Mapping[str, Any]) -> Iterator[reading.Objection]:
        """See :class:`reading.EntryParser`."""
        yield from _objections(path, entry, [*_written(entry)], self._lines)

    def make(self, path: file_problems.Path,
             entry: Mapping[str, Any]) -> Iterator[End]:
        """Both ends of an entry."""
        for end in _ends([*_written(entry)]):
            self._lines[end.uuid] = self.document.line(path)
            yield end


def _key(end: _Written) -> str:
    return f'{TABLE[0]} {end["router"]}/{end["name"]}'


def _written(entry: Mapping[str, Any]) -> Iterator[_Written]:
    """Both ends of an entry as mappings with a name."""
    for each in entry['routers']:
        end = each if isinstance(each, dict) else {'router': each}
        yield {'name': entry.get('name', ''), **end,
               'router': end['router'].strip()}


def _objections(path: file_problems.Path, entry: Mapping[str, Any],
                ends: Sequence[_Written],
                lines: Mapping[str, int]) -> Iterator[reading.Objection]:
    """What is wrong in an entry; lines are those of known ends, by key."""
    if ends[0]['router'] == ends[1]['router']:
        yield ((*path, 'routers'), file_problems.NOTHING,
               'names one router twice; name the other one')
    for index, end in enumerate(ends):
        at = (*path, 'routers', index)
        name = end['name']
        objection = name_objection(name) if name else (
            'is missing; name the peering here, or at both routers')
        if objection:
            yield ((*(path if name == entry.get('name', '') else at), 'name'),
                   file_problems.NOTHING, objection)
        if _key(end) in lines:
            yield (at, file_problems.NOTHING,
                   f'this router has a peering {name} in line '
                   f'{lines[_key(end)]:d} already; choose another name')
        for key in ('export', 'import'):
            for number, text in enumerate(end.get(key, ())):
                try:
                    ip_text.network(text)
                except ValueError as error:
                    yield ((*at, key, number), text,
                           f'is no prefix ({error}); correct or remove it')


def _ends(written: Sequence[_Written]) -> Iterator[End]:
    for end, other in zip(written, reversed(written), strict=True):
        exports, imports = (
            tuple(map(ip_text.network, end[key])) if key in end else None
            for key in ('export', 'import'))
        yield End(_key(end), end['router'], end['name'], Intent(
            other['router'], exports, imports))
