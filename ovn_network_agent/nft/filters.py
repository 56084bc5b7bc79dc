# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the tables of other programs drop, as far as rules name addresses.

Pure. A rule counts when it drops or rejects packets by IP source or
destination, in a chain that forwarded packets reach. Others, such as by a
device or a state, do not. The notation is that of libnftables-json(5).
"""

from collections.abc import Iterator
from collections.abc import Mapping
import json
from typing import Any
from typing import NamedTuple
from typing import TypeAlias

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.nft import listing

# Hooks that packets of floating IPs pass (nft(8), address families).
_HOOKS = ('ingress', 'prerouting', 'forward', 'postrouting', 'egress')
_FAMILIES = ('ip', 'ip6', 'inet', 'netdev')
_DROPS = ('drop', 'reject')
_EVERYTHING = ('0.0.0.0/0', '::/0')
# Verdicts after which a later rule of the chain may not be reached.
_LEAVES = ('accept', 'return', 'jump', 'goto', 'queue')
_PROTOCOLS = ('ip', 'ip6')
_FIELDS = ('saddr', 'daddr')


_Range: TypeAlias = tuple[ip_text.Address, ip_text.Address]


class Filter(NamedTuple):
    """A rule that drops packets of some addresses."""

    # Family, table and chain, such as 'inet guard forward'.
    chain: str
    # Number of the rule.
    handle: int
    # First and last address.
    ranges: tuple[_Range, ...]
    # Names of the sets that the addresses are in.
    sets: tuple[str, ...] = ()
    # The rule selects by nothing else, and no rule before it ends the way.
    certain: bool = False

    def covers(self, address: ip_text.Address) -> bool:
        """Whether the rule names an address."""
        wanted = address.version, int(address)
        return any((first.version, int(first)) <= wanted <=
                   (last.version, int(last)) for first, last in self.ranges)


class Found(NamedTuple):
    """The filters of other programs."""

    filters: tuple[Filter, ...] = ()
    # Chains, as in Filter, that drop what none of their rules accepts.
    closed: tuple[str, ...] = ()


def parse(text: str) -> Found:
    """Parse the output of "nft -j list ruleset".

    :raises listing.Unreadable: when nft prints no such text
    """
    filters: list[Filter] = []
    closed: list[str] = []
    with listing.understood():
        for table in _tables(json.loads(text)['nftables']).values():
            filters += table.filters()
            closed += table.closed()
    return Found(tuple(filters), tuple(closed))


def _tables(items: list[dict[str, dict[str, Any]]]
            ) -> dict[tuple[str, str], '_Table']:
    """The tables of other programs by family and name."""
    tables: dict[tuple[str, str], _Table] = {}
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

    def __init__(self, name: str) -> None:
        self._name = name
        self._chains: dict[str, dict[str, Any]] = {}
        self._rules: dict[str, list[dict[str, Any]]] = {}
        self._elements: dict[str, Any] = {}

    def add(self, kind: str, value: Any) -> None:
        """Take an object of the table."""
        if kind == 'chain':
            self._chains[value['name']] = value
        elif kind == 'rule':
            self._rules.setdefault(value['chain'], []).append(value)
        elif kind in ('set', 'map'):
            self._elements[value['name']] = value.get('elem', [])

    def closed(self) -> list[str]:
        return [f'{self._name} {name}' for name, chain in
                self._chains.items() if chain.get('policy') == 'drop' and
                chain.get('hook') in _HOOKS]

    def filters(self) -> Iterator[Filter]:
        for chain in self._reached():
            # Only some packets jump to a chain without a hook.
            left = 'hook' not in self._chains.get(chain, ())
            for rule in self._rules.get(chain, ()):
                found = self._filter(chain, rule, left)
                if found:
                    yield found
                left = left or not _keywords(rule['expr']).isdisjoint(_LEAVES)

    def _reached(self) -> list[str]:
        """Names of the chains that forwarded packets may pass."""
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

    def _filter(self, chain: str, rule: dict[str, Any], left: bool
                ) -> Filter | None:
        ranges: list[_Range] = []
        sets: list[str] = []
        named, drops, exact = False, False, True
        for expression in rule['expr']:
            kind: str
            value: Any
            kind, value = next(iter(expression.items()), ('', None))
            if kind == 'match':
                selected = self._selected(value)
                named = named or selected is not None
                exact = exact and selected is not None and not ranges
                ranges += selected or ()
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

    def _selected(self, match: dict[str, Any]) -> list[_Range] | None:
        """The addresses of a match, None for a match of something else."""
        if match['op'] != '==' or not _field(match['left']):
            return None
        return list(self._ranges(match['right']))

    def _dropped(self, data: Any) -> list[_Range]:
        pairs = (self._elements.get(data[1:], []) if isinstance(data, str)
                 else data['set'])
        return [one for value, verdict in pairs
                if not verdict.keys().isdisjoint(_DROPS)
                for one in self._ranges(value)]

    def _ranges(self, value: Any) -> Iterator[_Range]:
        """(first, last) of each address, prefix or range in a value."""
        if isinstance(value, str) and value.startswith('@'):
            value = self._elements.get(value[1:], [])
        if isinstance(value, list):
            for one in value:
                yield from self._ranges(one)
        elif isinstance(value, dict):
            yield from self._of_dict(value)
        elif value == '*':
            yield from map(_whole, map(ip_text.network, _EVERYTHING))
        else:
            address = ip_text.address(value)
            yield address, address

    def _of_dict(self, value: dict[str, Any]) -> Iterator[_Range]:
        if 'prefix' in value:
            yield _whole(ip_text.network(
                f'{value["prefix"]["addr"]}/{value["prefix"]["len"]}'))
        elif 'range' in value:
            first, last = map(ip_text.address, value['range'])
            yield first, last
        elif 'elem' in value:
            yield from self._ranges(value['elem']['val'])
        elif 'set' in value:
            yield from self._ranges(value['set'])


def _whole(network: ip_text.Network) -> _Range:
    return network.network_address, network.broadcast_address


def _field(value: Any) -> bool:
    """Whether an expression is an IP source or destination."""
    if not isinstance(value, dict):
        return False
    payload = value.get('payload')
    return (isinstance(payload, dict) and payload.get('protocol') in
            _PROTOCOLS and payload.get('field') in _FIELDS)


def _set_name(value: Any) -> list[str]:
    return [value[1:]] if isinstance(value, str) and (
        value.startswith('@')) else []


def _keywords(expressions: list[dict[str, Any]]) -> set[str]:
    return {word for expression in expressions for word in expression}


def _targets(value: Any, elements: Mapping[str, Any]) -> list[str]:
    """The chains that a jump or goto in a value leads to."""
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
