# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The prefixes that outbound filters of BGP let pass, as in FRR.  Pure.

An empty prefix list lets everything pass, one without a fitting entry nothing,
nor does a neighbour's missing filter; a map's missing list fits no route.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import typing

from ovn_network_agent.common import ip_text
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines

LIST, MAP = 'prefix-list', 'route-map'
#: the beginning of a match of a route map against a list of a family
OF_LIST = {4: 'ip address prefix-list ', 6: 'ipv6 address prefix-list '}
# lib/routemap.h of FRR: RMAP_RECURSION_LIMIT
_DEPTH = 10


class Undecided(Exception):
    """A filter goes by more than the address of a route."""


class Rule(typing.NamedTuple):
    """One entry of a route map."""

    sequence: int
    action: str  # 'permit' or 'deny'
    matches: tuple[str, ...] = ()  # such as 'ip address prefix-list LIST'
    call: str = ''  # name of the route map that is called, '' for none
    ends: bool = True  # whether it is the last entry for a route that fits
    sets: tuple[str, ...] = ()  # such as 'community 65001:1'


class Denial(typing.NamedTuple):
    """Why a route does not pass."""

    kind: str  # :data:`LIST` or :data:`MAP`
    name: str  # of the list or of the map
    text: str  # The line that denies in FRR's notation, or what is missing.
    line: bool = True  # whether the text is a line


class Filters(typing.NamedTuple):
    """Prefix lists of one family, and route maps."""

    # Name of the agent's list, '' for none, where only a line that denies
    # counts: the agent adds one for each of its networks.
    own: str
    # by name, None for what does not exist
    lists: Mapping[str, tuple[output.Entry, ...] | None]
    maps: Mapping[str, tuple[Rule, ...] | None]

    def denial(self, kind: str, name: str,
               address: ip_text.Address) -> Denial | None:
        """Why a filter denies the route of an address, None if it does not.

        :param kind: 'prefix-list', 'route-map', or another word of FRR
        :raises Undecided: when the filter goes by something else
        """
        if kind == LIST:
            return self._of_list(name, address)
        if kind == MAP:
            return self._of_map(name, address, _DEPTH)
        raise Undecided(f'{kind} {name}')

    def _of_list(self, name: str, address: ip_text.Address) -> Denial | None:
        entries = self.lists.get(name)
        if name == self.own:
            entries = entries or ()
        if entries is None:
            return Denial(LIST, name, 'does not exist', False)
        first = next((entry for entry in sorted(entries)
                      if prefix_list_lines.matches(entry, address)), None)
        if first is None:
            return Denial(LIST, name, 'has no entry for the route', False) if (
                entries and name != self.own) else None
        return None if first.action == 'permit' else Denial(
            LIST, name, line(first))

    def _of_map(self, name: str, address: ip_text.Address,
                depth: int) -> Denial | None:
        rules = self.maps.get(name)
        if rules is None:
            return Denial(MAP, name, 'does not exist', False)
        if not depth:
            raise Undecided(f'{MAP} {name} calls itself')
        outcome, doubts = self._of_rules(name, sorted(rules), address, depth)
        for text, passes in doubts:
            if passes == bool(outcome):
                raise Undecided(text)
        return outcome

    def _of_rules(self, name: str, rules: Sequence[Rule],
                  address: ip_text.Address,
                  depth: int) -> tuple[Denial | None, list[tuple[str, bool]]]:
        """The outcome of the entries that certainly fit or do not fit.

        Another is no doubt when the route fares the same with and without it.

        :returns: with the doubts: text of a match, and whether the route
            passes the entry if the match fits
        """
        noted: Denial | None = None
        doubts: list[tuple[str, bool]] = []
        for rule in rules:
            fits, denied, doubt = self._fits(rule, address)
            noted = noted or denied
            if not fits:
                continue
            if not doubt:
                return self._of_rule(name, rule, address, depth), doubts
            if rule.call or not rule.ends:
                raise Undecided(doubt)
            doubts.append((doubt, rule.action == 'permit'))
        return noted or Denial(
            MAP, name, 'has no entry for the route', False), doubts

    def _of_rule(self, name: str, rule: Rule, address: ip_text.Address,
                 depth: int) -> Denial | None:
        if rule.action != 'permit':
            return Denial(MAP, name, f'deny {rule.sequence:d}')
        called = rule.call and self._of_map(rule.call, address, depth - 1)
        if called:
            return called
        if rule.ends:
            return None
        raise Undecided(f'{MAP} {name}: on-match')

    def _fits(self, rule: Rule,
              address: ip_text.Address) -> tuple[bool, Denial | None, str]:
        """Whether an entry may fit, a list's denial, a match by more or ''."""
        of_list, doubt = OF_LIST[address.version], ''
        for text in rule.matches:
            if not text.startswith(of_list):
                doubt = doubt or text
                continue
            denied = self._of_list(text.removeprefix(of_list), address)
            if denied:
                return False, denied if denied.line else None, ''
        return True, None, doubt


def line(entry: output.Entry) -> str:
    """'seq 5 deny 198.51.100.0/24 le 32', as FRR writes an entry."""
    return ' '.join((f'seq {entry.sequence:d} {entry.action} {entry.prefix}',
                     *(f'{word} {value:d}' for word, value in (
                         ('ge', entry.ge), ('le', entry.le)) if value)))
