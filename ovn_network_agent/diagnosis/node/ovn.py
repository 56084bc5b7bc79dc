# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the databases, the chassis and ovn-controller."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import errno
import os
import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import bridges
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.ovn.chassis import own_chassis
from ovn_network_agent.ovs import wiring
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import connection

_OPTIONS = 'ovn-cms-options'
_GATEWAY = 'enable-chassis-as-gw'
_DRAIN = 'gateway_drain'


class Connection(typing.NamedTuple):
    """Whether a database can be used."""

    name: str  # name of the schema
    remotes: str  # where it was asked for
    failure: str  # why it cannot be used, '' when it can


def _reader(name: str) -> Callable[[sources.Sources], Connection]:
    """The reader of 'nb', 'sb' or 'ovs'."""
    def read(sources: sources.Sources) -> Connection:
        conf = sources.conf
        remotes = {'nb': ', '.join(conf.ovn.ovn_nb_remote),
                   'sb': ', '.join(conf.ovn.ovn_sb_remote),
                   'ovs': conf.ovs.ovsdb_connection}[name]
        try:
            sources.database(name)
        except connection.Unavailable as error:
            return Connection(connection.SCHEMAS[name], remotes, str(error))
        return Connection(connection.SCHEMAS[name], remotes, '')
    return read


def judge_connection(found: Connection) -> Iterator[check.Result]:
    """A database that cannot be used is broken."""
    if found.failure:
        yield check.broken(f'{found.name}: {found.failure}',
                           _connection_remedy(found))
    else:
        yield check.ok(f'{found.name} answers at {found.remotes}')


def _connection_remedy(found: Connection) -> str:
    path = found.remotes.removeprefix('unix:')
    if found.name != connection.SCHEMAS['ovs'] or path == found.remotes:
        return (f'is the server up, is it {found.remotes}, and does a '
                'firewall or TLS stand between?')
    if os.strerror(errno.EACCES) in found.failure:
        return check.DENIED
    if os.strerror(errno.ENOENT) in found.failure:
        return ('"systemctl start openvswitch-switch"; in a container mount '
                f'{os.path.dirname(path)} of the host; or name the socket in '
                '[ovs] ovsdb_connection')
    return (f'ovsdb-server does not serve {path}: "systemctl restart '
            'openvswitch-switch", and look into its log')


class Chassis(typing.NamedTuple):
    """The names of this chassis, and what it offers to OVN."""

    name: str  # external_ids:system-id, '' when not set
    hostname: str  # its host name there
    key: str  # key of the local database that has ovn-cms-options
    options: tuple[str, ...]  # the words of ovn-cms-options
    served: tuple[str, ...]  # the provider bridges that the agent serves
    mapped_by: str  # key of the local database that has ovn-bridge-mappings
    mappings: tuple[tuple[str, str], ...]
    bridges: frozenset[str]  # names of the bridges of Open vSwitch
    gateway: bool = True  # whether the agent has the driver of gateway nodes
    # What is wrong with the mappings, or ''.
    flaw: str = ''
    own: own_chassis.OwnChassis = own_chassis.OwnChassis('')
    namesakes: tuple[str, ...] = ()  # other chassis with the same host name


def read_chassis(sources: sources.Sources) -> Chassis:
    """Read this chassis in the local database and in SB."""
    with sources.database('ovs').rows() as ovs:
        external_ids = {}
        for row in ovs['Open_vSwitch'].values():
            external_ids = dict(row.external_ids)
        present = frozenset(row.name for row in ovs['Bridge'].values())
        here = wiring.read(ovs, ())
    name = external_ids.get('system-id', '')
    key, mapped_by = (wiring.key_of_chassis(external_ids, each)
                      for each in (_OPTIONS, wiring.MAPPINGS))
    entries = external_ids.get(key, '').split(',')
    with sources.database('sb').rows() as sb:
        hostname = next((row.hostname for row in sb['Chassis'].values()
                         if row.name == name), '')
        own = own_chassis.of_rows(sb, here)
        namesakes = tuple(sorted(
            f'{row.name} ({", ".join(_tunnels(sb, row.name))})'
            for row in sb['Chassis'].values()
            if row.hostname == hostname and row.name != own.name))
    return Chassis(name, hostname, key,
                   tuple(filter(None, map(str.strip, entries))),
                   bridges.served(sources.conf), mapped_by,
                   wiring.bridge_mappings(external_ids), present,
                   _DRAIN in sources.conf.drivers,
                   flaw(wiring.of_chassis(external_ids, wiring.MAPPINGS)),
                   own, namesakes)


def _tunnels(sb: columns.Tables, chassis: str) -> list[str]:
    return sorted(row.ip for row in sb['Encap'].values()
                  if row.chassis_name == chassis)


def flaw(mappings: str) -> str:
    """What ovn-controller reads otherwise than a person, '' if nothing."""
    # ovn-controller ignores a comma at the end.
    items = mappings.removesuffix(',').split(',') if mappings else []
    for item in items:
        if not all(item.partition(':')):
            return (f'"{item}" is no NETWORK:BRIDGE, and ovn-controller '
                    'uses nothing from there on')
    for item in items:
        if item.split() != [item]:
            return ('ovn-controller takes the space for a part of the name '
                    f'in "{item}"')
    return ''


def judge_chassis(found: Chassis) -> Iterator[check.Result]:
    """A chassis without a row of its own in SB is broken."""
    if found.namesakes:
        yield check.warn(
            f'{found.name}: its host name {found.hostname} is in SB also that '
            f'of chassis {", ".join(found.namesakes)}; Neutron cannot tell '
            'them apart', 'set a host name of its own on each node ("ovs-vsctl'
            ' set Open_vSwitch . external_ids:hostname=NAME"), or delete the '
            'row of a node that is gone ("ovn-sbctl chassis-del NAME")')
    if found.own.problem:
        yield check.broken(found.own.problem, found.own.remedy)
    elif not found.namesakes:
        yield check.ok(f'{found.name}, host name {found.hostname}')


def judge_gateway(found: Chassis) -> Iterator[check.Result]:
    """A gateway node that is no gateway for Neutron is broken.

    A gateway for Neutron whose agent cannot drain is a warning.
    """
    if _GATEWAY in found.options and not found.gateway:
        yield check.warn(
            f'{found.key} has {_GATEWAY}, and [DEFAULT] drivers lacks '
            f'{_DRAIN}: Neutron schedules gateways here, and neither a stop '
            'nor "ovn-network-agent-ctl drain" hands them over',
            f'on a gateway node add {_DRAIN} to [DEFAULT] drivers; on a '
            f'compute node take {_GATEWAY} out of external_ids:{found.key}')
    elif _GATEWAY in found.options:
        yield check.ok(_GATEWAY)
    elif not found.gateway:
        yield check.ok(f'a compute node: without {_GATEWAY}, and [DEFAULT] '
                       f'drivers without {_DRAIN}')
    else:
        yield check.broken(
            f'{found.key} is "{",".join(found.options)}", without {_GATEWAY}, '
            'so Neutron schedules no gateway here', _add_gateway(found))


def _add_gateway(found: Chassis) -> str:
    where = f'external_ids:{found.key}'
    if found.options:
        command = (f'append ",{_GATEWAY}" to {where} of the local '
                   'Open_vSwitch database, and keep the other words')
    else:
        command = f'"ovs-vsctl set Open_vSwitch . {where}={_GATEWAY}"'
    return (f'on a gateway node {command}; on a compute node take {_DRAIN} '
            'out of [DEFAULT] drivers instead')


def judge_mappings(found: Chassis) -> Iterator[check.Result]:
    """A served bridge that no network is mapped to is broken."""
    if found.flaw:
        yield check.broken(f'{found.mapped_by}: {found.flaw}', _tidy(found))
        return
    mapped = {bridge for _network, bridge in found.mappings}
    wrong = False
    for bridge in found.served:
        option = ('bridge_dev' if bridge == found.served[0]
                  else 'further_bridges')
        if bridge not in mapped:
            wrong = True
            yield check.broken(
                f'{found.mapped_by} names {_named(found.mappings)}, and not '
                f'[DEFAULT] {option} = {bridge}',
                f'"ovs-vsctl set Open_vSwitch . external_ids:{found.mapped_by}'
                f'={_with(found.mappings, bridge)}"')
        elif bridge not in found.bridges:
            wrong = True
            yield check.broken(
                f'Open vSwitch has no bridge {bridge}',
                f'"ovs-vsctl add-br {bridge}", or name the right one')
    if not wrong:
        yield check.ok(_named(found.mappings))


def _tidy(found: Chassis) -> str:
    """The remedy of a flaw; only mappings with spaces are known to the end."""
    where = f'external_ids:{found.mapped_by}'
    if 'space' not in found.flaw:
        return (f'correct {where} of the local Open_vSwitch database: '
                'NETWORK:BRIDGE for each network, with commas between')
    value = ','.join(f'{network.strip()}:{bridge.strip()}'
                     for network, bridge in found.mappings)
    return f'"ovs-vsctl set Open_vSwitch . {where}={value}"'


def _with(mappings: Iterable[tuple[str, str]], bridge: str) -> str:
    return ','.join(f'{network}:{each}' for network, each in (
        *mappings, ('PHYSICAL-NETWORK', bridge)))


def _named(mappings: Iterable[tuple[str, str]]) -> str:
    return ', '.join(f'{network}:{bridge}'
                     for network, bridge in mappings) or 'nothing'


class Controller(typing.NamedTuple):
    """The ovn-controller of this node."""

    state: str  # 'running' or 'paused', '' when there is none
    connection: str = ''  # 'connected' or another word
    overlap: bool = False  # whether an overlap of the agent is under way
    silent: str = ''  # why ovn-controller does not answer, '' when it does


def read_controller(sources: sources.Sources) -> Controller:
    """Ask ovn-controller for its state."""
    try:
        answer = sources.controller()
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return Controller('', silent=error.strerror or '')
    if not answer:
        return Controller('')
    with sources.database('ovs').rows() as ovs:
        overlap = any(ownership.EXT_ID_OVERLAP in row.external_ids
                      for row in ovs['Open_vSwitch'].values())
    return Controller(answer[1], answer[2], overlap)


def judge_controller(found: Controller) -> Iterator[check.Result]:
    """Broken if stopped, paused or disconnected; an overlap is a warning."""
    if found.silent:
        yield check.broken(
            f'ovn-controller does not answer: {found.silent}',
            'look at its process and its log: "ps -o pid,stat,args -C '
            'ovn-controller" (T is stopped, and "kill -CONT PID" has it go '
            'on); "systemctl restart ovn-controller"')
    elif not found.state:
        yield check.broken(
            'ovn-controller does not run', '"systemctl start '
            'ovn-controller"; where it runs with another directory, set '
            '[ovs] ovn_rundir')
    elif found.state != 'running' and found.overlap:
        yield check.warn('ovn-controller is paused for an overlap',
                         'wait some seconds, and look again')
    elif found.state != 'running':
        yield check.broken(f'ovn-controller is {found.state}',
                           '"ovn-appctl -t ovn-controller debug/resume"')
    elif found.connection != 'connected':
        yield check.broken(
            f'ovn-controller is {found.connection}, to the Southbound '
            'database', 'look at external_ids:ovn-remote of the local '
            'Open_vSwitch database, and into the log of ovn-controller')
    else:
        yield check.ok('running and connected')


CHECKS = (
    check.Check('ovs-database', 'databases', 'the local Open_vSwitch '
                'database answers', _reader('ovs'), judge_connection,
                ('privileges',)),
    check.Check('nb-database', 'databases', 'the Northbound database '
                'answers, and has what the agent reads', _reader('nb'),
                judge_connection, ('tls-files',)),
    check.Check('sb-database', 'databases', 'the Southbound database '
                'answers, and has what the agent reads', _reader('sb'),
                judge_connection, ('tls-files',)),
    check.Check(
        'ovn-controller', 'OVN', 'ovn-controller runs, is not paused and is '
        'connected', read_controller, judge_controller,
        ('ovs-database', 'sb-database')),
    check.Check(
        'chassis', 'OVN', 'the chassis has a name, and is in the Southbound '
        'database', read_chassis, judge_chassis,
        ('ovs-database', 'sb-database', 'ovn-controller')),
    check.Check(
        'gateway-chassis', 'OVN', 'ovn-cms-options has '
        'enable-chassis-as-gw, and drivers has gateway_drain, or neither',
        read_chassis, judge_gateway,
        ('ovs-database', 'sb-database')),
    check.Check(
        'bridge-mappings', 'OVN', 'ovn-bridge-mappings has no spaces and '
        'names each bridge of bridge_dev and further_bridges, and Open '
        'vSwitch has these bridges',
        read_chassis, judge_mappings,
        ('ovs-database', 'sb-database')),
)
