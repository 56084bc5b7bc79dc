# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Tests against real zebra, staticd and bgpd.

They run in a network namespace and a directory of their own and are ended
by their process ids.  A second bgpd is the neighbour that learns what is
announced.

Since FRR 9 it is mgmtd that holds the configuration of staticd, since 10
also that of zebra.  Its sockets are in /run/frr whatever it is told, so that
this is the directory of their own, in a mount namespace.
"""

import contextlib
import functools
import json
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import unittest

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.conf import frr as options
from ovn_network_agent.privileged import channel
from ovn_network_agent.privileged import limits
from ovn_network_agent.privileged import originals
from ovn_network_agent.tests import configs
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import waiting

DAEMONS = '/usr/lib/frr'
# Before the tests put scripts in its place.
_VTYSH = shutil.which('vtysh')
RUN = '/run/frr'
BRIDGE = 'br-ex'
LIST = 'ANNOUNCED-NETWORKS'
# A prefix list that is referenced and does not exist denies everything.
_BGP = '''
router bgp 65001{vrf}
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 neighbor 10.0.0.2 remote-as 65002
 neighbor 10.0.0.2 timers connect 1
 address-family ipv4 unicast
  redistribute static{more}
  neighbor 10.0.0.2 prefix-list {list} out
'''


def bgp(vrf='', *more):
    """The configuration of bgpd.

    :param vrf: name of the VRF, '' for the default VRF
    :param more: lines of the address family
    :returns: text
    """
    return _BGP.format(vrf=f' vrf {vrf}' if vrf else '', list=LIST,
                       more=''.join(f'\n  {line}' for line in more))


BGP = bgp()
_NEIGHBOUR = '''
router bgp 65002
 bgp router-id 10.0.0.2
 no bgp ebgp-requires-policy
 neighbor 10.0.0.1 remote-as 65001
 neighbor 10.0.0.1 timers connect 1
'''

# Milliseconds, see Frr.wait_for_session.
_SESSION_AGE = 2000
# Before the last byte of an answer, which is its status.
_END = bytes(3)
# Seconds for one vtysh of a test: a daemon that a test has stopped never
# answers, and a test that hangs ends no run.
_LIMIT = 60


def wait_until(condition, what, seconds=15):
    """Wait for something that FRR does, and give the value."""
    return waiting.eventually(condition, what, seconds)


def _exchange(asking, command):
    """Send a command to a daemon and give its answer, a text."""
    asking.sendall(command.encode() + b'\0')
    answer = b''
    while answer[-4:-1] != _END:
        data = asking.recv(65536)
        if not data:
            raise ConnectionResetError('a daemon of FRR has ended')
        answer += data
    return answer[:-4].decode()


@functools.cache
def _takes(daemon, option):
    """Whether a daemon of this version has an option."""
    shown = subprocess.run([os.path.join(DAEMONS, daemon), '--help'],
                           check=True, capture_output=True, text=True)
    return option in shown.stdout


def holder():
    """The daemon of this version that has the static routes."""
    return ('mgmtd' if os.path.exists(os.path.join(DAEMONS, 'mgmtd'))
            else 'staticd')


class Daemons:
    """Daemons of FRR that share a run directory and a network namespace.

    :ivar bindir: directory with a vtysh that talks to them
    """

    def __init__(self):
        self.rundir = tempfile.mkdtemp(prefix='frr-')
        self._processes = {}
        os.makedirs(RUN, exist_ok=True)
        self.namespace = namespaces.Namespace(
            ['--mount'], 'mount --bind "$1" "$2"', [self.rundir, RUN])
        self._user = pwd.getpwnam('frr')
        os.chmod(self.rundir, 0o755)
        self._own(self.rundir)
        self.bindir = os.path.join(self.rundir, 'bin')
        os.mkdir(self.bindir)
        for name in ('frr.conf', 'vtysh.conf'):
            self._write(name, '')
        self.restore_vtysh()

    @property
    def real_vtysh(self):
        """The program and arguments that reach these daemons."""
        return (f'{_VTYSH} --vty_socket {self.rundir} '
                f'--config_dir {self.rundir}')

    def write_vtysh(self, script):
        """Put a script in the place of vtysh."""
        self._write('bin/vtysh', script)
        os.chmod(os.path.join(self.bindir, 'vtysh'),
                 stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP)

    def restore_vtysh(self):
        """Take the script away again."""
        self.write_vtysh(f'#!/bin/sh\nexec {self.real_vtysh} "$@"\n')

    def log_commands(self):
        """Begin to note the commands that the daemons get."""
        self.configure('log file ' + self._commands, 'log commands')

    def commands(self, daemon='bgpd'):
        """The commands since :meth:`log_commands`, a list of lines.

        :param daemon: the daemon whose commands have to be complete
        """
        # A daemon has written its log when it answers the next question.
        self.only(daemon, 'show version')
        with open(self._commands) as opened:
            return opened.read().splitlines()

    def refreshes(self):
        """The number of soft refreshes among :meth:`commands`."""
        return sum('clear ip bgp' in line and 'soft out' in line
                   for line in self.commands())

    def forget_commands(self):
        """Take back what :meth:`log_commands` has set."""
        self.configure('no log file', 'no log commands')

    @property
    def _commands(self):
        return os.path.join(self.rundir, 'commands.log')

    def start(self, name, *args, config=''):
        """Start a daemon and wait until it takes commands."""
        self._write(name + '.conf', config)
        argv = [*self._enter, os.path.join(DAEMONS, name),
                '--vty_socket', self.rundir,
                '-i', os.path.join(self.rundir, name + '.pid'), '-P', '0']
        if _takes(name, '--config_file'):
            argv += ['-f', os.path.join(self.rundir, name + '.conf')]
        if '-Z' not in args:
            argv += ['-z', os.path.join(self.rundir, 'zserv.api')]
        with open(os.path.join(self.rundir, name + '.log'), 'ab') as log:
            self._processes[name] = subprocess.Popen(
                [*argv, *args], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        wait_until(lambda: self._answers(name), f'{name} answers')

    def pid(self, name):
        """Process id of a daemon."""
        return self._processes[name].pid

    def signal(self, name, number):
        self._processes[name].send_signal(number)

    def kill(self, name):
        """Kill a daemon, as a crash would."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
        for suffix in ('.vty', '.pid'):
            path = os.path.join(self.rundir, name + suffix)
            if os.path.exists(path):
                os.unlink(path)

    def stop(self):
        for name in list(self._processes)[::-1]:
            self.kill(name)
        self.namespace.close()
        shutil.rmtree(self.rundir)

    def ip(self, *words):
        """Run ip(8) in the namespace."""
        self.namespace.run('ip', *words)

    @property
    def _enter(self):
        """Run something in the namespaces."""
        # Without --root it would leave a chroot.
        return self.namespace.inside('--mount', '--root', '--wd')

    def vtysh(self, *commands, stdin=None):
        """Run commands, as the operator would; returns the output."""
        arguments = [word for text in commands for word in ('-c', text)]
        return subprocess.run(
            [os.path.join(self.bindir, 'vtysh'), *arguments],
            check=True, capture_output=True, text=True, input=stdin,
            timeout=_LIMIT).stdout

    def only(self, daemon, command):
        """What one daemon says."""
        return subprocess.run(
            [os.path.join(self.bindir, 'vtysh'), '-d', daemon, '-c',
             command], check=True, capture_output=True, text=True,
            timeout=_LIMIT).stdout

    def ask(self, name, command):
        """What one daemon says, over the socket that vtysh uses.

        To start vtysh takes a tenth of a second of processor time.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(_LIMIT)
            asking.connect(os.path.join(self.rundir, name + '.vty'))
            _exchange(asking, 'enable')
            return _exchange(asking, command)

    def lines(self):
        """What is in the running configuration of any daemon, a set."""
        return {line for name in self._processes
                for line in self.ask(name, 'show running-config').split('\n')}

    def configure(self, *lines):
        """Change the configuration, as the operator would."""
        self.vtysh('configure terminal', *lines)

    def configure_one(self, daemon, line):
        """Change the configuration of one daemon alone."""
        subprocess.run(
            [os.path.join(self.bindir, 'vtysh'), '-d', daemon,
             '-c', 'configure terminal', '-c', line],
            check=True, capture_output=True, timeout=_LIMIT)

    def running(self):
        """The running configuration as a list of lines."""
        return self.vtysh('show running-config').split('\n')

    def _answers(self, name):
        try:
            return self.ask(name, 'show version')
        except OSError:
            return False

    def _write(self, name, text):
        path = os.path.join(self.rundir, name)
        with open(path, 'w') as opened:
            opened.write(text)
        self._own(path)

    def _own(self, path):
        os.chown(path, self._user.pw_uid, self._user.pw_gid)


class Frr(Daemons):
    """zebra, staticd and bgpd, a bridge, and a BGP neighbour.

    :cvar bgp: configuration of bgpd
    """

    bgp = BGP

    def __init__(self):
        super().__init__()
        self.neighbour = Daemons()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def make_links(self):
        """The bridge, and the uplink to the neighbour."""
        for command in (
                f'link add {BRIDGE} type bridge',
                f'address add 192.0.2.1/24 dev {BRIDGE}',
                f'link set {BRIDGE} up',
                'link add uplink type veth peer name uplink netns '
                f'{self.neighbour.namespace.pid}',
                'address add 10.0.0.1/24 dev uplink', 'link set uplink up'):
            self.ip(*command.split())
        for command in ('address add 10.0.0.2/24 dev uplink',
                        'link set uplink up'):
            self.neighbour.ip(*command.split())

    def _start(self):
        self.make_links()
        if holder() == 'mgmtd':
            self.start('mgmtd')
        self.start('zebra')
        self.start('staticd')
        self.start('bgpd', config=self.bgp)
        self.neighbour.start('bgpd', '-Z', config=_NEIGHBOUR)
        self.wait_for_session()

    def restart_bgpd(self):
        """bgpd comes back with its start configuration."""
        self.kill('bgpd')
        self.start('bgpd', config=self.bgp)

    def stop(self):
        self.neighbour.stop()
        super().stop()

    def learned(self):
        """What the neighbour has learned, a set of prefixes."""
        shown = json.loads(
            self.neighbour.ask('bgpd', 'show ip bgp json') or '{}')
        return set(shown.get('routes', ()))

    def version(self, prefix):
        """The version of a route at the neighbour, int; None without one.

        The number changes with each withdrawal that the neighbour gets.
        """
        return json.loads(self.neighbour.ask(
            'bgpd', f'show bgp ipv4 unicast {prefix} json')).get('version')

    def wait_for_session(self):
        """Until the session is up and takes withdrawals.

        bgpd of FRR 8.4 loses the withdrawal of a route for good when it was
        announced with a soft refresh in the first second of a session and
        withdrawn before that second was over.  So a second has to be over:
        bgpd itself says how old the session is.
        """
        wait_until(self._established, 'the BGP session', 30)

    def _established(self):
        shown = json.loads(
            self.ask('bgpd', 'show bgp vrf all summary json') or '{}')
        return any(
            peer['state'] == 'Established' and
            peer['peerUptimeMsec'] >= _SESSION_AGE for vrf in shown.values()
            for peer in vrf.get('ipv4Unicast', {}).get('peers', {}).values())


@needs.needs(
    os.geteuid() == 0 and shutil.which('vtysh') and
    os.path.exists(os.path.join(DAEMONS, 'bgpd')), 'needs root and FRR')
class FrrTestCase(unittest.TestCase):
    """With FRR in the default VRF and without any route of ours.

    :cvar make: what makes the FRR of the class
    :cvar vrf: name of the VRF, '' for the default
    """

    make = Frr
    vrf = ''

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.frr = cls.make()
        cls.addClassCleanup(cls.frr.stop)

    def setUp(self):
        super().setUp()
        privileged.frr.set_client_mode(False)
        self.addCleanup(privileged.frr.set_client_mode, True)
        # The root side reads the global configuration.
        cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
        self.conf = configs.conf(bridge_dev=BRIDGE, frr__vrf_name=self.vrf)
        self.root_side(frr_run_dir=self.frr.rundir, vrf_name=self.vrf)
        self.path(self.frr.bindir)
        self.addCleanup(self.clear)
        self.addCleanup(originals.forget)

    def enter_namespace(self):
        """Change the kernel of FRR's namespace, in this process."""
        privileged.kernel.set_client_mode(False)
        self.addCleanup(privileged.kernel.set_client_mode, True)
        self.enterContext(namespaces.entered(self.frr.namespace.path))
        # Another test may have left its socket open elsewhere.
        channel.close()
        self.addCleanup(channel.close)

    def former_leak(self, network):
        """The way back of a network, as the Go program has left it.

        In FRR's namespace, see :meth:`enter_namespace`.
        """
        for create, remove in (
                ('link add veth-default type veth peer name veth-provider',
                 'link del veth-default'),
                ('link set veth-default up', ''),
                ('link set veth-provider up', ''),
                (f'route add {network} dev veth-provider table 77 proto 44',
                 ''),
                (f'rule add pref 2000 from {network} table 200 protocol 0',
                 f'rule del pref 2000 from {network} table 200')):
            subprocess.run(['ip', *create.split()], check=True)
            if remove:
                # An agent may have removed it.
                self.addCleanup(subprocess.run, ['ip', *remove.split()],
                                stderr=subprocess.DEVNULL)

    def path(self, directory):
        """Have a directory with a vtysh searched first."""
        before = os.environ['PATH']
        os.environ['PATH'] = directory + ':' + before
        self.addCleanup(os.environ.__setitem__, 'PATH', before)

    def root_side(self, **values):
        """Options that the root side reads."""
        for name, value in values.items():
            cfg.CONF.set_override(name, value, 'frr')
            self.addCleanup(cfg.CONF.clear_override, name, 'frr')

    @contextlib.contextmanager
    def wedged(self, daemon):
        """A daemon that hangs, for which the root side waits 1 s.

        Only here is that limit so short: with both processors busy a vtysh
        takes longer than that.
        """
        usual = cfg.CONF.frr.vtysh_timeout
        self.root_side(vtysh_timeout=1)
        self.frr.signal(daemon, signal.SIGSTOP)
        try:
            yield
        finally:
            self.frr.signal(daemon, signal.SIGCONT)
            self.root_side(vtysh_timeout=usual)

    def fix_limits(self, conf):
        """Start the root side with a whole configuration."""
        limits.fix(conf)
        self.addCleanup(limits.forget)

    def clear(self):
        """Remove all static routes and the prefix list."""
        found = self.frr.lines()
        unwanted = ['no ' + line.strip() for line in sorted(found)
                    if line.startswith('ip route ')]
        for family in 'ip', 'ipv6':
            if any(line.startswith(f'{family} prefix-list {LIST} ')
                   for line in found):
                unwanted.append(f'no {family} prefix-list {LIST}')
        if unwanted:
            self.frr.configure(*unwanted)
