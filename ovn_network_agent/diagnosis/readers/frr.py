# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The state of announcements in FRR, and the outbound filters of BGP."""

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import re
import time
import typing

from oslo_config import cfg

from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.frr import filters
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import output
from ovn_network_agent.frr import session
from ovn_network_agent.frr import setup

#: a JSON document of a daemon
Document: typing.TypeAlias = dict[str, typing.Any]
#: protocol, whether it is selected and installed, next hops for people
Route: typing.TypeAlias = tuple[str, bool, bool, str]
#: the entries by daemon ('zebra', 'bgpd'), None without the list
Lists: typing.TypeAlias = dict[str, tuple[output.Entry, ...] | None]
#: whether it is this node's and the best one, the neighbours that get it
Path: typing.TypeAlias = tuple[bool, bool, tuple[str, ...]]
_EXIT = 'Exit routemap'


class Neighbour(typing.NamedTuple):
    """A BGP neighbour of the VRF, activated for a family of unicast."""

    name: str  # its address or device
    state: str  # such as 'Established'
    # Outbound ones; only read for a neighbour that does not get an address.
    filters: tuple[str, ...] = ()
    asn: str = ''  # AS number of this node's BGP instance, '' when unknown


def read_zebra(vrf: str, prefix: str) -> tuple[Route, ...]:
    """zebra's routes of a prefix such as '198.51.100.10/32'."""
    words = setup.WORDS[networks.family(prefix)]
    found = ask_json('zebra', f'show {words} route {of_vrf(vrf)}'
                              f'{lines.check_network(prefix)} json')
    with Parsing():
        return tuple(
            (entry['protocol'], bool(entry.get('selected')),
             bool(entry.get('installed')), ', '.join(
                 hop.get('ip') or hop.get('interfaceName', '?')
                 for hop in entry.get('nexthops', ())))
            for document in found for entry in document.get(prefix, ()))


def read_lists(name: str, version: int = 4) -> Lists:
    """The prefix list of a family in zebra and bgpd."""
    found = {}
    with Parsing():
        lines.check_name(name)
    for daemon in ('zebra', 'bgpd'):
        answer = ask_text(daemon, f'show {setup.WORDS[version]} prefix-list '
                                  f'{name} json')
        if not answer.startswith('{'):
            # Without the list a daemon says nothing, only a status.
            answer = ''
        with Parsing():
            entries = output.prefix_list(answer, name)
            found[daemon] = None if entries is None else tuple(entries)
    return found


_NEIGHBOUR = re.compile(r'[A-Za-z0-9_.:%-]+')


def read_neighbours(vrf: str, version: int = 4) -> tuple[Neighbour, ...]:
    """The neighbours of BGP for a family of routes, not of the session."""
    found = ask_json('bgpd', f'show bgp {_table(vrf, version)}summary json')
    with Parsing():
        return tuple(Neighbour(_name(name), values['state'],
                               asn=str(document.get('as', '')))
                     for document in found
                     for name, values in document.get('peers', {}).items())


def _name(text: str) -> str:
    """The name of a neighbour for a command; ValueError for other text."""
    if not _NEIGHBOUR.fullmatch(text):
        raise ValueError(f'{text!r} is no neighbour')
    return text


def read_path(vrf: str, prefix: str) -> Path:
    """The path in bgpd of a prefix such as '198.51.100.10/32'."""
    table = _table(vrf, networks.family(prefix))
    found = ask_json('bgpd', f'show bgp {table}{lines.check_network(prefix)} '
                             'json')
    with Parsing():
        for document in found:
            own = [path for path in document.get('paths', ())
                   if path.get('sourced')]
            best = any(path.get('bestpath', {}).get('overall')
                       for path in own)
            if own:
                return True, best, tuple(sorted(
                    document.get('advertisedTo', ()))) if best else ()
    return False, False, ()


def read_filters(vrf: str, neighbour: Neighbour, version: int = 4
                 ) -> Neighbour:
    """The neighbour with its outbound filters for the routes of a family."""
    found = ask_json('bgpd',
                     f'show bgp {of_vrf(vrf)}neighbors {neighbour.name} json')
    with Parsing():
        family: Document = next((document[neighbour.name].get(
            'addressFamilyInfo', {}).get(
                f'ipv{version:d}Unicast', {})
            for document in found if neighbour.name in document), {})
        named = tuple(f'{words} {family[key]}' for key, words in (
            ('outgoingUpdatePrefixFilterList', 'prefix-list'),
            ('routeMapForOutgoingAdvertisements', 'route-map'),
            ('outgoingUpdateNetworkFilterList', 'distribute-list'),
            ('outgoingUpdateAsPathFilterList', 'filter-list'))
            if family.get(key))
    return neighbour._replace(filters=named)


class Timers(typing.NamedTuple):
    """When BGP notices that an established neighbour is dead."""

    name: str  # its address or device
    hold: float  # seconds, the hold time that both sides agreed on
    bfd: str = ''  # state of BFD such as 'Up', '' without BFD
    detection: float = 0.0  # seconds, of this side's BFD, 0.0 without BFD


def read_timers(vrf: str) -> tuple[Timers, ...]:
    """The timers of the established neighbours of BGP, by name."""
    with Parsing():
        return tuple(sorted((_timers(*each) for each in _established(vrf)),
                            key=lambda one: one.name))


def _established(vrf: str) -> Iterator[tuple[str, Document]]:
    """The neighbours with a session: name and bgpd's values."""
    for document in ask_json('bgpd', f'show bgp {of_vrf(vrf)}neighbors json'):
        for name, values in document.items():
            if (isinstance(values, dict) and
                    values.get('bgpState') == 'Established'):
                yield name, values


def _timers(name: str, values: Document) -> Timers:
    bfd = values.get('peerBfdInfo')
    if not bfd:
        return Timers(name, values['bgpTimerHoldTimeMsecs'] / 1000)
    return Timers(
        name, values['bgpTimerHoldTimeMsecs'] / 1000, bfd['status'],
        bfd['detectMultiplier'] * max(
            bfd['rxMinInterval'], bfd['txMinInterval']) / 1000)


class NextHop(typing.NamedTuple):
    """The next hop of IPv4 routes in an established session over IPv6."""

    name: str  # address or device of the neighbour
    ipv4: str  # the address that a neighbour without extended next hops gets
    offered: bool  # whether this side offers extended next hops (RFC 8950)
    taken: bool  # whether the neighbour offers them


def read_next_hops(vrf: str) -> tuple[NextHop, ...]:
    """The sessions over IPv6 that carry routes of IPv4, by name."""
    with Parsing():
        return tuple(sorted(
            (_next_hop(name, values) for name, values in _established(vrf)
             if ':' in values['hostLocal'] and
             'ipv4Unicast' in values['addressFamilyInfo']),
            key=lambda one: one.name))


def _next_hop(name: str, values: Document) -> NextHop:
    capability = values['neighborCapabilities'].get('extendedNexthop', '')
    return NextHop(_name(name), str(ip_text.address(values['nexthop'])),
                   'advertised' in capability,
                   'received' in capability.lower())


def read_setup(vrf: str, prefix_list: str, version: int = 4) -> setup.Setup:
    """The parts of FRR's configuration that the agent needs.

    This reads all of it, so it is only done when bgpd does not have a prefix.
    """
    with readers.unread():
        shown = _show('show vrf', 'show running-config')
    with Parsing():
        return setup.read(shown, vrf, prefix_list, version)


def _table(vrf: str, version: int) -> str:
    return f'{of_vrf(vrf)}ipv{version:d} unicast '


def of_vrf(vrf: str) -> str:
    """The words of a command for a VRF, '' for the default VRF."""
    return f'vrf {lines.check_device(vrf)} ' if vrf else ''


def read_missing(daemons: Iterable[str]) -> tuple[str, ...]:
    """Those of some daemons that take no connection."""
    return tuple(name for name in daemons if _is_missing(name))


def _is_missing(daemon: str) -> bool:
    if cfg.CONF.frr.vtysh_wrapper:
        # The sockets are in a container.
        return False
    try:
        with readers.unread(f'{daemon} of FRR'), _session(daemon):
            return False
    except readers.Unread as error:
        if isinstance(error.__cause__,
                      ConnectionRefusedError | FileNotFoundError):
            return True
        raise


def _session(daemon: str) -> contextlib.closing[session.Session]:
    limit = cfg.CONF.frr.vtysh_timeout
    return contextlib.closing(session.Session(
        cfg.CONF.frr.frr_run_dir, daemon, limit, time.monotonic() + limit))


def ask_text(daemon: str, command: str, enable: bool = False) -> str:
    """The answer of a daemon; see :func:`ask_json`."""
    conf = cfg.CONF.frr
    with readers.unread(f'{daemon} of FRR'):
        if conf.vtysh_wrapper or daemon not in session.daemons(
                conf.frr_run_dir):
            return _show(command)
        with _session(daemon) as opened:
            if enable:
                opened.exchange('enable')
            # A list that does not exist is a failure without a text.
            return opened.exchange(command)[1]


def _show(*commands: str) -> str:
    # The privileged side takes long to import, and is rarely needed here.
    from ovn_network_agent.privileged.routing import vtysh
    return vtysh.show(*commands).stdout


def ask_json(daemon: str, command: str, enable: bool = False
             ) -> list[Document]:
    """The JSON documents that a daemon answers with.

    :param command: fixed words with checked names, which only look
    :param enable: whether it is one of the enable mode nevertheless
    """
    answer = ask_text(daemon, command, enable)
    with Parsing():
        return list(output.json_documents(answer))


class Parsing:
    """Turns an answer in an unknown format into Unread."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        error = raised[1]
        if isinstance(error, AttributeError | KeyError | TypeError |
                      ValueError):
            raise readers.Unread(f'FRR: unknown answer: {error!r}') from error


class Outbound(typing.NamedTuple):
    """The outbound filters of a VRF."""

    neighbours: tuple[Neighbour, ...]  # with their filters
    filters: filters.Filters  # all that they lead to


def read_outbound(vrf: str, own: str, version: int = 4) -> Outbound:
    """The filters of all neighbours; own: the agent's prefix list, or ''."""
    neighbours = tuple(read_filters(vrf, each, version)
                       for each in read_neighbours(vrf, version))
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
        name: read_lists(name, version)['bgpd']
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
    documents = ask_json('bgpd', f'show route-map {name} json', True)
    with Parsing():
        for document in documents:
            for found, route_map in output.named(document, 'rules'):
                if found == name:
                    return tuple(map(_filter_rule, route_map['rules']))
    return None


def _filter_rule(route_map: Document) -> filters.Rule:
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
