# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lines for FRR that redistribute the routes of a method.  Pure.

A static route has its tag as a tag, and a kernel route has it as the metric.
FRR announces the metric as the MED, if no route map sets another one.
"""

from collections.abc import Iterable
import typing

from ovn_network_agent import ownership
from ovn_network_agent.frr import filters

#: what a route map matches to find the tag of a route of a method
MATCH = {'static': 'tag', 'kernel': 'metric'}
# Words of FRR, end of the route maps' names, default route of each family.
_FAMILIES = {4: ('ip', '', '0.0.0.0/0'), 6: ('ipv6', '6', '::/0')}
_DEFAULT_ROUTE = 'DEFAULT-ROUTE'
_NO_MED = 'metric 0'
_FIRST, _STEP = 20, 10

#: (tag, its "set" clauses), in their order
Entries: typing.TypeAlias = tuple[tuple[int, tuple[str, ...]], ...]


class Copy(typing.NamedTuple):
    """The entries for tags of the route map of the other method."""

    entries: Entries = ()
    # Texts such as 'deny 10': the entries that the lines do not have.
    left: tuple[str, ...] = ()


def copy(rules: Iterable[filters.Rule], method: str) -> Copy:
    """Take over another map's entries for tags into that of ``method``."""
    other, = set(MATCH) - {method}
    entries, left = [], []
    for rule in sorted(rules):
        tag = _tag(rule, f'{MATCH[other]} ')
        if tag:
            entries.append((tag, rule.sets))
        elif _lets_all_pass(rule):
            break
        elif not _denies_default(rule):
            left.append(f'{rule.action} {rule.sequence:d}')
    return Copy(tuple(entries), tuple(left))


def _tag(rule: filters.Rule, word: str) -> int:
    """The tag of an entry that can be taken over, 0 of another entry."""
    if rule.action != 'permit' or rule.call or not rule.ends or (
            len(rule.matches) != 1 or not rule.matches[0].startswith(word) or
            not all(map(_movable, rule.sets))):
        return 0
    number = rule.matches[0].removeprefix(word)
    return int(number) if number.isdecimal() and (
        int(number) in ownership.TAGS) else 0


def _movable(clause: str) -> bool:
    """Whether a "set" clause does the same to a route of the other method.

    FRR cuts "comm-list" short.  A relative metric starts from the route's.
    """
    word, _space, value = clause.partition(' ')
    return not word.endswith('comm-list') and (
        word != 'metric' or value.isdecimal())


def _lets_all_pass(rule: filters.Rule) -> bool:
    return rule.action == 'permit' and rule.ends and not rule.call and (
        not rule.matches and set(rule.sets) <= {_NO_MED})


def _denies_default(rule: filters.Rule) -> bool:
    """Whether it is the entry of :func:`lines` for the default route."""
    return rule.action == 'deny' and rule.matches in {
        (f'{of_list}{_DEFAULT_ROUTE}',) for of_list in
        filters.OF_LIST.values()}


def lines(asn: str, vrf: str, method: str, entries: dict[int, Entries]
          ) -> tuple[str, ...]:
    """The lines for vtysh that redistribute the routes of a method.

    :param entries: by family, 4 or 6, those of a :class:`Copy`; these families
        are redistributed
    """
    made, names = ['configure terminal'], {}
    for family, copied in entries.items():
        if method == 'kernel' or copied:
            names[family] = method.upper() + _FAMILIES[family][1]
            made += _map(names[family], family, method, copied)
    made.append(f'router bgp {asn}' + (f' vrf {vrf}' if vrf else ''))
    for family in entries:
        mapped = f' route-map {names[family]}' if family in names else ''
        made += [f' address-family ipv{family:d} unicast',
                 f'  redistribute {method}{mapped}', ' exit-address-family']
    return (*made, 'end')


def _map(name: str, family: int, method: str, copied: Entries) -> list[str]:
    of_all = (_NO_MED,) if method == 'kernel' else ()
    made, sequence = list(_denial(name, family)) if (
        method == 'kernel') else [], _FIRST
    for tag, sets in copied:
        fixed = any(clause.startswith('metric ') for clause in sets)
        made += _permit(name, sequence, f'{MATCH[method]} {tag:d}',
                        sets if fixed else (*sets, *of_all))
        sequence += _STEP
    return [*made, *_permit(name, sequence, '', of_all)]


def _permit(name: str, sequence: int, match: str, sets: Iterable[str]
            ) -> tuple[str, ...]:
    return (f'route-map {name} permit {sequence:d}',
            *([f' match {match}'] if match else []),
            *(f' set {clause}' for clause in sets), 'exit')


def _denial(name: str, family: int) -> tuple[str, ...]:
    """Lines that keep back the kernel's default route.

    In a VRF it is "unreachable", and would hide that of the neighbours.
    """
    word, _end, default = _FAMILIES[family]
    return (f'{word} prefix-list {_DEFAULT_ROUTE} seq 5 permit {default}',
            f'route-map {name} deny 10',
            f' match {word} address prefix-list {_DEFAULT_ROUTE}', 'exit')
