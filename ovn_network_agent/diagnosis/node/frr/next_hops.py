# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Check of the next hops of IPv4 routes in sessions over IPv6 (RFC 8950)."""

from collections.abc import Iterator
import typing

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import frr

_LOOPBACK = 'lo'
_VRF = 'vrf'


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
    sources.ovn()
    sources.privileged()
    try:
        sessions = frr.read_next_hops(sources.vrf)
        neighbours = frr.read_neighbours(sources.vrf)
    except readers.Unread as error:
        raise check.NotChecked(str(error)) from error
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
        yield (check.broken if lost else check.warn)(text,
                                                     _remedy(one, found))
    for one in remote:
        yield check.warn(
            f'{one.name} gets the IPv4 routes with the next hop {one.ipv4} '
            f'of {found.devices[one.ipv4]}, and needs a route to it',
            _remedy(one, found))
    if not nowhere and not remote:
        yield check.ok(', '.join(
            f'{one.name} gets ' + (
                f'the next hop {one.ipv4}' if one in plain else
                'next hops of IPv6') for one in found.sessions) or
            'no session over IPv6 carries routes of IPv4')


def _remedy(one: frr.NextHop, found: NextHops) -> str:
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
    check.Check(
        'bgp-next-hops', 'BGP', 'with sessions over IPv6: the neighbours get '
        'IPv4 routes with next hops that exist', read_next_hops,
        judge_next_hops, ('frr-daemons', 'bgp-instance', 'bgp-sessions')),
)
