# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for the state of zebra and bgpd: routes, sessions,
and facts of the setup, without its passwords.  A command for an address takes
0.1 ms (FRR 8.4) for any size of the tables.
"""

from collections.abc import Sequence
import hashlib
import typing

from ovn_network_agent import privileged
from ovn_network_agent.frr import effect
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import setup
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.privileged.routing import vty
from ovn_network_agent.privileged.routing import vtysh

# most addresses for one session, whose answers have about 0.15 MB
_BATCH = 100


@privileged.frr.entrypoint
def read_effect(vrf: str, prefixes: Sequence[str], bgp: bool
                ) -> list[typing.Any]:
    """Read host routes in zebra and, if asked for, in bgpd.

    :returns: [protocols ('static', 'kernel') by prefix that zebra has selected
        and installed; neighbours with it by prefix in bgpd's table]
    """
    wanted = [str(vtysh.checked(lines.check_network, prefix))
              for prefix in checks.sequence(prefixes)]
    found = effect.Found({}, {})
    for at in range(0, len(wanted), _BATCH):
        some = wanted[at:at + _BATCH]
        questions = {'zebra': [_in_zebra(vrf, prefix) for prefix in some]}
        if bgp:
            questions['bgpd'] = [_in_bgpd(vrf, prefix) for prefix in some]
        vtysh.parsed(found.take, vtysh.ask(questions))
    return [found.active, found.advertised]


@privileged.frr.entrypoint
def read_effect_digest(vrf: str) -> list[typing.Any]:
    """Read a digest of what :func:`read_effect` would say of all routes.

    zebra counts its routes and those in use, by protocol; bgpd lists what it
    has sent, with the version of its table, which grows with each choice of a
    route.  FRR 8.4 takes 7 ms for 10,000 routes, and 650 ms for a question
    each.

    :returns: [digest, lines]: '' where FRR is asked through vtysh, or lacks a
        command; lines in the lists of bgpd, which are more than the routes
    """
    route, table = _of_vrf(vrf)
    _route, table6 = _of_vrf(vrf, 'ipv6')
    try:
        texts = vty.texts({
            'zebra': [f'show {family} route {route}summary'
                      for family in ('ip', 'ipv6')],
            'bgpd': [f'show bgp {each}update-groups advertised-routes'
                     for each in (table, table6)]})
    except vty.Unavailable:
        texts = []
    if not texts:
        return ['', 0]
    _counts, _counts6, *lists = texts
    return [hashlib.sha256('\0'.join(texts).encode()).hexdigest(),
            sum(text.count('\n') for text in lists)]


@privileged.frr.entrypoint
def read_sessions(vrf: str, daemons: Sequence[str], version: int = 4
                  ) -> list[typing.Any]:
    """Read the daemons that run, and the sessions of BGP.

    :param daemons: those that have to run, bgpd among them
    :param version: of the routes; a session may be of the other family
    :returns: [missing daemons; state ('Established') by neighbour activated
        for the family; neighbours that have announced a prefix]
    """
    checks.version(version)
    _route, table = _of_vrf(vrf, f'ipv{version:d}')
    try:
        running = vtysh.read_daemons()
    except ConnectionRefusedError:
        # no daemon runs
        running = []
    missing = sorted({
        vtysh.checked(lines.check_name, name)
        for name in checks.sequence(daemons)}.difference(running))
    if 'bgpd' in missing:
        return [missing, {}, []]
    found = vtysh.ask({'bgpd': [f'show bgp {table}summary json']})
    return [missing,
            vtysh.parsed(effect.surroundings, found, True)['neighbours'],
            vtysh.parsed(effect.received, found)]


@privileged.frr.entrypoint
def read_peers(vrf: str) -> list[list[typing.Any]]:
    """Read the sessions of both families; see :func:`effect.peers`."""
    tables = {family: _of_vrf(vrf, family)[1] for family in ('ipv4', 'ipv6')}
    vtysh.require(vtysh.read_daemons(), 'bgpd')
    return [row for family, table in tables.items()
            for row in vtysh.parsed(effect.peers, vtysh.ask(
                {'bgpd': [f'show bgp {table}summary json']}), family)]


@privileged.frr.entrypoint
def read_surroundings(vrf: str, bgp: bool) -> dict[str, typing.Any]:
    """Read the fields of :class:`frr.effect.Surroundings`, a dict."""
    route, table = _of_vrf(vrf)
    _route, table6 = _of_vrf(vrf, 'ipv6')
    vtysh.require(vtysh.read_daemons(), 'zebra', *(['bgpd'] if bgp else []))
    questions = {'zebra': [f'show ip route {route}connected json']}
    if bgp:
        # routes of IPv6 alone may be announced
        questions['bgpd'] = [f'show bgp {each}summary json'
                             for each in (table, table6)]
    return vtysh.parsed(effect.surroundings, vtysh.ask(questions), bgp)


@privileged.frr.change
def soft_refresh(vrf: str, withdrawn: str, ipv6: bool) -> list[typing.Any]:
    """Make bgpd send its routes to all neighbours of the VRF again.

    :param withdrawn: prefix, '' for none: no refresh while bgpd has it,
        because that would send the route again
    :returns: [whether bgpd was told, messages of bgpd]
    """
    _route, table = _of_vrf(vrf)
    prefix = withdrawn and vtysh.checked(lines.check_network, withdrawn)
    vtysh.require(vtysh.read_daemons(), 'bgpd')
    if prefix and _has(_in_bgpd(vrf, str(prefix))):
        return [False, '']
    of_vrf = table.removesuffix('ipv4 unicast ')
    # bgpd takes "ip" for IPv4, and is silent on neighbours without the family
    commands = [f'clear ip bgp {of_vrf}* soft out'] + (
        [f'clear bgp {of_vrf}ipv6 unicast * soft out'] if ipv6 else [])
    return [True, '\n'.join(filter(None, (
        vtysh.enabled('bgpd', command) for command in commands)))]


def _has(question: str) -> bool:
    """Whether bgpd has a route of this node."""
    found = effect.Found({}, {})
    vtysh.parsed(found.take, vtysh.ask({'bgpd': [question]}))
    return bool(found.advertised)


def _in_zebra(vrf: str, prefix: str) -> str:
    family = 'ipv6' if ':' in prefix else 'ip'
    return f'show {family} route {_of_vrf(vrf)[0]}{prefix} json'


def _in_bgpd(vrf: str, prefix: str) -> str:
    table = _of_vrf(vrf, 'ipv6' if ':' in prefix else 'ipv4')[1]
    return f'show bgp {table}{prefix} json'


def _of_vrf(vrf: str, family: str = 'ipv4') -> tuple[str, str]:
    """(words for the VRF in a command of zebra, words for bgpd's table)."""
    name = vtysh.check_vrf(vrf)
    of_vrf = f'vrf {name} ' if name else ''
    return of_vrf, f'{of_vrf}{family} unicast '


@privileged.frr.entrypoint
def read_setup(vrf: str, prefix_list: str, version: int = 4
               ) -> list[typing.Any]:
    """Read the fields of :class:`frr.setup.Setup`, a list."""
    vtysh.check_vrf(vrf)
    if prefix_list:
        vtysh.check_prefix_list(prefix_list)
    checks.version(version)
    shown = vtysh.show('show vrf', 'show running-config')
    return list(vtysh.parsed(setup.read, shown.stdout, vrf, prefix_list,
                             version))
