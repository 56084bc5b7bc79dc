# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of what a power failure of a gateway node costs.

Two systems have to notice the failure.  OVN notices by BFD in the tunnels, and
moves the gateway ports.  The fabric notices by a lost link, by BFD, or by the
hold time of BGP, and stops sending packets to the dead node.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import typing

from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.ovn.chassis import bfd
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import query

# The key 'flow' leaves out the agent's relays, which have numbers.
_SESSIONS = (query.select(
    'Interface', ['bfd', 'includes', ['map', [['enable', 'true']]]],
    ['options', 'includes', ['map', [['key', 'flow']]]],
    columns=('options', 'bfd', 'bfd_status')),)
_PAGE = 'see "power failures" in the documentation'
_OPTIONS = '[ovn] bfd_min_rx, bfd_min_tx and bfd_mult'
# The most names that one line has.
_NAMED = 5
# Milliseconds.  A shorter detection time takes a pause of ovs-vswitchd for a
# death (admin/power-failures.rst has the measurements).
_SHORT = 300
# Seconds.  FRR's profile "datacenter" has a hold time of 9 s, and its profile
# "traditional" of 180 s.
_LONG_HOLD = 10


class Tunnels(typing.NamedTuple):
    """BFD in the tunnels of OVN."""

    wanted: bool  # whether this configuration has the options of BFD
    fleet: bfd.Fleet  # of NB_Global
    southbound: dict[str, str]  # options of SB_Global
    sessions: tuple['Session', ...]


class Session(typing.NamedTuple):
    """BFD in one tunnel, as the local Open vSwitch has it."""

    remote: str  # IP address of the other end
    timers: dict[str, str]  # by option, see ovn.bfd.OPTIONS
    state: str  # such as 'up', '' while unknown
    diagnostic: str  # why it is down, in the words of ovs-vswitchd


def read_tunnels(sources: sources.Sources) -> Tunnels:
    """Read BFD's timers in NB_Global, SB_Global and this node's tunnels."""
    sources.ovn()
    with sources.database('nb').rows() as nb:
        fleets = [bfd.read(row) for row in nb['NB_Global'].values()]
    with sources.database('sb').rows() as sb:
        options = [{key: value for key, value in row.options.items()
                    if key in bfd.OPTIONS}
                   for row in sb['SB_Global'].values()]
    if not fleets or not options:
        raise check.NotChecked('NB_Global or SB_Global has no row')
    return Tunnels(bool(sources.conf.ovn.bfd_mult), fleets[0], options[0],
                   _sessions(sources.database('ovs').database))


def _sessions(database: connection.Database) -> tuple[Session, ...]:
    try:
        answers = ovsdb_writer.ask(database, _SESSIONS)
    except backends.BackendError as error:
        raise check.NotChecked(str(error)) from error
    return tuple(sorted(sessions(answers)))


def sessions(answers: Sequence[Iterable[typing.Any]]) -> Iterator[Session]:
    """The :class:`Session` objects in an answer of the local database."""
    for row in answers[0]:
        column, status = dict(row['bfd'][1]), dict(row['bfd_status'][1])
        # The option 'bfd-min-rx' is 'min_rx' there.
        keys = {option: option.removeprefix('bfd-').replace('-', '_')
                for option in bfd.OPTIONS}
        yield Session(dict(row['options'][1]).get('remote_ip', ''),
                      {option: column[key] for option, key in keys.items()
                       if key in column},
                      status.get('state', ''), status.get('diagnostic', ''))


def judge_tunnels(found: Tunnels) -> Iterator[check.Result]:
    """The cost of a power failure in OVN, and timers that do not fit."""
    wrong = [*_faults(found)]
    yield from wrong
    try:
        detection = bfd.detection(found.southbound)
    except ValueError:
        yield check.warn(
            f'an option of BFD in SB_Global is no number: {found.southbound}',
            'correct the option in options of NB_Global')
        return
    cost = (f'OVN moves the gateway ports of a node without power after '
            f'{detection / 1000:.1f} s')
    why = ', '.join(f'{option} {value}' for option, value in
                    sorted(found.southbound.items()))
    if detection < _SHORT:
        yield check.warn(
            f'{cost} ({why}); a short pause of ovs-vswitchd counts as a '
            'power failure, too', f'{_PAGE} for values that are safe')
    elif not wrong:
        up = sum(session.state == 'up' for session in found.sessions)
        why = why or f'the defaults; {_OPTIONS} are not set'
        yield check.ok(f'{cost} ({why}); BFD is up in '
                       f'{wording.count(up, "tunnel")}')


def _faults(found: Tunnels) -> Iterator[check.Result]:
    """The reason why the timers are not those of the requests."""
    fleet = found.fleet
    foreign = bfd.in_the_way(fleet)
    if foreign:
        yield check.of_message(check.Verdict.WARN, foreign)
    if len({*filter(None, fleet.requests.values())}) > 1:
        shown = ', '.join(f'{host} {"/".join(map(str, values))}'
                          for host, values in sorted(fleet.requests.items())
                          if values)
        yield check.warn(
            f'the agents request different timers of BFD: {shown}; the '
            'slowest values count', f'set {_OPTIONS} to the same values on '
            'all gateway nodes')
    if found.wanted and not fleet.requests:
        yield check.warn(
            f'{_OPTIONS} are set, and no agent has requested them in '
            'NB_Global', 'is the agent running, and may it write to the '
            'Northbound database?')
    if fleet.options != found.southbound:
        yield check.warn(
            f'SB_Global has {_shown(found.southbound)} and NB_Global '
            f'{_shown(fleet.options)}', 'ovn-northd copies them; is it '
            'running?')
    yield from _session_faults(found)


def _session_faults(found: Tunnels) -> Iterator[check.Result]:
    others = [session.remote for session in found.sessions
              if session.timers != found.southbound]
    if others:
        yield check.warn(
            f'tunnels to {wording.first(others, _NAMED)} have other timers '
            'than SB_Global',
            'is ovn-controller of this node running and connected?')
    down = [session.remote for session in found.sessions
            if session.state != 'up']
    if down:
        diagnostics = {session.diagnostic for session in found.sessions
                       if session.state != 'up'} - {'', 'No Diagnostic'}
        why = f' ({", ".join(sorted(diagnostics))})' if diagnostics else ''
        yield check.warn(
            f'BFD is down in tunnels to {wording.first(down, _NAMED)}{why}',
            'do these nodes run, and does the network between the nodes let '
            'UDP port 6081 pass?')


def _shown(options: dict[str, str]) -> str:
    return ', '.join(f'{option} {options[option]}'
                     for option in bfd.OPTIONS
                     if option in options) or 'no timers of BFD'


def read_fabric(sources: sources.Sources) -> tuple[frr.Timers, ...]:
    """The timers of BGP."""
    sources.ovn_and_daemons()
    return frr.read_timers(sources.vrf)


def judge_fabric(found: Sequence[frr.Timers]) -> Iterator[check.Result]:
    """When the fabric notices a dead node whose link stays up."""
    wrong = False
    for one in found:
        if one.bfd and one.bfd != 'Up':
            wrong = True
            yield check.warn(
                f'{one.name} has BFD, which is {one.bfd}; without BFD a '
                f'power failure costs up to the hold time, {one.hold:g} s',
                'is bfdd running here ("bfdd=yes" in /etc/frr/daemons), and '
                'has the other side BFD for this neighbour?')
        elif not one.bfd and one.hold > _LONG_HOLD:
            wrong = True
            yield check.warn(
                f'{one.name} has no BFD and a hold time of {one.hold:g} s: '
                'without a lost link, the fabric sends packets to a dead '
                'node for so long',
                f'"neighbor {one.name} bfd profile NAME", on both sides, or '
                f'"neighbor {one.name} timers 3 9"; {_PAGE}')
    if not found:
        yield check.not_checked('no neighbour of BGP is established')
    elif not wrong:
        yield check.ok('; '.join(
            f'{one.name} notices after ' + (
                f'{one.detection:.1f} s by BFD' if one.bfd else
                f'{one.hold:g} s by the hold time, or when the link is lost')
            for one in found))


CHECKS = (
    check.Check(
        'power-failure', 'OVN', 'what a power failure of a gateway node '
        'costs in OVN: the timers of BFD in NB_Global, in SB_Global and in '
        'the tunnels agree, and the tunnels are up', read_tunnels,
        judge_tunnels, (*check.DATABASES, 'ovn-controller')),
    check.Check(
        'bgp-hold-time', 'BGP', 'what a power failure costs in the fabric: '
        'BFD of the neighbours, or else their hold time', read_fabric,
        judge_fabric, ('bgp-sessions',)),
)
