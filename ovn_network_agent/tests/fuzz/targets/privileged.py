# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The privileged entry points, called by somebody who owns the agent.

The functions are the real ones, in a network namespace of their own, with the
real kernel and the real nft.  The daemons of FRR and the switch are peers that
write down what they are told: each command has to be one that the agent gives.
An input is JSON, [name of the function, arguments]; a list arrives as a tuple,
as it does through oslo.privsep.
"""

import contextlib
import inspect
import json
import os
import pkgutil
import re
import stat
import subprocess

from oslo_config import cfg

from lab import syscalls
from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.conf.options import frr
from ovn_network_agent.conf.options import ovs
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.tests import configs
from ovn_network_agent.tests import entry_points
from ovn_network_agent.tests.fuzz import foreign
from ovn_network_agent.tests.fuzz import peers
from ovn_network_agent.tests.fuzz.target import Target

VRF, LIST, BRIDGE, DEVICE = ('vrf-provider', 'ANNOUNCED-NETWORKS', 'br-ex',
                             'management')
_BYTES = '\1'
_NAME, _NET, _HOST = r'[A-Za-z0-9_.-]+', r'[0-9a-f.:]+/\d+', r'[0-9.]+/32'
_OF_VRF, _VNI = f'vrf {VRF}', r'vrf-\d+'
_TAG = r'(?: tag 44\d{5})?'
# All that the privileged side may say to a daemon of FRR.
_COMMANDS = re.compile('|'.join((
    'enable', 'configure terminal(?: file-lock)?', 'end', 'exit-vrf',
    'XFRR_(?:start|end)_configuration', 'mgmt commit abort', _OF_VRF,
    f'(?:no )?ip route {_HOST} (?:169\\.254\\.0\\.1|{BRIDGE}){_TAG}',
    '(?:no )?ipv6 route [0-9a-f:.]+/128 '
    f'(?:fe80::a9fe:1 veth-provider|{BRIDGE}){_TAG}',
    f'(?:no )?ip(?:v6)? prefix-list {LIST} (?:seq \\d+ )?permit {_NET} '
    r'ge \d+ le \d+',
    f'show ip(?:v6)? prefix-list (?:summary )?{LIST}(?: seq \\d+)?(?: json)?',
    f'show ip(?:v6)? route {_OF_VRF} (?:static|kernel|connected|{_NET}) json',
    f'show ip(?:v6)? route {_OF_VRF} summary',
    f'show bgp {_OF_VRF} ipv[46] unicast (?:summary|{_NET}) json',
    f'show bgp {_OF_VRF} ipv[46] unicast update-groups advertised-routes',
    'show daemons', 'show running-config', 'show vrf',
    f'clear ip bgp {_OF_VRF} \\* soft out',
    f'clear bgp {_OF_VRF} ipv6 unicast \\* soft out',
    rf'interface {BRIDGE}(?:\.\d+)?', 'exit', 'no ipv6 nd suppress-ra',
    'ipv6 nd ra-lifetime 1844', 'ipv6 nd ra-interval msec 30044',
    'ipv6 nd prefix [0-9a-f:.]+/[0-9]+ off-link no-autoconfig',
    rf'(?:no )?router bgp \d+ vrf {_VNI}', f'(?:no )?vrf {_VNI}',
    r'(?:no )?vni \d+', 'exit-address-family', 'bgp router-id [0-9.]+',
    'address-family (?:ipv[46] unicast|l2vpn evpn)', 'redistribute kernel',
    'timers bgp 44 132', 'coalesce-time 44132', 'advertise ipv[46] unicast',
    r'(?:rd|route-target (?:import|export)) [0-9.]+:\d+',
    'show vrf vni(?: json)?')))
_POPULATION = (
    'link set lo up',
    f'link add {BRIDGE} type veth peer name br-ex-peer',
    f'link set {BRIDGE} up', 'link set br-ex-peer up',
    'link add veth-default type veth peer name veth-provider',
    'link set veth-default up', 'link set veth-provider up',
    'address add 169.254.0.1/30 dev veth-default',
    'address add 169.254.0.2/30 dev veth-provider',
    'link add loopback1 type veth peer name other', 'link set loopback1 up',
    f'link add {DEVICE} type veth peer name management-peer',
    f'link set {DEVICE} up', 'link set management-peer up',
    f'address add 10.9.9.9/24 dev {DEVICE}',
    f'neighbour add 10.9.9.1 lladdr 02:00:00:00:00:01 dev {DEVICE} '
    'nud permanent',
    f'neighbour add proxy 2001:db8::1 dev {DEVICE}',
    f'neighbour add proxy 2001:db8::2 dev {BRIDGE}',
    f'address add 10.8.8.8/24 dev {BRIDGE}',
    f'neighbour add 10.8.8.1 lladdr 02:00:00:00:00:01 dev {BRIDGE} '
    'nud permanent',
    'address add 10.7.7.7/24 dev loopback1',
    'rule add pref 100 from 10.9.9.0/24 table 77',
    'rule add pref 2000 from 198.51.100.0/24 table 78',
    # Devices of others with names of ours.
    'link add br-77 type bridge',
    'link add vxlan-77 type vxlan id 77 local 192.0.2.1 dstport 4789',
    'link add vrf00000000-00 type veth peer name ovs00000000-00',
    f'route add default via 10.9.9.1 dev {DEVICE}',
    f'route add 10.9.8.0/24 via 10.9.9.1 dev {DEVICE}',
    f'route add 198.51.100.77/32 dev {BRIDGE}')
# The kernel makes no addresses by itself.
_SYSCTLS = ('ipv6/conf/default/addr_gen_mode',)
_RULESET = '''table ip operator {
  set s { type ipv4_addr; elements = { 192.0.2.1 } }
  chain c { type filter hook input priority 0; policy accept; }
}
'''


class _World:
    """What the entry points reach in this process."""

    def __init__(self):
        self.points = entry_points.found()
        self.directory = peers.directory()
        self._log = os.path.join(self.directory, 'ran')
        self._tables = ''
        self.foreign = None

    @contextlib.contextmanager
    def made(self):
        """Have the world stand while the block runs."""
        syscalls.unshare(syscalls.CLONE_NEWNET)
        for setting in _SYSCTLS:
            with open('/proc/sys/net/' + setting, 'w',
                      encoding='ascii') as opened:
                opened.write('1')
        for command in _POPULATION:
            subprocess.run(['ip', *command.split()], check=True)
        subprocess.run(['nft', '-f', '-'], input=_RULESET, text=True,
                       check=True)
        self._trap('vtysh', 'cat >> {log}; exit 1')
        self._trap('ovs-ofctl', 'exit 1')
        self._trap('sh', 'exit 1')
        os.environ['PATH'] = self.directory + ':' + os.environ['PATH']
        self._configure()
        self.daemons = [
            peers.Recorder(os.path.join(self.directory, f'{name}.vty'))
            for name in ('zebra', 'bgpd', 'staticd')]
        self.switch = peers.Switch(
            os.path.join(self.directory, f'{BRIDGE}.mgmt'))
        self.foreign = foreign.Objects()
        self._tables = self._ruleset()
        yield

    def _trap(self, name, script):
        path = os.path.join(self.directory, name)
        with open(path, 'w', encoding='ascii') as opened:
            opened.write('#!/bin/sh\nfor word in "$@"; do '
                         f'echo "{name}: $word" >> {self._log}; done\n' +
                         script.format(log=self._log) + '\n')
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def _configure(self):
        for context in privileged.CONTEXTS:
            context.set_client_mode(False)
        limits.fix(configs.conf(
            ovn__ovn_nb_remote=['unix:/nowhere'],
            ovn__ovn_sb_remote=['unix:/nowhere'], frr__vrf_name=VRF,
            frr__frr_prefix_list=LIST, port_forward__rules_file='/rules',
            drivers=['fip_route', 'veth_leak', 'port_forward', 'evpn'],
            evpn__local_ip='192.0.2.1'))
        cfg.CONF([], project='none', default_config_files=[],
                 default_config_dirs=[], use_env=False)
        for options, values in (
                (frr, {'frr_run_dir': self.directory, 'vtysh_timeout': 1}),
                (ovs, {'ovs_rundir': self.directory,
                       'ovn_rundir': self.directory,
                       'ovsdb_connection': f'unix:{self.directory}/db'})):
            cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
            for name, value in values.items():
                cfg.CONF.set_override(name, value, options.GROUP)

    def _ruleset(self):
        """The nftables that are not ours."""
        said = subprocess.run(
            ['nft', '-j', 'list', 'ruleset'], check=True, text=True,
            capture_output=True).stdout
        return sorted(
            json.dumps(one) for one in json.loads(said)['nftables']
            for value in one.values()
            if ownership.NFT_TABLE not in (value.get('table'),
                                           value.get('name')) and
            'metainfo' not in one)

    def look(self, name):
        """Assert that nothing of others was touched.

        :param name: of the function that was called
        """
        self.foreign.check()
        if name.startswith('nft.'):
            assert self._tables == self._ruleset(), self._ruleset()
        for daemon in self.daemons:
            for command in daemon.taken():
                assert _COMMANDS.fullmatch(command), command
        for line in self._ran():
            assert line in _WORDS or _COMMANDS.fullmatch(line), line
        for change in self.switch.taken():
            _check_flow(change)

    def _ran(self):
        """Arguments and inputs of the programs that were started."""
        try:
            with open(self._log, encoding='utf-8') as opened:
                found = opened.read().splitlines()
        except FileNotFoundError:
            return []
        os.unlink(self._log)
        return [line.removeprefix('vtysh: ') for line in found]


_WORDS = {'-c', '-f', '/dev/stdin', '-d', 'zebra', 'bgpd', 'mgmtd'}


def _check_flow(change):
    """A change of flows is one of a flow of ours in table 0, or a removal."""
    assert change.cookie in ownership.FLOW_COOKIES, change
    if change.command == peers.ADD:
        assert change.table == 0, change
        assert change.priority in (
            ownership.PRIORITY_MAC_TWEAK, ownership.PRIORITY_HAIRPIN,
            ownership.PRIORITY_RELAY), change
    else:
        assert change.command == peers.DELETE_STRICT, change
        assert change.mask | 1 << 63 == (1 << 64) - 1, change


_worlds = {}


@contextlib.contextmanager
def _world():
    made = _worlds[os.getpid()] = _World()
    with made.made():
        yield


def _arrived(value):
    """A value as oslo.privsep delivers values."""
    if isinstance(value, list):
        return tuple(map(_arrived, value))
    if isinstance(value, dict):
        return {key: _arrived(of) for key, of in value.items()}
    if isinstance(value, str) and value.startswith(_BYTES):
        return value[1:].encode('utf-8', 'replace')
    return value


def _original(function):
    """The function itself, without what sends the call to a daemon."""
    return getattr(function, '__wrapped__', None) or function.args[0]


def _call(data):
    """Call an entry point, and look at what is there afterwards."""
    try:
        name, arguments = json.loads(data)
        function = _worlds[os.getpid()].points[name]
        arguments = _arrived(arguments)
        inspect.signature(_original(function)).bind(*arguments)
    except (ValueError, TypeError, KeyError, RecursionError):
        # No call, or not one of a function with these arguments.
        return
    try:
        function(*arguments)
    except OSError as error:
        assert error.errno, error
    finally:
        _worlds[os.getpid()].look(name)


_VALUES = (VRF, LIST, BRIDGE, DEVICE, 'veth-default', 'veth-provider', 'lo',
           'loopback1', '169.254.0.1', '169.254.0.2', '10.9.9.9/24', 254, 200,
           10, 77, 2000, 150, '0.0.0.0/1', '198.51.100.0/24', [], {},
           '02:00:00:00:00:01', 77, 1001, 10_001_001, '192.0.2.1', 4789, 1450,
           'vrf00000000-00', 'vrf01234567-89', ownership.COOKIE_MAC_TWEAK,
           'networks', 'tcp', '1:1', _BYTES + 'br-ex', '0' * 32,
           'fe80::1%x }\nflush ruleset')


# Modules without an entry point that parse for one.
_BELOW = {'nft': ('nft.values',), 'vtysh': ('privileged.daemon.command',),
          'ovsdb': ('privileged.daemon.passed_sockets',)}


# The name below the package of each module, by its last part.
_MODULES = {
    info.name.rpartition('.')[2]: info.name.partition('.')[2] for info in
    pkgutil.walk_packages(privileged.__path__, f'{privileged.__name__}.')}


def _target(module, share):
    return Target(f'privileged.{module}', _call, (),
                  (_MODULES[module], *_BELOW.get(module, ())), json=True,
                  values=_VALUES, world=_world, root=True, share=share)


TARGETS = tuple(_target(module, share) for module, share in (
    ('kernel_routes', 1), ('links', 0.5), ('vni_links', 0.5),
    ('netlink', 2.3), ('neighbour_proxies', 0.3),
    ('openflow', 1), ('flow_monitor', 0.2), ('overlap', 0.02),
    ('ovsdb', 0.1), ('vtysh', 0.25), ('bgp', 0.2),
    ('router_advertisements', 0.2), ('evpn_instances', 0.2),
    ('prefix_lists', 0.2), ('monitors', 0.1),
    ('log_levels', 0.3), ('nft', 0.6)))
