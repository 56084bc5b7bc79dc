# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Network managers that remove routes, rules and next hops of others.

systemd-networkd does so at its start and when a link comes, unless configured
otherwise (networkd.conf(5)); NetworkManager on the devices that it manages.
"""

from collections.abc import Iterator
import contextlib
import os
import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.privileged.daemon import command

_NETWORKD, _NM = 'systemd-networkd', 'NetworkManager'
# Names of processes have at most 15 characters (proc(5), comm).
_PROCESSES = {_NETWORKD[:15]: _NETWORKD, _NM: _NM}
# PROC_PID_INIT_INO of the kernel: the PID namespace of the host.
_OF_HOST = 'pid:[4026531836]'
# Option, what goes without it, first version of systemd that has it.
_OPTIONS = (('ManageForeignRoutes', 'routes', 246),
            ('ManageForeignRoutingPolicyRules', 'policy rules', 249),
            ('ManageForeignNextHops', 'next hops of FRR', 256))
# Later directories win (systemd-system.conf(5)).
_DIRECTORIES = ('usr/lib', 'usr/local/lib', 'run', 'etc')
_NO = ('0', 'no', 'n', 'false', 'f', 'off')
_YES = ('1', 'yes', 'y', 'true', 't', 'on')
_DROP_IN = '/etc/systemd/networkd.conf.d/ovn-network-agent.conf'
_KEYFILE = '/etc/NetworkManager/conf.d/ovn-network-agent.conf'
# zebra then makes routes without nexthop objects.
_WITHOUT_NEXT_HOPS = '"no zebra nexthop kernel enable"'
_NMCLI = ('nmcli', '--terse', '--fields', 'DEVICE,STATE', 'device')
_TIMEOUT = 5


class Managers(typing.NamedTuple):
    """The network managers of this network namespace."""

    # By option: whether foreign objects are removed; None without networkd.
    networkd: dict[str, bool] | None = None
    # Those of the agent that NetworkManager manages; None without it.
    managed: tuple[str, ...] | None = None
    hidden: bool = False  # whether the processes of the host cannot be seen
    failure: str = ''  # why the settings cannot be read, or ''


def read_managers(sources: sources.Sources) -> Managers:
    """Read the settings of the running network managers."""
    # Another user does not see the namespaces of root's processes.
    sources.privileged()
    found = _processes()
    devices = {*ownership.VETH_ENDS, sources.vrf,
               sources.conf.port_forward.port_forward_dev,
               sources.conf.bridge_dev, *sources.conf.further_bridges}
    networkd = managed = None
    failure = ''
    try:
        if _NETWORKD in found:
            # The files as networkd sees them, also from a container.
            networkd = foreign(f'/proc/{found[_NETWORKD]}/root')
        if _NM in found:
            managed = tuple(sorted(devices & _ask_nmcli()))
    except OSError as error:
        failure = wording.error(error)
    return Managers(networkd, managed, os.readlink(
        '/proc/self/ns/pid') != _OF_HOST, failure)


def _processes() -> dict[str, int]:
    """Process ids of the managers of this network namespace, by program."""
    here, found = agent.namespace('thread-self'), {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        # A process may end meanwhile, or belong to another user.
        with contextlib.suppress(OSError):
            with open(f'/proc/{pid}/comm', encoding='utf-8',
                      errors='replace') as opened:
                program = _PROCESSES.get(opened.read().rstrip('\n'))
            if program and agent.namespace(pid) == here:
                found[program] = int(pid)
    return found


def foreign(root: str) -> dict[str, bool]:
    """Which foreign objects systemd-networkd removes.

    The main file is the one of the first directory.  Drop-ins of all
    directories come after this file, by their names; of equal names that of
    the first directory counts (systemd-system.conf(5)).

    :param root: directory that networkd takes for the root
    :raises OSError: when a file cannot be read
    """
    main, drop_ins = '', {}
    for directory in _DIRECTORIES:
        path = os.path.join(root, directory, 'systemd', 'networkd.conf')
        main = path if os.path.lexists(path) else main
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            drop_ins.update({name: os.path.join(f'{path}.d', name)
                             for name in os.listdir(f'{path}.d')
                             if name.endswith('.conf')})
    found = {option: True for option, _what, _first in _OPTIONS}
    for path in filter(None, (main, *(
            drop_ins[name] for name in sorted(drop_ins)))):
        found.update(assigned(_text(path)))
    return found


def _text(path: str) -> str:
    """The content of a file; a link to /dev/null switches it off.

    An absolute link means the root of networkd, which is not ours.
    """
    if os.path.islink(path) and os.readlink(path) == os.devnull:
        return ''
    with open(path, encoding='utf-8', errors='replace') as opened:
        return opened.read()


def assigned(text: str) -> dict[str, bool]:
    """The assignments of a file; systemd ignores what is no boolean."""
    section, found = '', {}
    for line in map(str.strip, text.splitlines()):
        key, equals, value = map(str.strip, line.partition('='))
        if line.startswith('[') and line.endswith(']'):
            section = line[1:-1]
        elif equals and section == 'Network' and line[0] not in '#;':
            if value.lower() in _NO + _YES:
                found[key] = value.lower() in _YES
    return {option: found[option] for option, _what, _first in _OPTIONS
            if option in found}


def _ask_nmcli() -> set[str]:
    """The devices that NetworkManager manages, or OSError if it is silent."""
    result = command.run(list(_NMCLI), _TIMEOUT)
    if result.status:
        raise OSError(f'"{" ".join(_NMCLI)}": {result.messages}')
    return managed_devices(result.stdout)


def managed_devices(text: str) -> set[str]:
    """What NetworkManager has set up, by nmcli's fields DEVICE and STATE."""
    lines = (line.rpartition(':') for line in text.splitlines())
    # "connected (externally)" is a device that another program has set up.
    return {device.replace('\\:', ':') for device, _colon, state in lines
            if state.startswith(('connected', 'connecting')) and
            'externally' not in state}


def judge_managers(found: Managers) -> Iterator[check.Result]:
    """A manager that removes what it has not made is a warning."""
    removed = [(option, what, first) for option, what, first in _OPTIONS
               if (found.networkd or {}).get(option)]
    if removed:
        lines = ' / '.join(f'"{option}=no"' for option, *_rest in removed)
        yield check.warn(
            f'{_NETWORKD} runs, and removes '
            f'{" and ".join(what for _option, what, _first in removed)} that '
            'it has not configured, also those of FRR and of the agent',
            f'in {_DROP_IN}, below "[Network]": {lines}, then "systemctl '
            f'restart {_NETWORKD}"; systemd knows ' + ', '.join(
                f'{option} since version {first:d}'
                for option, _what, first in removed) + '; against the removal '
            f'of next hops, older ones need {_WITHOUT_NEXT_HOPS} in '
            '"configure terminal" of vtysh, and a restart of FRR')
    if found.managed:
        names = ';'.join(f'interface-name:{name}' for name in found.managed)
        yield check.warn(
            f'{_NM} manages {", ".join(found.managed)}, and removes addresses '
            'and routes there that it has not configured',
            f'in {_KEYFILE}, below "[keyfile]": "unmanaged-devices+={names}", '
            'then "nmcli general reload"')
    if found.failure:
        yield check.not_checked(
            f'the settings of {_NETWORKD} or {_NM} cannot be read: '
            f'{found.failure}')
    elif found.networkd is None and found.managed is None and found.hidden:
        yield check.not_checked(
            'from this container, the network managers of the host cannot be '
            f'seen: where {_NETWORKD} runs there, {_DROP_IN} needs '
            'ManageForeignRoutes=no, ManageForeignRoutingPolicyRules=no and '
            'ManageForeignNextHops=no')
    elif not removed and not found.managed:
        yield check.ok('; '.join(filter(None, (
            f'{_NETWORKD} leaves foreign routes, rules and next hops alone'
            if found.networkd is not None else '',
            f'{_NM} manages none of the devices'
            if found.managed is not None else ''))) or
            f'neither {_NETWORKD} nor {_NM} runs')


CHECKS = (
    check.Check(
        'network-managers', 'network managers', 'systemd-networkd and '
        'NetworkManager leave the routes, rules and next hops of FRR and of '
        'the agent alone', read_managers, judge_managers),
)
