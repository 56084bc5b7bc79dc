# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the tables of other programs drop, as far as rules name addresses.

Pure.  A rule counts when it drops or rejects packets by their IP source or
destination, in a chain that forwarded packets reach.  Rules that drop for
other reasons, such as a device or a state, name no address and do not count.
The notation is that of libnftables-json(5).
"""

import json
import typing

from ovn_network_agent import iptext
from ovn_network_agent import ownership

# Hooks that packets of floating IPs pass (nft(8), address families).
_HOOKS = ('ingress', 'prerouting', 'forward', 'postrouting', 'egress')
_FAMILIES = ('ip', 'ip6', 'inet', 'netdev')
_DROPS = ('drop', 'reject')
_EVERYTHING = ('0.0.0.0/0', '::/0')
# Verdicts after which a later rule of the chain may not be reached.
_LEAVES = ('accept', 'return', 'jump', 'goto', 'queue')
_PROTOCOLS = ('ip', 'ip6')
_FIELDS = ('saddr', 'daddr')


class Unreadable(Exception):
    """The listing was not understood; the text says why."""


class Filter(typing.NamedTuple):
    """A rule that drops packets of some addresses.

    :ivar chain: family, table and chain, text such as 'inet guard forward'
    :ivar handle: number of the rule
    :ivar ranges: tuple of (first, last) IPv4Address or IPv6Address
    :ivar sets: tuple of names of the sets that the addresses are in
    :ivar certain: whether the rule selects by nothing else, and no rule
        before it ends the way through the chain
    """

    chain: str
    handle: int
    ranges: tuple
    sets: tuple = ()
    certain: bool = False

    def covers(self, address):
        """Whether the rule names an IPv4Address or IPv6Address."""
        return any(first.version == address.version and
                   first <= address <= last for first, last in self.ranges)


class Found(typing.NamedTuple):
    """The filters of other programs.

    :ivar filters: tuple of :class:`Filter`
    :ivar closed: tuple of chains, as in :class:`Filter`, that drop what none
        of their rules accepts
    """

    filters: tuple = ()
    closed: tuple = ()


def parse(text):
    """Parse a listing of the whole ruleset.

    :param text: output of "nft -j list ruleset"
    :returns: :class:`Found`
    :raises Unreadable: when nft prints no such text
    """
    try:
        tables = _tables(json.loads(text)['nftables'])
        filters, closed = [], []
        for table in tables.values():
            filters += table.filters()
            closed += table.closed()
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError,
            ValueError) as error:
        raise Unreadable('the listing of nft was not understood: '
                         f'{type(error).__name__}: {error}') from error
    return Found(tuple(filters), tuple(closed))


def _tables(items):
    """The tables of other programs, dict of (family, name) to _Table."""
    tables = {}
    for item in items:
        for kind, value in item.items():
            name = value.get('table')
            if (name is None or value['family'] not in _FAMILIES or
                    name == ownership.NFT_TABLE):
                continue
            tables.setdefault((value['family'], name), _Table(
                f'{value["family"]} {name}')).add(kind, value)
    return tables


class _Table:
    """One table while its listing is read."""

    def __init__(self, name):
        self._name = name
        self._chains = {}
        self._rules = {}
        self._elements = {}

    def add(self, kind, value):
        """Take an object of the table."""
        if kind == 'chain':
            self._chains[value['name']] = value
        elif kind == 'rule':
            self._rules.setdefault(value['chain'], []).append(value)
        elif kind in ('set', 'map'):
            self._elements[value['name']] = value.get('elem', [])

    def closed(self):
        return [f'{self._name} {name}' for name, chain in
                self._chains.items() if chain.get('policy') == 'drop' and
                chain.get('hook') in _HOOKS]

    def filters(self):
        for chain in self._reached():
            # Only some packets jump to a chain without a hook.
            left = 'hook' not in self._chains.get(chain, ())
            for rule in self._rules.get(chain, ()):
                found = self._filter(chain, rule, left)
                if found:
                    yield found
                left = left or not _words(rule['expr']).isdisjoint(_LEAVES)

    def _reached(self):
        """Chains that forwarded packets may pass, a list of names."""
        waiting = [name for name, chain in self._chains.items()
                   if chain.get('hook') in _HOOKS]
        reached = []
        while waiting:
            name = waiting.pop()
            if name in reached:
                continue
            reached.append(name)
            for rule in self._rules.get(name, ()):
                waiting += _targets(rule['expr'], self._elements)
        return reached

    def _filter(self, chain, rule, left):
        ranges, sets, exact = [], [], True
        named = drops = False
        for expression in rule['expr']:
            kind, value = next(iter(expression.items()), ('', None))
            if kind == 'match':
                found = self._selected(value)
                named = named or found is not None
                exact = exact and found is not None and not ranges
                ranges += found or ()
                sets += _set_name(value['right'])
            elif kind == 'vmap' and _field(value['key']):
                found = self._dropped(value['data'])
                ranges += found
                sets += _set_name(value['data'])
                named = drops = named or bool(found)
            elif kind in _DROPS or kind == 'xt' and value.get('name') in (
                    'DROP', 'REJECT'):
                drops = True
            elif kind in ('limit', 'xt') and value.get('name') != 'comment':
                exact = False
        if not (named and drops and ranges):
            return None
        return Filter(f'{self._name} {chain}', rule['handle'], tuple(ranges),
                      tuple(sets), exact and not left)

    def _selected(self, match):
        """The addresses of a match, None for a match of something else."""
        if match['op'] != '==' or not _field(match['left']):
            return None
        return list(self._ranges(match['right']))

    def _dropped(self, data):
        pairs = (self._elements.get(data[1:], []) if isinstance(data, str)
                 else data['set'])
        return [one for value, verdict in pairs
                if not verdict.keys().isdisjoint(_DROPS)
                for one in self._ranges(value)]

    def _ranges(self, value):
        """(first, last) of each address, prefix or range in a value."""
        if isinstance(value, str) and value.startswith('@'):
            value = self._elements.get(value[1:], [])
        if isinstance(value, list):
            for one in value:
                yield from self._ranges(one)
        elif isinstance(value, dict):
            yield from self._of_dict(value)
        elif value == '*':
            yield from map(_whole, map(iptext.network, _EVERYTHING))
        else:
            address = iptext.address(value)
            yield address, address

    def _of_dict(self, value):
        if 'prefix' in value:
            yield _whole(iptext.network(
                f'{value["prefix"]["addr"]}/{value["prefix"]["len"]}'))
        elif 'range' in value:
            first, last = map(iptext.address, value['range'])
            yield first, last
        elif 'elem' in value:
            yield from self._ranges(value['elem']['val'])
        elif 'set' in value:
            yield from self._ranges(value['set'])


def _whole(network):
    return network.network_address, network.broadcast_address


def _field(value):
    """Whether an expression is an IP source or destination."""
    if not isinstance(value, dict):
        return False
    payload = value.get('payload')
    return (isinstance(payload, dict) and payload.get('protocol') in
            _PROTOCOLS and payload.get('field') in _FIELDS)


def _set_name(value):
    return [value[1:]] if isinstance(value, str) and (
        value.startswith('@')) else []


def _words(expressions):
    return {word for expression in expressions for word in expression}


def _targets(value, elements):
    """The chains that a jump or goto in a value leads to, a list."""
    found = []
    if isinstance(value, dict):
        for word, inner in value.items():
            if word in ('jump', 'goto'):
                found.append(inner['target'])
            else:
                found += _targets(inner, elements)
    elif isinstance(value, list):
        for inner in value:
            found += _targets(inner, elements)
    elif isinstance(value, str) and value.startswith('@'):
        found += _targets(elements.get(value[1:], []), {})
    return found
