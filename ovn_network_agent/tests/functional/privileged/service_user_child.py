# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What test_service_user runs: an agent as the service unit starts it.

First as root, to make what systemd makes of the unit's text: user, capability
sets, mounts, directories.  Then as the user, whose agent is in other hands.
"""

import configparser
import ctypes

# Python of the tests may be where only root reads, once the start is over.
import encodings.ascii  # noqa: F401
import json
import os
import pathlib
import socket
import subprocess
import sys

from oslo_config import cfg

from lab import places
from ovn_network_agent import privileged
from ovn_network_agent.conf import opts
from ovn_network_agent.privileged import nft
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.privileged.daemon import start
from ovn_network_agent.privileged.network import links
from ovn_network_agent.privileged.network import netlink
from ovn_network_agent.privileged.switch import ovsdb

ROOT = pathlib.Path(__file__).resolve().parents[4]
UNIT = ROOT / 'contrib/systemd/ovn-network-agent.service'
NUMBER = 61235
# Like db.sock of Open vSwitch and the private socket of systemd.
SOCKET = '/run/of-root.sock'
# What the agent finds empty, but for the clone if that lies there.
EMPTY = ('/run', '/var/log', '/tmp')  # noqa: S108
_PTRACE_ATTACH = 16
_MS_BIND = 4096
_libc = ctypes.CDLL(None, use_errno=True)


def service():
    """Section [Service] of the unit: dict of option to text."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(UNIT)
    return unit['Service']


def run(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def directories(unit):
    """Where the unit lets the agent write, by path: the mode."""
    return {base / unit[name]: int(unit.get(name + 'Mode', '0755'), 8)
            for base, name in ((pathlib.Path('/run'), 'RuntimeDirectory'),
                               (pathlib.Path('/var/log'), 'LogsDirectory'))}


def carry(path, opened):
    """Have a directory seen again that lies below one that is empty now."""
    os.makedirs(path, exist_ok=True)
    if _libc.mount(b'/proc/self/fd/%d' % opened, os.fsencode(path), None,
                   _MS_BIND, None):
        raise OSError(ctypes.get_errno(), path)
    os.close(opened)


def prepare(unit):
    """The mounts, and the directories of the agent."""
    assert unit['ProtectSystem'] == 'strict', unit['ProtectSystem']
    carried = {path: os.open(path, os.O_PATH) for path in places.hidden(
        places.needed(), EMPTY)}
    for path in EMPTY:
        run('mount', '-t', 'tmpfs', '-o', 'mode=755', 'none', path)
    for path, opened in carried.items():
        carry(path, opened)
    for path, mode in directories(unit).items():
        path.mkdir()
        path.chmod(mode)
        os.chown(path, NUMBER, NUMBER)
        run('mount', '--bind', str(path), str(path))
    listening = socket.socket(socket.AF_UNIX)
    os.fchmod(listening.fileno(), 0o700)
    listening.bind(SOCKET)
    listening.listen()
    listening.set_inheritable(True)
    # It goes on listening in the program that takes the place of this one.
    listening.detach()
    for path in ('/', '/run', '/var/log'):
        run('mount', '-o', 'remount,bind,ro', path)


def become(unit):
    """Run this as the user, with the capability sets of the unit."""
    def words(option):
        return ['+' + name.removeprefix('CAP_').lower()
                for name in unit[option].split()]
    assert unit['NoNewPrivileges'] == 'true'
    assert unit['User'] == unit['Group'] != 'root'
    ambient = ','.join(words('AmbientCapabilities'))
    bounding = ','.join(['-all', *words('CapabilityBoundingSet')])
    os.umask(int(unit['UMask'], 8))
    os.environ.update(item.split('=') for item in
                      unit['Environment'].split())
    os.execvp('setpriv', [
        'setpriv', f'--reuid={NUMBER}', f'--regid={NUMBER}',
        '--clear-groups', f'--inh-caps=-all,{ambient}',
        f'--ambient-caps=-all,{ambient}', f'--bounding-set={bounding}',
        '--no-new-privs', sys.executable, '-W', 'ignore', '-m',
        'ovn_network_agent.tests.functional.privileged.service_user_child',
        'agent'])


def writes():
    """Files that would be worth something to an attacker."""
    return ['/etc/passwd', '/etc/systemd/system/x.service', '/run/x',
            '/run/systemd', '/var/spool/x', '/var/lib/x', '/usr/bin/x',
            '/usr/local/bin/x', '/root/.x', '/x', '/tmp/../etc/x',
            '/etc/ovn-network-agent/x', '/proc/sys/kernel/core_pattern',
            '/proc/sys/net/ipv4/ip_forward', '/proc/sysrq-trigger',
            start.__file__]


def calls(daemon):
    """Attacks by a system call: dict of a name to a function."""
    def attach():
        if _libc.ptrace(_PTRACE_ATTACH, daemon, None, None):
            raise OSError(ctypes.get_errno(), 'ptrace')

    def mount():
        if _libc.mount(b'none', b'/run', b'tmpfs', 0, None):
            raise OSError(ctypes.get_errno(), 'mount')

    def connect():
        with socket.socket(socket.AF_UNIX) as tried:
            tried.connect(SOCKET)

    def raw():
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()

    return {'setuid': lambda: os.setuid(0), 'setgid': lambda: os.setgid(0),
            'setgroups': lambda: os.setgroups([0]),
            'kill': lambda: os.kill(1, 0), 'ptrace': attach,
            'memory': lambda: open(f'/proc/{daemon}/mem', 'rb').close(),
            'environment': lambda: open(f'/proc/{daemon}/environ').read(),
            'shadow': lambda: open('/etc/shadow').close(),
            'mount': mount, 'socket of root': connect, 'packets': raw,
            'chroot': lambda: os.chroot('/run'),
            'priority': lambda: os.setpriority(os.PRIO_PROCESS, 0, -5)}


PROGRAMS = (('ip', 'link', 'add', 'new', 'type', 'veth'),
            ('ip', 'address', 'flush', 'dev', 'lo'),
            ('nft', 'add', 'table', 'ip', 'evil'),
            ('su', '-c', 'id'), ('mount', '-o', 'remount,rw', '/'))


def succeeded(attack):
    try:
        attack()
    except OSError:
        return False
    return True


def agent():
    """The attacker's code, in the agent's process after its start."""
    opts.register(cfg.CONF)
    cfg.CONF([], project='ovn-network-agent', default_config_files=[],
             default_config_dirs=[])
    cfg.CONF.set_override('vrf_name', '', 'frr')
    cfg.CONF.set_override('ovsdb_connection', 'unix:' + SOCKET, 'ovs')
    # Afterwards the agent may not read a clone that is for root alone.
    writable = directories(service())
    start.start(cfg.CONF)
    with open('/proc/self/status') as opened:
        status = dict(line.rstrip('\n').split(':\t', 1) for line in opened
                      if ':\t' in line)
    attacks = {
        **calls(privileged.kernel.pid),
        **{f'write {path}': lambda path=path: open(path, 'a').close()
           for path in writes()},
        **{' '.join(argv): lambda argv=argv: _program(argv)
           for argv in PROGRAMS}}
    with passed_sockets.receive(ovsdb.connect) as connected:
        peer = connected.getpeername()
    return {
        'uid': os.getresuid(), 'groups': os.getgroups(),
        'sets': [int(status[f'Cap{name}'], 16)
                 for name in ('Inh', 'Prm', 'Eff', 'Amb')],
        'through': [name for name, attack in attacks.items()
                    if succeeded(attack)],
        # What the agent is there for.
        'link': links.set_links_up(['br-ex']),
        'sysctl': netlink.set_sysctls(
            [['net/ipv4/conf/br-ex/proxy_arp', '1']]),
        'nft': nft.read_tables(['ip']), 'peer': peer,
        'log': succeeded(lambda: [open(path / 'x', 'w').close()
                                  for path in writable]),
    }


def _program(argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    if done.returncode:
        raise OSError(done.returncode, argv[0])


if __name__ == '__main__':
    if sys.argv[1:] == ['agent']:
        print(json.dumps(agent()))
    else:
        prepare(service())
        become(service())
