# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tests against a real ovs-vswitchd with the user-space data path.

Each test class has its own ovsdb-server and ovs-vswitchd in a directory and
a network namespace of its own; they are ended by their process ids.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent.backends import flow
from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import ovs as options
from ovn_network_agent.privileged.switch import openflow
from ovn_network_agent.tests import configs
from ovn_network_agent.tests import monitors
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import waiting

BRIDGE = 'br-ex'
MAC = '0a:00:00:00:00:01'
LRP_MAC = 'fa:16:3e:00:00:01'
_SCHEMA = '/usr/share/openvswitch/vswitch.ovsschema'
# What a monitor tells of the marks in its text.
_MARK = re.compile(r'event=ADDED table=99 cookie=(0x\w+)\n')
_TOOLS = ('ovs-vswitchd', 'ovsdb-server', 'ovsdb-tool', 'ovs-vsctl',
          'ovs-ofctl', 'unshare')


class OpenVSwitch:
    """A private Open vSwitch with one bridge.

    :ivar rundir: its run directory
    :ivar remote: where its ovsdb-server listens
    """

    def __init__(self):
        self.rundir = tempfile.mkdtemp(prefix='ovs-')
        self._env = {**os.environ, 'OVS_RUNDIR': self.rundir,
                     'OVS_LOGDIR': self.rundir, 'OVS_DBDIR': self.rundir}
        self.remote = 'unix:' + os.path.join(self.rundir, 'db.sock')
        self._processes = {}
        database = os.path.join(self.rundir, 'conf.db')
        self.run('ovsdb-tool', 'create', database, _SCHEMA)
        self._spawn('ovsdb-server', database,
                    f'--remote=p{self.remote}')
        self._wait_for('db.sock')
        # The socket is there a moment before the server listens.
        self.vsctl('--retry', '--timeout=20', '--no-wait', 'init')
        self.start()
        # Without waiting: there are no rights to a system data path.
        self.vsctl('--no-wait', 'add-br', BRIDGE, '--', 'set', 'bridge',
                   BRIDGE, 'datapath_type=netdev')
        self._wait_for(BRIDGE + '.mgmt')

    def start(self):
        """Start ovs-vswitchd."""
        self._spawn(*self.inside('ovs-vswitchd', self.remote,
                                 '--disable-system'), name='ovs-vswitchd')

    def inside(self, *argv):
        """The command that runs ovs-vswitchd in its network namespace."""
        return ['unshare', '-n', *argv]

    def restart(self):
        """Kill ovs-vswitchd, as a crash would, and start it again."""
        self.kill()
        self.start()
        self._wait_for(BRIDGE + '.mgmt')

    def kill(self):
        """Kill ovs-vswitchd, as a crash would."""
        self.signal(signal.SIGKILL)
        self._processes.pop('ovs-vswitchd').wait()
        os.unlink(os.path.join(self.rundir, BRIDGE + '.mgmt'))

    def pause_database(self):
        """ovsdb-server accepts connections but says nothing any more."""
        self._processes['ovsdb-server'].send_signal(signal.SIGSTOP)

    def resume_database(self):
        self._processes['ovsdb-server'].send_signal(signal.SIGCONT)

    def signal(self, number):
        """Send a signal to ovs-vswitchd."""
        self._processes['ovs-vswitchd'].send_signal(number)

    def stop(self):
        """End everything and leave nothing behind."""
        for process in reversed(self._processes.values()):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        shutil.rmtree(self.rundir)

    def run(self, *argv, stdin=None):
        """Run a program in the environment of this Open vSwitch."""
        return subprocess.run(
            argv, check=True, capture_output=True, text=True, input=stdin,
            env=self._env).stdout

    def vsctl(self, *args):
        return self.run('ovs-vsctl', f'--db={self.remote}', *args)

    def ofctl(self, *args, stdin=None):
        return self.run('ovs-ofctl', '-O', 'OpenFlow13', *args, stdin=stdin)

    @property
    def pid(self):
        """Of ovs-vswitchd, which is in a network namespace of its own."""
        return self._processes['ovs-vswitchd'].pid

    def appctl(self, *args):
        return self.run('ovs-appctl', '-t',
                        f'{self.rundir}/ovs-vswitchd.{self.pid}.ctl', *args)

    def flows(self):
        """All flows of the bridge as ovs-ofctl shows them, a set."""
        shown = self.ofctl('--no-stats', '--no-names', 'dump-flows', BRIDGE)
        return {line.strip() for line in shown.splitlines()
                if 'reply' not in line}

    def add(self, *flows):
        """Add flows as somebody else would."""
        self.ofctl('--bundle', 'add-flows', BRIDGE, '-',
                   stdin='\n'.join(flows) + '\n')

    @contextlib.contextmanager
    def monitor(self):
        """Have the switch tell of changes of flows, in their order.

        :returns: context with a function that returns the lines so far
        """
        def mark(number):
            self.add(f'table=99,cookie={number:#x},actions=drop')

        try:
            with monitors.telling(
                    ['ovs-ofctl', 'monitor', BRIDGE, 'watch:!initial'], mark,
                    _MARK, self._env) as lines:
                yield lines
        finally:
            self.ofctl('del-flows', BRIDGE, 'table=99')

    def _spawn(self, *argv, name=None):
        log = open(os.path.join(self.rundir, argv[0] + '.log'), 'ab')
        with log:
            self._processes[name or argv[0]] = subprocess.Popen(
                argv, env=self._env, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)

    def _wait_for(self, name):
        """Wait until somebody listens; the socket is there before that."""
        path = os.path.join(self.rundir, name)
        waiting.eventually(lambda: _listens(path),
                           f'somebody listens on {path}', 10)


def _listens(path):
    with socket.socket(socket.AF_UNIX) as tried:
        try:
            tried.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True


needs_open_vswitch = needs.needs(
    os.geteuid() == 0 and all(map(shutil.which, _TOOLS)),
    'needs root and Open vSwitch')


@needs_open_vswitch
class FlowTestCase(unittest.TestCase):
    """With an empty bridge and a :class:`backends.flow.FlowBackend`."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ovs = OpenVSwitch()
        cls.addClassCleanup(cls.ovs.stop)

    def setUp(self):
        super().setUp()
        privileged.ovs.set_client_mode(False)
        self.addCleanup(privileged.ovs.set_client_mode, True)
        self.addCleanup(openflow.close)
        # The root side reads the global configuration.
        registered.group(options)
        self.configure(ovs_rundir=self.ovs.rundir, ovs_wrapper='')
        self.addCleanup(cfg.CONF.clear_override, 'ovs_rundir', 'ovs')
        self.addCleanup(cfg.CONF.clear_override, 'ovs_wrapper', 'ovs')
        self.ovs.ofctl('del-flows', BRIDGE)
        self.backend = flow.FlowBackend(configs.conf(bridge_dev=BRIDGE))

    def configure(self, **options):
        for name, value in options.items():
            cfg.CONF.set_override(name, value, 'ovs')

    def read(self):
        return set(self.backend.read(frozenset()))


def mac_tweak(family=4, in_port=3, mac=MAC):
    """The flow that lets the kernel accept what OVN sends."""
    return resources.Flow(
        BRIDGE, ownership.COOKIE_MAC_TWEAK, ownership.PRIORITY_MAC_TWEAK,
        in_port, family, set_dst=mac)


def hairpin(dst, in_port=3, mac=LRP_MAC):
    """The flow that reflects traffic to one address."""
    return resources.Flow(
        BRIDGE, ownership.COOKIE_HAIRPIN, ownership.PRIORITY_HAIRPIN,
        in_port, 6 if ':' in dst else 4, dst=dst, set_src=MAC, set_dst=mac,
        output='in_port')


def relay(dst, in_port=resources.LOCAL, output='ports:3,7', mac=LRP_MAC):
    """The flow that hands traffic of one address to several ports."""
    return resources.Flow(
        BRIDGE, ownership.COOKIE_RELAY, ownership.PRIORITY_RELAY, in_port,
        6 if ':' in dst else 4, dst=dst, set_dst=mac, output=output)
