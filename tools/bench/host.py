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

"""A gateway node on the bare kernel, for measuring: real programs, no lab.

Databases, user-space Open vSwitch and FRR run with their ordinary paths in
namespaces of their own, which take everything with them when they end.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

from lab import syscalls
from ovn_network_agent.tests.functional.ovn import cloud as clouds
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import observe

BRIDGE = 'br-ex'
NETWORK = '198.18.0.1/16'
CONFIG = '/etc/ovn-network-agent/bench.conf'
_INSIDE = 'OVNA_BENCH_INSIDE'
_VOLATILE = ('/run', '/etc/frr', '/etc/openvswitch', '/var/log/frr',
             '/var/log/openvswitch', '/var/tmp', '/etc/ovn-network-agent')
_FRR = '''\
frr defaults traditional
router bgp 65001
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 timers bgp 1 60
 neighbor 10.0.0.2 remote-as 65002
 address-family ipv4 unicast
  redistribute static
  redistribute kernel
  neighbor 10.0.0.2 prefix-list ANNOUNCED-NETWORKS out
'''
# The neighbour is in a network namespace of its own, and has no zebra.
_SPINE = '/run/frr-spine'
_FRR_OF_SPINE = '''\
frr defaults traditional
router bgp 65002
 bgp router-id 10.0.0.2
 no bgp ebgp-requires-policy
 timers bgp 1 60
 neighbor 10.0.0.1 remote-as 65001
'''


def enter():
    """Start this program again in namespaces of its own, as their PID 1."""
    if os.environ.get(_INSIDE) is None:
        os.environ[_INSIDE] = '1'
        os.execvp('unshare', [  # noqa: S606 S607
            'unshare', '--net', '--mount', '--ipc', '--pid', '--fork',
            '--kill-child', '--mount-proc', '--propagation', 'private',
            sys.executable, *sys.orig_argv[1:]])
    # As PID 1 we would ignore it.
    signal.signal(signal.SIGTERM, lambda *_args: sys.exit(1))
    for path in _VOLATILE:
        syscalls.mount('bench', path, 'tmpfs', options='mode=0755')
    for path in ('/run/openvswitch', '/run/frr'):
        os.makedirs(path)
    for path in ('/run/frr', '/etc/frr', '/var/log/frr'):
        shutil.chown(path, 'frr', 'frr')
    _run('ip', 'link', 'set', 'lo', 'up')


class Host:
    """All that the agent needs on a node and in OVN.

    :param routers: how many, bound here
    :param debug: have the agent log more
    :ivar cloud: writes rows as Neutron, northd and ovn-controller do
    """

    def __init__(self, routers, debug=False):
        self.routers = routers
        # Each has an address of its own.
        self.along = routers
        self._debug = debug
        self._agent = None
        self._start_switch()
        self.nb = ovsdb.Server('nb').start()
        self.sb = ovsdb.Server('sb').start()
        self.cloud = clouds.Cloud(self.nb, self.sb, None)
        self.cloud.fill_sb()
        _vsctl('set', 'Open_vSwitch', '.',
               'external_ids:system-id=' + clouds.CHASSIS,
               'external_ids:hostname=gw1',
               'external_ids:ovn-bridge-mappings=physnet1:' + BRIDGE)
        self._start_frr()
        for number in range(routers):
            high, low = divmod(number, 250)
            self.cloud.add_router(
                f'r{number}', [f'198.18.{255 - high}.{low + 1}/16'],
                clouds.CHASSIS, mac=f'fa:16:3e:00:{high + 1:02x}:{low:02x}')

    def close(self):
        """Take away the files; the programs end with the namespace."""
        for server in (self.nb, self.sb):
            server.close()

    def add_fips(self, addresses, router=0):
        """Floating IPs in one transaction.

        :returns: monotonic time before it was sent
        """
        operations = [ovsdb.insert(
            'NAT', f'nat{n}', type='dnat_and_snat', external_ip=address,
            logical_ip='10.0.0.5', external_ids=ovsdb.ovsdb_dict(
                {'neutron:fip_id': f'fip-{address}'}))
            for n, address in enumerate(addresses)]
        return self._router_nats(router, 'insert', ovsdb.ovsdb_set(
            ['named-uuid', f'nat{n}'] for n in range(len(addresses))),
            operations)

    def remove_fips(self, addresses, router=0):
        """The reverse of :meth:`add_fips`."""
        rows = [row for row in self.nb.rows('NAT', '_uuid', 'external_ip')
                if row['external_ip'] in set(addresses)]
        return self._router_nats(router, 'delete', ovsdb.ovsdb_set(
            row['_uuid'] for row in rows))

    def _router_nats(self, router, mutator, uuids, operations=()):
        started = time.monotonic()
        self.nb.transact(*operations, ovsdb.mutate(
            'Logical_Router', {'name': f'neutron-r{router:d}'}, 'nat', mutator,
            uuids))
        return started

    @staticmethod
    def launched():
        """How many tasks were launched here so far.

        The last field of /proc/loadavg is the PID given out last in the PID
        namespace of the reader.  Threads get one, too.
        """
        with open('/proc/loadavg') as opened:
            return int(opened.read().split()[-1])

    # -- the agent --------------------------------------------------------

    def observer(self):
        """A new :class:`observe.Observer`."""
        return observe.Observer(BRIDGE)

    def _configuration(self, method):
        return f'''\
[DEFAULT]
drivers = fip_route
bridge_dev = {BRIDGE}
debug = {self._debug}
[ovn]
ovn_nb_remote = {self.nb.remote}
ovn_sb_remote = {self.sb.remote}
[fip_route]
announce_method = {method}
[frr]
vrf_name =
[veth_leak]
veth_leak_enabled = false
'''

    def start_agent(self, method):
        """Start the real program; returns the monotonic time before."""
        with open(CONFIG, 'w') as opened:
            opened.write(self._configuration(method))
        started = time.monotonic()
        self._agent = self._spawn([*self._program(), '--config-file', CONFIG],
                                  'agent')
        return started

    def _program(self):
        """The command that starts the agent, a list."""
        return [os.path.join(os.path.dirname(sys.executable),
                             'ovn-network-agent')]

    def stop_agent(self):
        """End it in good order, with its clean-up."""
        self._agent.send_signal(signal.SIGTERM)
        status = self._agent.wait(60)
        if status:
            raise RuntimeError(f'the agent ended with status {status:d}:\n'
                               f'{self.log("agent")[-2000:]}')

    def log(self, name):
        """What a program said."""
        with open(f'/run/{name}.log') as opened:
            return opened.read()

    # -- programs ---------------------------------------------------------

    def _spawn(self, argv, name):
        with open(f'/run/{name}.log', 'ab') as log:
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log)

    def _start_switch(self):
        database = '/etc/openvswitch/conf.db'
        _run('ovsdb-tool', 'create', database, ovsdb.SCHEMA_FILES['ovs'])
        self._spawn(['ovsdb-server', database,
                     '--remote=punix:/run/openvswitch/db.sock',
                     '--pidfile'], 'ovsdb-server')
        wait_for('/run/openvswitch/db.sock')
        _vsctl('--no-wait', 'init')
        self._spawn(['ovs-vswitchd', '--disable-system', '--pidfile'],
                    'ovs-vswitchd')
        for bridge in (BRIDGE, 'br-int'):
            _vsctl('add-br', bridge, '--', 'set', 'bridge', bridge,
                   'datapath_type=netdev')
        # As ovn-controller makes them.
        ends = ('patch-provnet-1-to-br-int', 'patch-br-int-to-provnet-1')
        for bridge, name, peer in ((BRIDGE, *ends), ('br-int', *ends[::-1])):
            _vsctl('add-port', bridge, name, '--', 'set', 'interface', name,
                   'type=patch', 'options:peer=' + peer, '--', 'set', 'port',
                   name, 'external_ids:ovn-localnet-port=provnet-1')
        _run('ip', 'link', 'set', BRIDGE, 'up')

    def _start_frr(self):
        for name, text in (('frr.conf', _FRR), ('vtysh.conf', '')):
            with open('/etc/frr/' + name, 'w') as opened:
                opened.write(text)
            shutil.chown('/etc/frr/' + name, 'frr', 'frr')
        self._start_spine()
        for name in ('zebra', 'staticd', 'bgpd'):
            self._spawn(['/usr/lib/frr/' + name, '-A', '127.0.0.1'], name)
            wait_for(f'/run/frr/{name}.vty')
        _run('vtysh', '-b')

    def _start_spine(self):
        """The neighbour of BGP, so that an announcement is an announcement."""
        os.makedirs(_SPINE)
        path = os.path.join(_SPINE, 'frr.conf')
        with open(path, 'w') as opened:
            opened.write(_FRR_OF_SPINE)
        for each in (_SPINE, path):
            shutil.chown(each, 'frr', 'frr')
        _run('ip', 'netns', 'add', 'spine')
        _run('ip', 'link', 'add', 'uplink', 'type', 'veth', 'peer', 'name',
             'gw1', 'netns', 'spine')
        _run('ip', 'link', 'set', 'uplink', 'up')
        _run('ip', 'addr', 'add', '10.0.0.1/30', 'dev', 'uplink')
        for words in ('link set lo up', 'link set gw1 up',
                      'addr add 10.0.0.2/30 dev gw1'):
            _run('ip', '-n', 'spine', *words.split())
        self._spawn(
            ['ip', 'netns', 'exec', 'spine', '/usr/lib/frr/bgpd', '-n', '-f',
             path, '-z', os.path.join(_SPINE, 'zserv.api'), '-i',
             os.path.join(_SPINE, 'bgpd.pid'), '--vty_socket', _SPINE, '-A',
             '127.0.0.1'], 'spine')
        wait_for(os.path.join(_SPINE, 'bgpd.vty'))


@contextlib.contextmanager
def running(routers, debug=False):
    """A :class:`Host` while the block runs."""
    host = Host(routers, debug)
    try:
        yield host
    finally:
        host.close()


def _run(*argv):
    subprocess.run(argv, check=True, capture_output=True)


def _vsctl(*args):
    _run('ovs-vsctl', *args)


def wait_for(path):
    """Wait until a file appears."""
    deadline = time.monotonic() + 10
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise RuntimeError(f'{path} does not appear')
        time.sleep(0.01)
