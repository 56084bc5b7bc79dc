# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of what this node announces, and of what it withholds on purpose."""

import collections
from collections.abc import Iterator
import typing

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.ovsdb import columns

# The most addresses, reasons or tags that are named.
_NAMED = 5


class Duplicates(typing.NamedTuple):
    """The addresses that this node announces, and their routers."""

    addresses: int
    # (address, names of its routers), where there are several; sorted.
    several: tuple[tuple[ip_text.Address, tuple[str, ...]], ...]


def read_duplicates(sources: sources.Sources) -> Duplicates:
    """Find the routers of each announced address in NB.

    They are those of NAT rows and gateway ports; those of a VNI are elsewhere.
    """
    addresses = frozenset(sources.announceable(4))
    in_vnis = {port.lrp for group in sources.snapshot().groups
               for port in group.ports if port.vni}
    owners: dict[ip_text.Address, dict[object, str]] = {}
    with sources.database('nb').rows() as nb:
        for key, router in nb['Logical_Router'].items():
            if any(port.name in in_vnis for port in router.ports):
                continue
            for address in _addresses(router) & addresses:
                owners.setdefault(address, {})[key] = (
                    directory.neutron_name(router) or router.name)
    return Duplicates(len(addresses), tuple(
        (address, tuple(sorted(names.values())))
        for address, names in sorted(owners.items()) if len(names) > 1))


def _addresses(router: columns.Row) -> set[ip_text.Address]:
    found = {_address(nat.external_ip) for nat in router.nat}
    for port in router.ports:
        if rows.members(port)[2]:
            found |= {ip_text.interface(text).ip
                      for text in rows.networks(port)[0]}
    return {each for each in found if each}


def _address(text: str) -> ip_text.Address | None:
    try:
        return ip_text.address(text)
    except ValueError:
        # Another check names such a row.
        return None


def judge_duplicates(found: Duplicates) -> Iterator[check.Result]:
    """One finding for each address, up to some, with its routers."""
    for address, names in found.several[:_NAMED]:
        yield check.warn(
            f'{address} is an address of the routers {", ".join(names)}: the '
            'node of each router announces it, and the fabric shares the '
            'clients', f'"ovn-network-agent-ctl explain {address}" shows the '
            'row of each router; let one router have the address')
    more = len(found.several) - _NAMED
    if more > 0:
        yield check.warn(wording.count(
            more, 'more address has', 'more addresses have') +
                         ' several routers',
                         'correct the addresses above, and check again')
    if not found.several:
        yield check.ok(f'each of {wording.count(found.addresses, "address")} '
                       'has one router')


class Withheld(typing.NamedTuple):
    """The addresses of routers and machines here, and prefixes of tenants."""

    addresses: int  # number of addresses and prefixes
    # (number of addresses, why they are not announced), by number.
    reasons: tuple[tuple[int, str], ...]
    # (option of [announce], 'router' or 'network', name that none in OVN has).
    unknown: tuple[tuple[str, str, str], ...]
    # Likewise, of names that several have.
    doubled: tuple[tuple[str, str, str], ...] = ()


def read_withheld(sources: sources.Sources) -> Withheld:
    """Count the addresses of this node, and those that are withheld."""
    found = {each.address: each.withheld
             for each in announceable(sources.snapshot(), sources.conf)}
    reasons = collections.Counter(filter(None, found.values()))
    with sources.database('nb').rows() as nb:
        known = {'router': _names(nb, 'Logical_Router',
                                  directory.NEUTRON_NAME),
                 'network': _names(nb, 'Logical_Switch',
                                   directory.NETWORK_NAME)}
    named = [(option, kind, name) for kind in sorted(known)
             for option, name in _named(sources.conf.announce, kind)]
    return Withheld(
        len(found), tuple((number, reason) for reason, number
                         in reasons.most_common()),
        tuple(each for each in named if not known[each[1]][each[2]]),
        tuple(each for each in named if known[each[1]][each[2]] > 1))


def _named(options: typing.Any, kind: str) -> Iterator[tuple[str, str]]:
    """(option, name) of the routers or networks that options name."""
    for option in (f'include_{kind}s', f'exclude_{kind}s'):
        yield from ((option, name) for name in options[option])
    option = f'{kind}_tags'
    yield from ((option, name)
                for name, _tag in selection.tags(options[option]))


def answered(snapshot: model.Snapshot, conf: cfg.ConfigOpts
             ) -> Iterator[model.ServedAddress | model.PortAddress]:
    """The addresses of provider networks that this node answers for."""
    for each in snapshot.every_address():
        here = (not each.claimed if isinstance(each, model.PortAddress) else
                each.answered or each.withheld == selection.BY_OVN)
        if here and networks.inside(
                each.address, announcing.provider_networks(conf, each.place)):
            yield each


def announceable(snapshot: model.Snapshot, conf: cfg.ConfigOpts
                 ) -> Iterator[model.ServedAddress | model.PortAddress |
                               model.TenantPrefix]:
    """The same, and the prefixes of tenants that nobody else has first."""
    yield from answered(snapshot, conf)
    for known in snapshot.tenants.values():
        for each in known.values():
            if each.announced or each.withheld:
                yield each


def _names(nb: columns.Tables, table: str, key: str
           ) -> collections.Counter[str]:
    return collections.Counter(
        name for uuid, row in nb.get(table, {}).items()
        for name in selection.names(
            directory.NEUTRON_PREFIX, str(uuid), row.name,
            row.external_ids.get(key, '')))


def judge_withheld(found: Withheld) -> Iterator[check.Result]:
    """Judge unknown names, and whether anything is left to announce."""
    for option, kind, name in found.unknown:
        yield check.warn(
            f'[announce] {option} has {name}, and OVN has no such {kind}',
            'correct the name, or remove it: '
            f'"openstack {kind} list" shows all names')
    for option, kind, name in found.doubled:
        yield check.warn(
            f'[announce] {option} has {name}, the name of several {kind}s',
            f'name the {kind} by its UUID: a tenant may choose the name of '
            'another one')
    number = sum(each for each, _reason in found.reasons)
    if not number:
        yield check.ok(
            f'none of {wording.count(found.addresses, "address")} is withheld')
        return
    why = '; '.join(f'{each:d}: {reason}'
                    for each, reason in found.reasons[:_NAMED])
    text = (f'{number:d} of {wording.count(found.addresses, "address")} not '
            f'announced on purpose ({why})')
    if number < found.addresses:
        yield check.ok(text)
        return
    yield check.warn(text, 'if this node is to announce something, change '
                     'what these reasons name; "ovn-network-agent-ctl '
                     'addresses" has the reason of each address')


class Advertised(typing.NamedTuple):
    """The routes that OVN advertises for the routers that it routes."""

    wanted: bool  # whether [announce] advertised_routes is on
    there: bool = False  # whether SB has the table
    routers: int = 0  # number of routers with dynamic-routing=true
    routes: int = 0  # number of rows of the table


def read_advertised(sources: sources.Sources) -> Advertised:
    """Count what OVN advertises."""
    if not sources.conf.announce.advertised_routes:
        return Advertised(False)
    with sources.database('nb').rows() as nb:
        routers = sum(map(policies.is_routed,
                          nb.get('Logical_Router', {}).values()))
    with sources.database('sb').rows() as sb:
        return Advertised(True, events.ADVERTISED in sb, routers,
                          len(sb.get(events.ADVERTISED, ())))


def judge_advertised(found: Advertised) -> Iterator[check.Result]:
    """An option without effect is a warning, as are routers without routes."""
    if not found.wanted:
        yield check.ok('[announce] advertised_routes is off')
    elif not found.there:
        yield check.warn(
            '[announce] advertised_routes has no effect, because OVN SB has '
            'no table Advertised_Route',
            'upgrade OVN to 25.03 or later, or set the option to false')
    elif found.routers and not found.routes:
        yield check.warn(
            f'OVN advertises nothing for '
            f'{wording.count(found.routers, "router")} with '
            'dynamic-routing=true', 'set '
            'options:dynamic-routing-redistribute=nat, or another value, in '
            'the rows of the routers or of their ports; if it is set, see '
            'that ovn-northd runs')
    else:
        yield check.ok('OVN advertises '
                       f'{wording.count(found.routes, "route")} for '
                       f'{wording.count(found.routers, "router")}')


class Tags(typing.NamedTuple):
    """The tags of the announced routes of this node."""

    # (tag, number of addresses), sorted; only of the families without a route
    # map, if there are such.
    addresses: tuple[tuple[int, int], ...]
    method: str  # 'static' or 'kernel', the source that BGP redistributes
    # Whether the redistribution has a route map in each family that has tags.
    mapped: bool


def read_tags(sources: sources.Sources) -> Tags:
    """Count the addresses of each tag."""
    found = [(each.tag, networks.family(each.address))
             for each in announceable(sources.snapshot(), sources.conf)
             if each.tag and not each.withheld and
             getattr(each.place, 'vni', None) is None]
    method = sources.conf.fip_route.announce_method
    families = sorted({family for _tag, family in found})
    without = {family for family in families
               if method not in dict(sources.frr(family).mapped)}
    # Where a family has no route map, its addresses are those to name.
    counts = collections.Counter(tag for tag, family in found
                                 if not without or family in without)
    return Tags(tuple(sorted(counts.items())), method, not without)


def judge_tags(found: Tags) -> Iterator[check.Result]:
    """A tag that no route map can match is a warning."""
    if not found.addresses:
        yield check.ok('no route has a tag')
        return
    text = ', '.join(f'{tag} ({wording.count(number, "address")})'
                     for tag, number in found.addresses[:_NAMED])
    if found.mapped:
        yield check.ok(f'tags of {found.method} routes: {text}')
        return
    match = 'tag' if found.method == 'static' else 'metric'
    yield check.warn(
        f'tags without effect: {text}; BGP redistributes {found.method} '
        'routes without a route map',
        f'give "redistribute {found.method}" a route map that has "match '
        f'{match} {found.addresses[0][0]}", or remove the tags')


CHECKS = (
    check.Check(
        'duplicate-addresses', 'OVN', 'no address of this node belongs to '
        'several routers', read_duplicates, judge_duplicates, check.VIEW),
    check.Check(
        'withheld-addresses', 'OVN', 'rows of OVN and the options of '
        '[announce] leave something to announce, and OVN knows the names in '
        'these options',
        read_withheld, judge_withheld, check.VIEW),
    check.Check(
        'advertised-routes', 'OVN', 'with [announce] advertised_routes: SB '
        'has the table Advertised_Route, and routes for the routers that OVN '
        'routes', read_advertised, judge_advertised,
        ('nb-database', 'sb-database')),
    check.Check(
        'route-tags', 'BGP', 'the tags of announced routes, and a route map '
        'for them', read_tags, judge_tags,
        (*check.VIEW, 'bgp-instance')),
)
