# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A change of the announce method: its lines for FRR, prerequisites, proof."""

from collections.abc import Callable
from collections.abc import Iterable
import time
import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.frr import effect
from ovn_network_agent.frr import filters
from ovn_network_agent.frr import setup
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.privileged.routing import vtysh

#: the announce methods, which are also FRR's words for the routes
METHODS = ('static', 'kernel')
# Seconds between two looks; beside 1,000 addresses a look takes 0.2.
_PAUSE = 0.05
_HINT = {'kernel': ' (a kernel route has no tag, so "match tag" fits none; '
         'use "match metric")'}
_DEFAULTS = ('0.0.0.0/0', '::/0')
#: what a route map matches to find the tag of a route of a method
MATCH = {'static': 'tag', 'kernel': 'metric'}
# Words of FRR, end of the route maps' names, default route of each family.
_WORDS_OF = {4: ('ip', '', '0.0.0.0/0'), 6: ('ipv6', '6', '::/0')}
_DEFAULT_ROUTE = 'DEFAULT-ROUTE'
_NO_MED = 'metric 0'
_FIRST, _STEP = 20, 10

#: (tag, its "set" clauses), in their order
Entries: typing.TypeAlias = tuple[tuple[int, tuple[str, ...]], ...]


class Readiness(typing.NamedTuple):
    """Whether FRR would announce by a method."""

    lacks: tuple[str, ...]  # texts, each with the remedy
    lines: tuple[str, ...]  # lines for vtysh that add the redistribution
    # Sorted: networks of foreign kernel routes that would go along.
    others: tuple[str, ...]
    # Those of "others" that bgpd already has, and the neighbours that get it.
    effects: dict[str, list[str]]
    cautions: tuple[str, ...] = ()  # texts, what cannot be judged


def readiness(sources: sources.Sources, method: str, prefixes: set[str]
              ) -> Readiness:
    """Find what FRR lacks for one of :data:`METHODS`.

    :raises check.NotChecked: without OVN or root
    :raises OSError: or another of :data:`context.FAILURES`, when FRR does not
        answer
    """
    # IPv4 in any case.
    vrf, families = sources.vrf, {4, *map(networks.family, prefixes)}
    wanted = {'zebra', 'bgpd'} | ({'staticd'} if method == 'static' else set())
    missing = sorted(wanted - sources.daemons())
    lacks = [f'{name} of FRR does not run; set {name} to "yes" in '
             '/etc/frr/daemons, and restart FRR on a drained node'
             for name in missing]
    found = {family: sources.frr(family) for family in sorted(families)}
    for each in found.values():
        lacks += [text for _part, text in setup.faults(
            each, vrf, method, sources.conf.frr.frr_prefix_list)
            if text not in lacks]
    denials, cautions = _maps(found, method, prefixes,
                              sources.conf.frr.frr_prefix_list)
    lacks += denials
    due = [family for family, each in found.items()
           if each.asn and method not in each.redistributes]
    copies, left = _copies({family: found[family] for family in due}, method)
    cautions += left
    additions = lines(found[4].asn, vrf, method, copies) if due else ()
    others = sorted(set(vtysh.read_known(vrf, 'kernel')) - prefixes) if (
        method == 'kernel') else []
    effects = bgp.read_effect(vrf, others, True)[1] if others else {}
    lacks += [
        f'bgpd has the default route {network} of the kernel as its own, so '
        'FRR does not use the default route of a neighbour; let the route map '
        'of "redistribute kernel" deny it (route-map KERNEL, see "Announce '
        'methods" in the documentation)'
        for network in _DEFAULTS if network in effects]
    return Readiness(tuple(lacks), additions, tuple(others), effects,
                     tuple(cautions))


def _maps(found: dict[int, setup.Setup], method: str, prefixes: set[str],
          own: str) -> tuple[list[str], list[str]]:
    denials, cautions = [], []
    for family, each in found.items():
        name = dict(each.mapped).get(method)
        if name is None or (method, name) in map(tuple, each.undefined):
            continue
        where = f'the route map {name} of "redistribute {method}"'
        addresses = [ip_text.network(prefix).network_address
                     for prefix in sorted(prefixes)
                     if networks.family(prefix) == family]
        try:
            parts = _as_seen(frr.read_parts([], [name], own, family), method)
            denied = [(address, denial) for address in addresses if (
                denial := parts.denial(filters.MAP, name, address))]
        except readers.Unread as error:
            cautions.append(f'{where} cannot be read: {error}')
        except filters.Undecided as error:
            cautions.append(f'{where} matches more than the address, so check '
                            f'by hand whether all pass: {error}')
        else:
            if denied:
                address, denial = denied[0]
                denials.append(
                    f'{where} denies '
                    f'{wording.count(len(denied), "address")}, for example '
                    f'{address}: {denial.kind} {denial.name} {denial.text}; '
                    'let the map permit them' + _HINT.get(method, ''))
    return denials, cautions


def _copies(found: dict[int, setup.Setup], method: str
            ) -> tuple[dict[int, Entries], list[str]]:
    """The entries for tags in the maps of the other method, and cautions."""
    other, = set(METHODS) - {method}
    entries, cautions = {}, []
    for family, each in found.items():
        name = dict(each.mapped).get(other)
        where = f'the route map {name} of "redistribute {other}"'
        try:
            copied = copy(name and frr.read_map(name) or (), method)
        except readers.Unread as error:
            copied = Copy()
            cautions.append(f'{where} cannot be read, so the lines lack its '
                            f'entries: {error}')
        entries[family] = copied.entries
        if copied.left:
            cautions.append(f'{where} has entries that the lines lack, so '
                            'write them yourself if routes of this node need '
                            f'them: {", ".join(copied.left)}')
    return entries, cautions


def _as_seen(parts: filters.Filters, method: str) -> filters.Filters:
    """Filters without the entries that fit no route of a method."""
    if method != 'kernel':
        return parts
    return parts._replace(maps={
        name: rules and tuple(rule for rule in rules if not any(
            text.startswith('tag ') for text in rule.matches))
        for name, rules in parts.maps.items()})


class Change:
    """Follows one change of the method, by looks at FRR.

    :param addresses: the addresses that the agent announces
    :ivar before: prefixes that FRR announced by a method at the first look
    :ivar unannounced: the other prefixes of the addresses, sorted
    :ivar gaps: by prefix, the number of looks that found no announcement
    :ivar looks: number of looks after the first
    :ivar due: prefixes that the method does not announce alone, sorted
    """

    def __init__(self, sources: sources.Sources, method: str,
                 addresses: Iterable[str]) -> None:
        self._vrf = sources.vrf
        self._bgp = sources.conf.frr.bgp_check
        self._method = method
        self._asked = sorted(set(map(networks.host_prefix, addresses)))
        found = self._ask(self._asked)
        self.before = frozenset(
            prefix for prefix in self._asked
            if set(METHODS) & set(found.active.get(prefix, ())) and
            self._announced(found, prefix))
        self.unannounced = sorted(set(self._asked) - self.before)
        self.gaps: dict[str, int] = {}
        self.looks = 0
        self.due = sorted(self.before)

    def look(self) -> None:
        """Ask FRR once; OSError or another of :data:`context.FAILURES`."""
        prefixes = sorted(self.before)
        found = self._ask(prefixes)
        self.looks += 1
        for prefix in prefixes:
            if not self._announced(found, prefix):
                self.gaps[prefix] = self.gaps.get(prefix, 0) + 1
        other, = set(METHODS) - {self._method}
        left = set(vtysh.read_known(self._vrf, other))
        self.due = [prefix for prefix in prefixes if prefix in left or
                    set(found.active.get(prefix, ())) != {self._method} or
                    not self._announced(found, prefix)]

    def watch(self, over: Callable[[], bool]) -> None:
        """Look for gaps until something is over; raises as :meth:`look`."""
        while not over():
            self.look()
            time.sleep(_PAUSE)

    def follow(self, seconds: float) -> float | None:
        """Look until the new method announces everything alone.

        :returns: seconds that it took, None after ``seconds``
        :raises OSError: as :meth:`look`
        """
        started = time.monotonic()
        while True:
            self.look()
            passed = time.monotonic() - started
            if not self.due:
                return passed
            if passed > seconds:
                return None
            time.sleep(_PAUSE)

    def _ask(self, prefixes: list[str]) -> effect.Found:
        return effect.Found(*bgp.read_effect(self._vrf, prefixes, self._bgp))

    def _announced(self, found: effect.Found, prefix: str) -> bool:
        """Whether a neighbour has a prefix, or without BGP a route is used."""
        if self._bgp:
            return bool(found.advertised.get(prefix))
        return bool(set(METHODS) & set(found.active.get(prefix, ())))


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
            names[family] = method.upper() + _WORDS_OF[family][1]
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
    word, _end, default = _WORDS_OF[family]
    return (f'{word} prefix-list {_DEFAULT_ROUTE} seq 5 permit {default}',
            f'route-map {name} deny 10',
            f' match {word} address prefix-list {_DEFAULT_ROUTE}', 'exit')
