# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the sessions of BGP: filters of routes, next hops (RFC 8950)."""

from collections.abc import Iterator
import typing

from ovn_network_agent.common import ip_text
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.forward import rules
from ovn_network_agent.frr import filters
from ovn_network_agent.frr import setup

#: the filters that routes pass: (kind, name)
Passed: typing.TypeAlias = tuple[tuple[str, str], ...]
_LOOPBACK = 'lo'
_VRF = 'vrf'


class Outbound(typing.NamedTuple):
    """The outbound filters, and the addresses that have to pass."""

    addresses: tuple[ip_text.Address, ...]
    own: str  # name of the agent's prefix list, '' for none
    # By name, with the filters of each.
    neighbours: tuple[tuple[str, Passed], ...]
    filters: filters.Filters
    version: int = 4  # 4 or 6, the family


def read_outbound(sources: sources.Sources, version: int = 4) -> Outbound:
    """Read the outbound filters of the neighbours."""
    vips = [ip_text.address(vip.address) for vip in rules.load(sources.conf)
            if vip.managed and vip.version == version]
    known = sources.announceable(version)
    addresses = tuple(sorted({*known, *vips}))
    # Without the privileges, this names them.
    sources.daemons()
    own = sources.conf.frr.frr_prefix_list
    found = frr.read_outbound(sources.vrf, own, version)
    return Outbound(addresses, own, tuple(
        (each.name, tuple(_split(text) for text in each.filters))
        for each in found.neighbours), found.filters, version)


def _split(text: str) -> tuple[str, str]:
    kind, _space, name = text.partition(' ')
    return kind, name


def judge_outbound(found: Outbound) -> Iterator[check.Result]:
    """One finding for each line, list or map that keeps addresses back."""
    kept: dict[filters.Denial, dict[str, list[ip_text.Address]]] = {}
    denials: dict[Passed, list[tuple[ip_text.Address, filters.Denial]]] = {}
    # A redistribution may use the agent's list, too.
    own = ((filters.LIST, found.own),) if found.own else ()
    for name, passed in [('', own), *found.neighbours]:
        # Neighbours often have the same filters.
        if passed not in denials:
            denials[passed] = [(address, denial)
                               for address in found.addresses if (denial := (
                                   _denial(found.filters, passed, address)))]
        for address, denial in denials[passed]:
            kept.setdefault(denial, {}).setdefault(name, []).append(address)
    yield from (_result(denial, of, found) for denial, of in kept.items())
    if not kept:
        yield check.ok(wording.count(len(found.addresses), 'address passes',
                                     'addresses pass') + ' to '
                       f'{wording.count(len(found.neighbours), "neighbour")}')


def _denial(known: filters.Filters, passed: Passed, address: ip_text.Address
            ) -> filters.Denial | None:
    for kind, name in passed:
        try:
            denial = known.denial(kind, name, address)
        except filters.Undecided:
            # FRR goes by more than the address, so this may be as wanted.
            continue
        if denial:
            return denial
    return None


def _result(denial: filters.Denial, of: dict[str, list[ip_text.Address]],
            found: Outbound) -> check.Result:
    """The finding about one denial; the neighbour '' stands for all."""
    addresses = {address for some in of.values() for address in some}
    peers = sorted(set(of) - {''})
    everybody = '' in of or len(peers) == len(found.neighbours)
    what = (f'{denial.kind} {denial.name}: {denial.text}' if denial.line
            else f'{denial.kind} {denial.name} {denial.text}')
    evidence = (f'{what}, so {check.named(addresses)} is kept back from '
                f'{"all neighbours" if everybody else ", ".join(peers)}')
    if everybody and addresses == set(found.addresses):
        return check.broken(evidence, _remedy(denial, found.version))
    return check.warn(evidence, _remedy(denial, found.version))


def _remedy(denial: filters.Denial, version: int) -> str:
    if denial.line and denial.kind == filters.LIST:
        return ('the line is none of the agent, which leaves it alone; in '
                f'vtysh "no {setup.WORDS[version]} prefix-list '
                f'{denial.name} {denial.text}" '
                'removes the line')
    if denial.line:
        return (f'narrow the entry with a "match", or remove it in vtysh: '
                f'"no route-map {denial.name} {denial.text}"')
    return ('let the addresses pass there, or take the filter away: "no '
            f'neighbor ADDRESS {denial.kind} {denial.name} out"')


class NextHops(typing.NamedTuple):
    """The next hops of IPv4, and the devices that have the addresses."""

    sessions: tuple[frr.NextHop, ...]
    devices: dict[str, str]  # names by IPv4 address
    loopbacks: frozenset[str]  # the names of devices without a neighbour
    others: int = 0  # number of established neighbours over IPv4
    vrf: str = ''  # name of the VRF, '' for the default VRF
    asn: str = ''  # AS number of the instance, '' when unknown


def read_next_hops(sources: sources.Sources) -> NextHops:
    """Read the next hops of IPv4 in sessions over IPv6."""
    sources.ovn_and_daemons()
    sessions = frr.read_next_hops(sources.vrf)
    neighbours = frr.read_neighbours(sources.vrf)
    over_ipv6 = {one.name for one in sessions}
    links = sources.links()
    names = {link.index: name for name, link in links.items()}
    return NextHops(
        sessions,
        {one.address.partition('/')[0]: names[one.index]
         for one in sources.addresses()
         if one.index in names and ':' not in one.address},
        frozenset(name for name, link in links.items()
                  if name == _LOOPBACK or link.kind == _VRF),
        sum(one.state == 'Established' and one.name not in over_ipv6
            for one in neighbours), sources.vrf,
        next((one.asn for one in neighbours), ''))


def judge_next_hops(found: NextHops) -> Iterator[check.Result]:
    """A next hop on no device is broken, unless a session has a better one.

    To the address of a loopback the neighbour needs a route of its own.
    """
    plain = [one for one in found.sessions
             if not (one.offered and one.taken)]
    nowhere = [one for one in plain if one.ipv4 not in found.devices]
    remote = [one for one in plain
              if found.devices.get(one.ipv4) in found.loopbacks]
    lost = found.sessions and not found.others and (
        len(nowhere) == len(found.sessions))
    for one in nowhere:
        text = (f'{one.name} gets the IPv4 routes with the next hop '
                f'{one.ipv4}, which no device here has, so it cannot use '
                'them')
        yield (check.broken if lost else check.warn)(
            text, _next_hop_remedy(one, found))
    for one in remote:
        yield check.warn(
            f'{one.name} gets the IPv4 routes with the next hop {one.ipv4} '
            f'of {found.devices[one.ipv4]}, and needs a route to it',
            _next_hop_remedy(one, found))
    if not nowhere and not remote:
        yield check.ok(', '.join(
            f'{one.name} gets ' + (
                f'the next hop {one.ipv4}' if one in plain else
                'next hops of IPv6') for one in found.sessions) or
            'no session over IPv6 carries routes of IPv4')


def _next_hop_remedy(one: frr.NextHop, found: NextHops) -> str:
    """Where the capability is missing, and the lines."""
    of_vrf = f' vrf {found.vrf}' if found.vrf else ''
    line = f'neighbor {one.name} capability extended-nexthop'
    here = f'"router bgp {found.asn or "ASN"}{of_vrf}" / "{line}" here'
    there = 'the same line, with the address of this node, on the neighbour'
    missing = ' and '.join(text for text, done in (
        (here, one.offered), (there, one.taken)) if not done)
    return (f'add {missing} (RFC 8950); FRR then starts the session again. '
            'Or give the uplink an address of IPv4 in a network of the '
            'neighbour')


CHECKS = (
    *check.of_both('outbound-ipv6', check.Check(
        'outbound-filters', 'BGP', 'no line of another program in the prefix '
        'list, and no other outbound filter of a neighbour, keeps addresses '
        'of this node back', read_outbound, judge_outbound,
        ('frr-daemons', 'bgp-instance', *check.DATABASES))),
    check.Check(
        'bgp-next-hops', 'BGP', 'with sessions over IPv6: the neighbours get '
        'IPv4 routes with next hops that exist', read_next_hops,
        judge_next_hops, ('frr-daemons', 'bgp-instance', 'bgp-sessions')),
)
