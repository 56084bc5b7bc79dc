# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""A change of the announce method: its prerequisites, and its proof.

The agent makes the change at a reload; this asks FRR, and not the agent.
"""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import time
import typing

from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.frr import redistribution
from ovn_network_agent.diagnosis.readers import frr_filters
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
    vrf, families = sources.vrf, _families(prefixes)
    wanted = {'zebra', 'bgpd'} | ({'staticd'} if method == 'static' else set())
    missing = sorted(wanted - sources.daemons())
    lacks = [f'{name} of FRR does not run; set {name} to "yes" in '
             '/etc/frr/daemons, and restart FRR on a drained node'
             for name in missing]
    found = {family: sources.frr(family) for family in families}
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
    lines = redistribution.lines(found[4].asn, vrf, method, copies) if (
        due) else ()
    others = sorted(set(vtysh.read_known(vrf, 'kernel')) - prefixes) if (
        method == 'kernel') else []
    effects = bgp.read_effect(vrf, others, True)[1] if others else {}
    lacks += [
        f'bgpd has the default route {network} of the kernel as its own, so '
        'FRR does not use the default route of a neighbour; let the route map '
        'of "redistribute kernel" deny it (route-map KERNEL, see "Announce '
        'methods" in the documentation)'
        for network in _DEFAULTS if network in effects]
    return Readiness(tuple(lacks), lines, tuple(others), effects,
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
            parts = _as_seen(frr_filters.read_parts([], [name], own, family),
                             method)
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
                    f'{where} denies {len(denied):d} addresses, for example '
                    f'{address}: {denial.kind} {denial.name} {denial.text}; '
                    'let the map permit them' + _HINT.get(method, ''))
    return denials, cautions


def _copies(found: dict[int, setup.Setup], method: str
            ) -> tuple[dict[int, redistribution.Entries], list[str]]:
    """The entries for tags in the maps of the other method, and cautions."""
    other, = set(METHODS) - {method}
    entries, cautions = {}, []
    for family, each in found.items():
        name = dict(each.mapped).get(other)
        where = f'the route map {name} of "redistribute {other}"'
        try:
            copy = redistribution.copy(
                name and frr_filters.read_map(name) or (), method)
        except readers.Unread as error:
            copy = redistribution.Copy()
            cautions.append(f'{where} cannot be read, so the lines lack its '
                            f'entries: {error}')
        entries[family] = copy.entries
        if copy.left:
            cautions.append(f'{where} has entries that the lines lack, so '
                            'write them yourself if routes of this node need '
                            f'them: {", ".join(copy.left)}')
    return entries, cautions


def _as_seen(parts: filters.Filters, method: str) -> filters.Filters:
    """Filters without the entries that fit no route of a method."""
    if method != 'kernel':
        return parts
    return dataclasses.replace(parts, maps={
        name: rules and tuple(rule for rule in rules if not any(
            text.startswith('tag ') for text in rule.matches))
        for name, rules in parts.maps.items()})


def _families(prefixes: Iterable[str]) -> list[int]:
    """The families of prefixes, IPv4 in any case."""
    return sorted({4, *map(networks.family, prefixes)})


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
