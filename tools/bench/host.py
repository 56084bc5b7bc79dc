# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A gateway node on the bare kernel, for measuring: real programs, no lab.

Databases, user-space Open vSwitch and FRR run with their ordinary paths in
namespaces of their own, which take everything with them when they end.
"""

import os
import shutil
import signal
import sys
import time

from lab import syscalls
from ovn_network_agent.tests.functional.ovn import cloud as clouds
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import observe
from tools.bench import processes
from tools.bench import routing

# The number of the first present address; those before come and go.
FIRST = 256
# A half of the network is for routers.
_MOST_ROUTERS = 250 * 128


def addresses(first: int, count: int) -> list[str]:
    """Some addresses of the provider network, 198.18.0.0/16."""
    return [f'198.18.{n >> 8}.{n & 255}' for n in range(first, first + count)]


def gateways(count: int) -> list[str]:
    """Addresses of gateway ports, at the end of that network.

    :raises ValueError: when there would be no place for floating IPs
    """
    if not 0 <= count <= _MOST_ROUTERS:
        raise ValueError(f'{count:d} routers are asked for, but 0 to '
                         f'{_MOST_ROUTERS:d} are possible')
    return [f'198.18.{255 - n // 250}.{n % 250 + 1}' for n in range(count)]


def fill(world, some):
    """Deal addresses out to the routers, if there are any."""
    shares = world.routers or 1
    for number in range(shares):
        world.add_fips(some[number::shares], number)


BRIDGE = 'br-ex'
NETWORK = '198.18.0.1/16'
CONFIG = '/etc/ovn-network-agent/bench.conf'
HOSTNAME = 'gw1'
_INSIDE = 'OVNA_BENCH_INSIDE'
# Milliseconds of the processor in a second, below which the agent rests.
_BUSY = 50
_MEGA = 1 << 20
_VOLATILE = ('/run', '/etc/frr', '/etc/openvswitch', '/var/log/frr',
             '/var/log/openvswitch', '/var/tmp', '/etc/ovn-network-agent')


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
    processes.run('ip', 'link', 'set', 'lo', 'up')


class Host:
    """All that the agent needs on a node and in OVN."""

    driver = 'fip_route'
    places = observe.PLACES

    def __init__(self, routers: int, debug=False, program: str | None = None):
        self.routers = routers
        self.interval = 60
        self._debug = debug
        self.program = program or os.path.join(
            os.path.dirname(sys.executable), 'ovn-network-agent')
        self._agent = None
        self._start_switch()
        self.nb = self._northbound().start()
        self.sb = ovsdb.Server('sb').start()
        self.cloud = clouds.Cloud(self.nb, self.sb, None)
        self.cloud.fill_sb()
        _vsctl('set', 'Open_vSwitch', '.',
               'external_ids:system-id=' + clouds.CHASSIS,
               'external_ids:hostname=' + HOSTNAME,
               'external_ids:ovn-bridge-mappings=physnet1:' + BRIDGE)
        routing.start()
        for number, address in enumerate(self.gateways):
            high, low = divmod(number, 250)
            self.cloud.add_router(
                f'r{number}', [f'{address}/16'], clouds.CHASSIS,
                mac=f'fa:16:3e:00:{high + 1:02x}:{low:02x}')

    def _northbound(self):
        """The server of the northbound database, not yet started."""
        return ovsdb.Server('nb')

    def close(self):
        """Take away the files; the programs end with the namespace."""
        for server in (self.nb, self.sb):
            server.close()

    @property
    def gateways(self):
        """The addresses of the routers' gateway ports, a list."""
        return gateways(self.routers)

    def add_fips(self, addresses, router=0) -> float:
        """Floating IPs in one transaction."""
        operations = [ovsdb.insert(
            'NAT', f'nat{n}', type='dnat_and_snat', external_ip=address,
            logical_ip='10.0.0.5', **self._nat(address, router))
            for n, address in enumerate(addresses)]
        return self._router_nats(router, 'insert', ovsdb.ovsdb_set(
            ['named-uuid', f'nat{n}'] for n in range(len(addresses))),
            operations)

    def _nat(self, address, _router):
        """Further columns of a NAT row, a dict."""
        return {'external_ids': ovsdb.ovsdb_dict(
            {'neutron:fip_id': f'fip-{address}'})}

    def move(self, router, here) -> float:
        """Have a gateway port come, or leave for another chassis."""
        started = time.monotonic()
        self.cloud.move(f'lrp-r{router:d}',
                        clouds.CHASSIS if here else clouds.OTHER)
        return started

    def reload_agent(self):
        """SIGHUP."""
        self._agent.send_signal(signal.SIGHUP)

    def remove_fips(self, addresses, router=0):
        """The reverse of :meth:`add_fips`."""
        going = set(addresses)
        rows = [row for row in self.nb.rows('NAT', '_uuid', 'external_ip')
                if row['external_ip'] in going]
        return self._router_nats(router, 'delete', ovsdb.ovsdb_set(
            row['_uuid'] for row in rows))

    def _router_nats(self, router, mutator, uuids, operations=()):
        started = time.monotonic()
        self.nb.transact(*operations, ovsdb.mutate(
            'Logical_Router', {'name': f'neutron-r{router:d}'}, 'nat', mutator,
            uuids))
        return started

    def processes(self):
        """Process ids of the agent and of its descendants, a list."""
        return processes.family(self._agent.pid)

    def rest(self):
        """Wait until the agent has nothing to do."""
        used = _BUSY
        while used >= _BUSY:
            before = processes.load(self.processes())
            time.sleep(1)
            used = processes.load(self.processes()).since(before).processor

    def say_memory(self, head=''):
        """Print the memory of the agent and of its daemons."""
        print(f'{head}memory', ', '.join(
            f'{processes.name(pid)} '
            f'{processes.proportional(pid) / _MEGA:.0f} MB'
            for pid in self.processes()), flush=True)

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
        return observe.Observer(BRIDGE, places=self.places)

    def _configuration(self, method):
        return f'''\
[DEFAULT]
drivers = {self.driver}
bridge_dev = {BRIDGE}
debug = {self._debug}
reconcile_interval = {self.interval:d}
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
        self.configure(method)
        started = time.monotonic()
        self._agent = processes.spawn(
            [*self._program(), '--config-file', CONFIG], 'agent')
        return started

    def configure(self, method):
        """Write the configuration of the agent."""
        with open(CONFIG, 'w') as opened:
            opened.write(self._configuration(method))

    @property
    def pid(self):
        """Process id of the running agent."""
        return self._agent.pid

    def _program(self):
        return [self.program]

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

    def _start_switch(self):
        database = '/etc/openvswitch/conf.db'
        processes.run('ovsdb-tool', 'create', database,
                      ovsdb.SCHEMA_FILES['ovs'])
        processes.spawn(['ovsdb-server', database,
                         '--remote=punix:/run/openvswitch/db.sock',
                         '--pidfile'], 'ovsdb-server')
        processes.wait_for('/run/openvswitch/db.sock')
        _vsctl('--no-wait', 'init')
        processes.spawn(['ovs-vswitchd', '--disable-system', '--pidfile'],
                        'ovs-vswitchd')
        for bridge in (BRIDGE, 'br-int'):
            _vsctl('add-br', bridge, '--', 'set', 'bridge', bridge,
                   'datapath_type=netdev')
        # As ovn-controller has it.  Two bridges that both forward would send
        # each broadcast back and forth over their patch ports.
        _vsctl('set', 'bridge', 'br-int', 'fail_mode=secure')
        patch('provnet-1')
        processes.run('ip', 'link', 'set', BRIDGE, 'up')


def patch(*localnets):
    """Make the patch ports of localnet ports, as ovn-controller does."""
    words = []
    for localnet in localnets:
        ends = f'patch-{localnet}-to-br-int', f'patch-br-int-to-{localnet}'
        for bridge, name, peer in ((BRIDGE, *ends), ('br-int', *ends[::-1])):
            words += ['--', 'add-port', bridge, name, '--', 'set', 'interface',
                      name, 'type=patch', 'options:peer=' + peer, '--', 'set',
                      'port', name, 'external_ids:ovn-localnet-port=' +
                      localnet]
    _vsctl(*words)


def _vsctl(*args):
    processes.run('ovs-vsctl', *args)
