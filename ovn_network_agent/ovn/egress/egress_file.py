# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The egress addresses in a file of the operator.

A flaw costs the entry, or the file if its entries cannot be told apart.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import functools
import re
import typing
from typing import Any

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.files import file_problems
from ovn_network_agent.files import reading

#: The table of the objects, for sources.
TABLE = ('file', 'egress_ip')
OPTION = '[egress_ip] file'
_KEY = 'egress_ips'
# A part of names of address sets, in which a dash cannot be.
_NAME = re.compile('[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?')
_MODES = {mode.value: mode for mode in model.EgressMode}
_SCOPES = ('router', 'network')  # what prefixes of tenants are unique in

_Objection = reading.Objection


def _text(description: str) -> dict[str, Any]:
    return {'type': 'string', 'minLength': 1, 'description': description}


def _list(items: str, description: str) -> dict[str, Any]:
    return {'type': 'array', 'minItems': 1, 'items': _text(items),
            'description': f'a list of one or more {description}'}


_SELECT = {
    'type': 'object',
    'minProperties': 1,
    'additionalProperties': False,
    'description': 'a mapping with one or more of router, network, subnet, '
                   'ports, port_group, security_group and cidrs',
    'properties': {
        'router': _text('a router, by its UUID or name, in quotes where YAML '
                        'takes it for something else'),
        'network': _text('a network, by its UUID or name'),
        'subnet': _text('a subnet, by its UUID in Neutron, or by its prefix '
                        'beside "router" or "network"'),
        'ports': _list('a port, by its UUID or name', 'ports'),
        'port_group': _text('the name of a port group of OVN'),
        'security_group': _text('a security group, by its UUID in Neutron'),
        'cidrs': _list('a prefix', 'prefixes of machines')}}
_ENTRY = {
    'type': 'object',
    'description': 'a mapping with "name", "addresses" and "select"',
    'required': ['name', 'addresses'],
    'additionalProperties': False,
    'properties': {
        'name': _text('1 to 63 letters, digits and dashes, with a letter '
                      'first and no dash last'),
        'addresses': _list('an address', 'addresses'),
        'select': _SELECT,
        'mode': {'enum': sorted(_MODES),
                 'description': 'one of ' + ', '.join(_MODES)},
        'gateways': _list(
            'the name of a gateway port (mode ecmp), or the name or host '
            'name of a chassis (mode host)', 'gateways'),
        'destinations': _list('a prefix', 'prefixes')}}
SCHEMA = reading.schema_of_list(_KEY, _ENTRY, 'egress addresses')


class Select(typing.NamedTuple):
    """Which machines; all that are given have to be met."""

    router: str = ''
    network: str = ''
    subnet: str = ''
    ports: tuple[str, ...] = ()
    # Of OVN; that of a security group, too.
    groups: tuple[str, ...] = ()
    cidrs: tuple[ip_text.Network, ...] = ()


class Entry(typing.NamedTuple):
    """An object of the file, a row of :data:`TABLE`."""

    uuid: str  # the name, which is the key of the row, too
    addresses: tuple[str, ...]
    mode: model.EgressMode = model.EgressMode.ROUTER
    select: Select | None = None  # None if only rows of OVN name its machines
    gateways: tuple[str, ...] = ()
    destinations: tuple[ip_text.Network, ...] = ()


def load(conf: Any) -> reading.Content[Entry]:
    """The configured file's content, nothing without one; raises BadFile."""
    path = conf.egress_ip.file
    return (parse(reading.read(path, OPTION), path) if path
            else reading.Content({}))


# A start parses the file for its problems, its warnings, and its values.
@functools.lru_cache(maxsize=1)
def parse(content: bytes, name: str) -> reading.Content[Entry]:
    """The objects in the content of a file; see :func:`load`."""
    return reading.parse_entries(content, name, SCHEMA, _Objects,
                                 'this egress address is left out')


class _Objects(reading.EntryParser[Entry]):
    """Makes the objects of one file."""

    def __init__(self, document: Any) -> None:
        super().__init__(document)
        # Lines by name in small letters, and by address.
        self._names: dict[str, int] = {}
        self._addresses: dict[str, int] = {}

    def objections(self, path: file_problems.Path,
                   entry: Mapping[str, Any]) -> Iterator[_Objection]:
        """See :class:`reading.EntryParser`."""
        yield from self._of_name((*path, 'name'), entry['name'])
        yield from self._of_addresses((*path, 'addresses'),
                                      entry['addresses'])
        mode = entry.get('mode', 'router')
        if 'destinations' in entry and mode == 'host':
            yield ((*path, 'destinations'), file_problems.NOTHING,
                   'is not possible in mode host; remove it, or take another '
                   'mode')
        if 'gateways' in entry and mode == 'router':
            yield ((*path, 'gateways'), file_problems.NOTHING,
                   'is not possible in mode router, in which OVN chooses the '
                   'gateway; remove it, or take another mode')
        yield from _of_prefixes((*path, 'destinations'),
                                entry.get('destinations', ()))
        yield from _of_select((*path, 'select'), entry.get('select', {}))

    def make(self, path: file_problems.Path,
             entry: Mapping[str, Any]) -> Iterator[Entry]:
        """See :class:`reading.EntryParser`."""
        line = self.document.line(path)
        self._names[entry['name'].lower()] = line
        addresses = tuple(map(ip_text.canonical, entry['addresses']))
        self._addresses.update(dict.fromkeys(addresses, line))
        select = entry.get('select')
        yield Entry(
            entry['name'], addresses, _MODES[entry.get('mode', 'router')],
            None if select is None else _selected(select),
            tuple(entry.get('gateways', ())),
            tuple(map(ip_text.network, entry.get('destinations', ()))))

    def _of_name(self, path: file_problems.Path,
                 name: str) -> Iterator[_Objection]:
        if not _NAME.fullmatch(name):
            yield (path, name, 'is no name of an egress address; take 1 to 63 '
                   'letters, digits and dashes, with a letter first and no '
                   'dash last')
        line = self._names.get(name.lower())
        if line is not None:
            yield (path, name, f'line {line:d} has this name already, and '
                   'small and capital letters do not differ; choose another '
                   'one')

    def _of_addresses(self, path: file_problems.Path,
                      texts: list[str]) -> Iterator[_Objection]:
        own: set[str] = set()
        for index, text in enumerate(texts):
            at = (*path, index)
            try:
                ip = ip_text.address(text)
            except ValueError as error:
                yield (at, text,
                       f'is no address ({error}); correct or remove it')
                continue
            if (ip.is_multicast or ip.is_unspecified or ip.is_loopback or
                    ip.is_link_local):
                yield (at, text, 'cannot be the source of a packet that is '
                       'routed; take an address of the provider network')
            elif str(ip) in own:
                yield at, text, 'is here twice; remove one of them'
            elif str(ip) in self._addresses:
                yield (at, text, 'line '
                       f'{self._addresses[str(ip)]:d} has this address '
                       'already; an address belongs to one name')
            own.add(str(ip))


def _of_prefixes(path: file_problems.Path,
                 texts: list[str]) -> Iterator[_Objection]:
    for index, text in enumerate(texts):
        try:
            ip_text.network(text)
        except ValueError as error:
            yield ((*path, index), text,
                   f'is no prefix ({error}); correct or remove it')


def _of_select(path: file_problems.Path,
               select: Mapping[str, Any]) -> Iterator[_Objection]:
    yield from _of_prefixes((*path, 'cidrs'), select.get('cidrs', ()))
    scoped = any(key in select for key in _SCOPES)
    if set(select) == {'cidrs'}:
        yield ((*path, 'cidrs'), file_problems.NOTHING,
               'addresses of tenants are not unique; name "router" or '
               '"network" beside')
    if _is_prefix(select.get('subnet', '')) and not scoped:
        yield ((*path, 'subnet'), select['subnet'],
               'prefixes of tenants are not unique; name "router" or '
               '"network" beside, or take the UUID of the subnet')
    elif _is_prefix(select.get('subnet', '')) and 'cidrs' in select:
        yield ((*path, 'cidrs'), file_problems.NOTHING,
               'is beside a prefix in "subnet"; leave one of both out')


def _is_prefix(text: str) -> bool:
    try:
        ip_text.network(text)
    except ValueError:
        return False
    return True


def _selected(select: Mapping[str, Any]) -> Select:
    groups = [select[key] for key in ('port_group',) if key in select]
    if 'security_group' in select:
        # As Neutron calls its port groups.
        groups.append('pg_' + select['security_group'].replace('-', '_'))
    cidrs, subnet = select.get('cidrs', ()), select.get('subnet', '')
    if _is_prefix(subnet):
        subnet, cidrs = '', [subnet]
    return Select(
        select.get('router', ''), select.get('network', ''), subnet,
        tuple(select.get('ports', ())), tuple(groups),
        tuple(map(ip_text.network, cidrs)))
