# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The outbound filters of BGP: those of each neighbour, and their parts."""

from collections.abc import Iterable
import typing

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.frr import filters
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import output

_EXIT = 'Exit routemap'


class Outbound(typing.NamedTuple):
    """The outbound filters of a VRF."""

    neighbours: tuple[frr.Neighbour, ...]  # with their filters
    filters: filters.Filters  # all that they lead to


def read(vrf: str, own: str, version: int = 4) -> Outbound:
    """The filters of all neighbours; own: the agent's prefix list, or ''."""
    neighbours = tuple(frr.read_filters(vrf, each, version)
                       for each in frr.read_neighbours(vrf, version))
    used = {tuple(text.split(' ', 1)) for each in neighbours
            for text in each.filters}
    return Outbound(neighbours, read_parts(
        {name for kind, name in used if kind == filters.LIST},
        {name for kind, name in used if kind == filters.MAP}, own, version))


def read_parts(lists: Iterable[str], maps: Iterable[str], own: str,
               version: int = 4) -> filters.Filters:
    """Prefix lists and route maps, own and given, with all they lead to."""
    maps = _maps(maps)
    lists = set(lists)
    of_list = filters.OF_LIST[version]
    lists |= {text.removeprefix(of_list) for rules in maps.values()
              for rule in rules or () for text in rule.matches
              if text.startswith(of_list)}
    lists |= {own} - {''}
    return filters.Filters(own, {
        name: frr.read_lists(name, version)['bgpd']
        for name in sorted(lists)}, maps)


def _maps(names: Iterable[str]) -> dict[str, tuple[filters.Rule, ...] | None]:
    """The route maps, and those that they call; see Filters.maps."""
    found, left = {}, set(names)
    while left:
        name = left.pop()
        found[name] = read_map(name)
        left |= {rule.call for rule in found[name] or ()} - {'', *found}
    return found


def read_map(name: str) -> tuple[filters.Rule, ...] | None:
    """A route map of bgpd, None when there is no such map."""
    try:
        lines.check_name(name)
    except ValueError as error:
        raise readers.Unread(str(error)) from error
    documents = frr.ask_json('bgpd', f'show route-map {name} json', True)
    with frr.readable():
        for document in documents:
            for found, route_map in output.named(document, 'rules'):
                if found == name:
                    return tuple(map(_rule, route_map['rules']))
    return None


def _rule(route_map: frr.Document) -> filters.Rule:
    rule = filters.Rule(route_map['sequenceNumber'], route_map['type'],
                        tuple(route_map.get('matchClauses', ())),
                        route_map.get('callClause', ''),
                        route_map.get('action', _EXIT) == _EXIT,
                        tuple(route_map.get('setClauses', ())))
    if type(rule.sequence) is not int or not all(
            isinstance(text, str) for text in (
                rule.action, rule.call, *rule.matches, *rule.sets)):
        raise TypeError(f'{route_map!r} is no entry of a route map')
    return rule
