# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of FRR: its daemons, its configuration, its sessions."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import os
import socket
import typing

from oslo_config import cfg

from ovn_network_agent import diagnosis
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.frr import output
from ovn_network_agent.frr import setup
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.watches.frr import frr_fitness

# Since FRR 9, mgmtd has the configuration.
_MGMTD_VERSION = 9
_NAMED = 5
# Seconds for a daemon to take a connection.
_LIMIT = 2.0

# (sequence, action, prefix, ge, le).
_Entry: typing.TypeAlias = tuple[int, str, str, int, int]


class Daemons(typing.NamedTuple):
    """The daemons of FRR."""

    wanted: tuple[str, ...]
    running: frozenset[str]
    # Directory that should have the sockets, '' if it is there.
    folder: str = ''
    # Why a socket that is there takes no connection, '' if not known.
    closed: str = ''


def read_daemons(sources: sources.Sources) -> Daemons:
    """Find the needed and the running daemons."""
    running = sources.daemons()
    wanted = frr_fitness.daemons(sources.conf)
    if 'bgpd' in running:
        found = sources.frr(4)
        wanted += ['bfdd'] if found.bfd else []
        wanted += ['mgmtd'] if major(found.version) >= _MGMTD_VERSION else []
    return Daemons(tuple(wanted), running, *_sockets(sources.conf, [
        name for name in wanted if name not in running]))


def _sockets(conf: cfg.ConfigOpts, missing: Collection[str]
             ) -> tuple[str, str]:
    """Whether the sockets of FRR can be reached at all."""
    folder = conf.frr.frr_run_dir
    if not missing or conf.frr.vtysh_wrapper:
        return '', ''
    if not os.path.isdir(folder):
        return folder, ''
    reasons = (refusal(os.path.join(folder, f'{name}.vty'))
               for name in missing)
    return '', next(filter(None, reasons), '')


def refusal(path: str) -> str:
    """Why a socket that has a listener takes no connection, '' if it does."""
    with socket.socket(socket.AF_UNIX) as opened:
        opened.settimeout(_LIMIT)
        try:
            opened.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            # Nobody listens.
            return ''
        except OSError as error:
            return f'{path}: {error.strerror or error}'
    return ''


def major(version: str) -> int:
    """The first number of a version such as '10.3', 0 without one."""
    first = version.partition('.')[0]
    return int(first) if first.isdigit() else 0


def judge_daemons(found: Daemons) -> Iterator[check.Result]:
    """A needed daemon that does not run is broken."""
    missing = [name for name in found.wanted if name not in found.running]
    if missing:
        yield check.broken(
            f'{" and ".join(missing)} of FRR not running{_where(found)}',
            _start_frr(found))
    else:
        yield check.ok(', '.join(found.wanted))


def _where(found: Daemons) -> str:
    """What is known of the sockets, the end of a sentence."""
    if found.folder:
        return f': there is no directory {found.folder}'
    return f', or not accessible: {found.closed}' if found.closed else ''


def _start_frr(found: Daemons) -> str:
    if found.closed:
        return check.DENIED
    remedy = ('set them to "yes" in /etc/frr/daemons, "systemctl restart '
              'frr", and look into the log of FRR')
    if found.folder:
        return (f'{remedy}; in a container mount {found.folder} of the host; '
                'or set [frr] frr_run_dir')
    return remedy


class Configured(typing.NamedTuple):
    """The faults of FRR's configuration."""

    # (part, text), see frr.setup.faults().
    faults: tuple[tuple[str, str], ...]
    asn: str  # AS number of the instance, '' without one
    where: str  # the VRF for people


def read_setup(sources: sources.Sources, version: int = 4) -> Configured:
    """Find the faults of the configuration; each check judges one part."""
    conf, found = sources.conf, sources.frr(version)
    return Configured(
        tuple(setup.faults(found, sources.vrf,
                           conf.fip_route.announce_method,
                           conf.frr.frr_prefix_list)),
        found.asn, f'VRF {sources.vrf}' if sources.vrf else 'the default VRF')


def _judge(part: str, verdict: diagnosis.Verdict, message: str
           ) -> Callable[[Configured], list[check.Result]]:
    """The judge of one part; the verdict is of a fault."""
    def judge(found: Configured) -> list[check.Result]:
        return check.of_messages(
            verdict, [text for of, text in found.faults if of == part],
            message.format(found))
    return judge


class Lists(typing.NamedTuple):
    """The prefix list in two daemons."""

    name: str  # its name, '' for none
    zebra: frozenset[_Entry] = frozenset()
    bgpd: frozenset[_Entry] = frozenset()
    version: int = 4  # 4 or 6, the family of the list


def read_lists(sources: sources.Sources, version: int = 4) -> Lists:
    """Read the prefix list of zebra and of bgpd."""
    name = sources.conf.frr.frr_prefix_list
    if not name:
        return Lists('')
    found = sources.prefix_lists(version)
    return Lists(name, _entries(found['zebra']), _entries(found['bgpd']),
                 version)


def _entries(found: Iterable[output.Entry] | None) -> frozenset[_Entry]:
    return frozenset((each.sequence, each.action, each.prefix, each.ge,
                      each.le) for each in found or ())


def judge_lists(found: Lists) -> Iterator[check.Result]:
    """An entry that only one of the daemons has is broken."""
    if not found.name:
        yield check.not_checked('[frr] frr_prefix_list is empty')
        return
    differences = [
        (daemon, sorted(entries)) for daemon, entries in (
            ('zebra', found.zebra - found.bgpd),
            ('bgpd', found.bgpd - found.zebra)) if entries]
    for daemon, entries in differences:
        shown = ', '.join(entry[2] for entry in entries[:_NAMED])
        yield check.broken(
            f'only {daemon} has these entries of {found.name}: {shown}',
            'an entry was made in one daemon alone: "no '
            f'{setup.WORDS[found.version]} prefix-list {found.name} seq '
            f'{entries[0][0]:d}" in vtysh; the agent makes its own again')
    if not differences:
        there = wording.count(len(found.bgpd), 'entry', 'entries')
        yield check.ok(f'{found.name} has {there} in zebra and in bgpd')


class Sessions(typing.NamedTuple):
    """The sessions of BGP."""

    neighbours: dict[str, str]  # states by neighbour
    senders: tuple[str, ...]  # neighbours that have sent a prefix
    version: int = 4  # 4 or 6, the family of the routes


def read_sessions(sources: sources.Sources, version: int = 4) -> Sessions:
    """Read the states of all neighbours for a family."""
    neighbours, senders = sources.sessions(version)
    return Sessions(neighbours, tuple(senders), version)


def judge_sessions(found: Sessions) -> Iterator[check.Result]:
    """Broken without any session; otherwise, each lost session is a warning.

    So is that no neighbour is configured, or has sent a prefix.
    """
    down = {peer: state for peer, state in sorted(found.neighbours.items())
            if state != 'Established'}
    up = sorted(set(found.neighbours) - set(down))
    shown = ', '.join(f'{peer} is {state}' for peer, state in down.items())
    remedy = ('look at the address, the AS number and the password on both '
              'sides, and at the uplink: "show bgp vrf all neighbors"')
    if not found.neighbours:
        yield check.warn(
            f'no neighbour is activated for IPv{found.version:d} unicast',
            f'activate one: "address-family ipv{found.version:d} unicast" '
            'and "neighbor ADDRESS activate" below the "router bgp" of the '
            'VRF; unless another protocol announces')
        return
    if down and not up:
        yield check.broken(f'no neighbour is established: {shown}', remedy)
        return
    if down:
        yield check.warn(shown, remedy)
    if not found.senders:
        yield check.warn(
            'no neighbour has sent a prefix: this node has neither the '
            'default route nor the addresses of the other gateway nodes',
            'FRR takes nothing without an inbound filter: "neighbor ADDRESS '
            'prefix-list LIST in"')
    elif not down:
        yield check.ok(f'{", ".join(up)} established')


@dataclasses.dataclass(frozen=True, slots=True)
class Announced:
    """The static routes of FRR."""

    method: str  # the announce method of the configuration
    count: int  # number of static host routes in the VRF


def read_announced(sources: sources.Sources) -> Announced:
    """Count the static routes."""
    sources.ovn_and_daemons()
    method = sources.conf.fip_route.announce_method
    return Announced(method, len(vtysh.read_static(sources.vrf))
                     if method == 'static' else 0)


def judge_announced(found: Announced) -> Iterator[check.Result]:
    """Many static routes are worth another method."""
    if found.count > frr_static.MANY:
        yield check.warn(
            f'FRR has {found.count:d} static routes here, and its time for '
            'each change grows with their number',
            'with announce_method = kernel a change stays fast: '
            '"ovn-network-agent-ctl announce-method kernel" says what FRR '
            'needs, and changes the method without a loss')
    else:
        yield check.ok(f'{found.method} suits so few static routes: '
                       f'{found.count:d}' if found.method == 'static'
                       else 'kernel suits any number of addresses')


CHECKS = (
    check.Check(
        'frr-daemons', 'FRR', 'zebra and bgpd run; staticd for static '
        'announcements, bfdd for neighbours with BFD, mgmtd from FRR 9 on',
        read_daemons, judge_daemons, ('prerequisites',)),
    check.Check(
        'frr-vrf', 'FRR', 'zebra knows the VRF', read_setup,
        _judge(setup.VRF, check.Verdict.BROKEN, 'zebra knows {0.where}'),
        ('frr-daemons', 'vrf')),
    check.Check(
        'bgp-instance', 'BGP', 'bgpd has an instance for the VRF, with '
        'neighbours', read_setup,
        _judge(setup.INSTANCE, check.Verdict.BROKEN,
               'AS {0.asn} in {0.where}'), ('frr-daemons',)),
    *check.of_both('redistribution-ipv6', check.Check(
        'bgp-redistribution', 'BGP', 'the instance redistributes the routes '
        'of announce_method, and a route map there exists', read_setup,
        _judge(setup.REDISTRIBUTION, check.Verdict.BROKEN,
               'the routes are redistributed'),
        ('frr-daemons', 'bgp-instance'))),
    *check.of_both('bgp-filter-ipv6', check.Check(
        'bgp-filter', 'BGP', 'the prefix list of frr_prefix_list is an '
        'outbound filter, and has no description', read_setup,
        _judge(setup.FILTER, check.Verdict.BROKEN,
               'only the provider networks go out'),
        ('frr-daemons', 'bgp-instance'))),
    *check.of_both('prefix-list-ipv6', check.Check(
        'prefix-list', 'BGP', 'zebra and bgpd have the same entries of the '
        'prefix list', read_lists, judge_lists, ('frr-daemons',))),
    *check.of_both('bgp-sessions-ipv6', check.Check(
        'bgp-sessions', 'BGP', 'the neighbours are established, and have '
        'sent routes', read_sessions, judge_sessions,
        ('frr-daemons', 'vrf', 'uplink', 'l3mdev-rule', 'bgp-instance'))),
    check.Check(
        'announce-method', 'FRR', 'FRR has few static routes, or the '
        'addresses are announced by kernel routes', read_announced,
        judge_announced, ('frr-daemons',)),
)
