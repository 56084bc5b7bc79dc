# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The peer ovn-bgp-agent on a node like ours, with the rows that it needs.

Driver of the northbound database, method "underlay", centralised floating
IPs.  It announces an address by putting it on a device.  Where the kernel has
no VRF and no dummy devices, a bridge and a veth pair stand for them, which
costs the peer nothing.  Its periodic synchronisation is off, because it would
take longer than the measurement: minutes with 1,000 floating IPs.
"""

import os
import signal
import socket
import time

from lab import syscalls
from ovn_network_agent.tests.functional.ovn import cloud as clouds
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import host as hosts
from tools.bench import observe
from tools.bench import processes
from tools.bench import subjects
from tools.bench import worlds

_CONFIG = '/etc/ovn-network-agent/peer.conf'
_DEVICE, _VRF, _TABLE = 'bgp-nic', 'bgp-vrf', 100
NETWORK, _TENANT, _PORT = 'neutron-public', 'neutron-tenant', 'machine'
# The kernel's table of its own addresses; see rtnetlink(7).
_LOCAL = 255
_TEXT = '''\
[DEFAULT]
driver = nb_ovn_bgp_driver
exposing_method = underlay
ovsdb_connection = unix:/run/openvswitch/db.sock
bgp_AS = 65001
bgp_router_id = 10.0.0.1
bgp_nic = {device}
bgp_vrf = {vrf}
reconcile_interval = 86400
[ovn]
ovn_nb_connection = {remote}
[agent]
root_helper = env
'''


class Host(hosts.Host):
    """A node with the peer in the place of the agent."""

    def __init__(self, routers, **options):
        super().__init__(routers, **options)
        self._fill_nb()
        _own_tables()
        self._make_devices()

    def _northbound(self):
        # Older schemas lack the column; ovn-northd writes it since 23.06.
        return ovsdb.Server('nb', _with_status)

    def _fill_nb(self):
        """What Neutron and ovn-northd write that our agent does not read."""
        self.nb.transact(ovsdb.insert(
            'NB_Global', external_ids=ovsdb.ovsdb_dict(
                {'neutron:fip-distributed': 'False'})))
        self.nb.transact(
            ovsdb.insert('Logical_Switch_Port', 'localnet', name='provnet-1',
                         type='localnet', options=ovsdb.ovsdb_dict(
                             {'network_name': 'physnet1'})),
            ovsdb.insert('Logical_Switch', name=NETWORK,
                         ports=['named-uuid', 'localnet']),
            ovsdb.insert('Logical_Switch_Port', 'port', name=_PORT,
                         external_ids=ovsdb.ovsdb_dict(
                             {'neutron:network_name': _TENANT})),
            ovsdb.insert('Logical_Switch', name=_TENANT,
                         ports=['named-uuid', 'port']))
        self._lrps = []
        for number in range(self.routers):
            name = f'lrp-r{number:d}'
            self._bind(name, True)
            row, = self.nb.rows('Logical_Router_Port', '_uuid',
                                where=ovsdb.clauses({'name': name}))
            self._lrps.append(row['_uuid'])

    def _bind(self, lrp, here):
        self.nb.transact(ovsdb.update(
            'Logical_Router_Port', {'name': lrp},
            status=ovsdb.ovsdb_dict({
                'hosting-chassis': clouds.CHASSIS if here
                else clouds.OTHER}),
            external_ids=ovsdb.ovsdb_dict(
                {'neutron:network_name': NETWORK})))

    def move(self, router, here):
        """As of the agent's node; the peer follows NB."""
        started = time.monotonic()
        self._bind(f'lrp-r{router:d}', here)
        return started

    def _nat(self, address, router):
        return {'logical_port': _PORT, 'gateway_port': self._lrps[router],
                'external_ids': ovsdb.ovsdb_dict({
                    'neutron:fip_id': f'fip-{address}',
                    'neutron:fip_network_id': 'public'})}

    def observer(self):
        """Looks at the last step of the peer: the address on the device."""
        return observe.Observer(hosts.BRIDGE, table=_LOCAL,
                                kinds=('connected',),
                                places=(observe.ROUTE,))

    def start_agent(self, method):
        """Start the peer; returns the monotonic time before."""
        with open(_CONFIG, 'w') as opened:
            opened.write(_TEXT.format(device=_DEVICE, vrf=_VRF,
                                      remote=self.nb.remote))
        bindir = os.path.dirname(self.program)
        started = time.monotonic()
        self._agent = processes.spawn(
            [self.program, '-P', os.path.join(os.path.dirname(
                os.path.abspath(__file__)), 'repaired.py'),
             '--config-file', _CONFIG], 'agent',
            env={**os.environ, 'PATH': f'{bindir}:{os.environ["PATH"]}'})
        return started

    def processes(self):
        """Its privileged daemons have left the family."""
        return [*super().processes(),
                *processes.named(b'privsep-helper')]

    def stop_agent(self):
        """End it, and take away what it leaves behind."""
        family = set(self.processes()) - {self._agent.pid}
        self._agent.send_signal(signal.SIGTERM)
        self._agent.wait(60)
        for pid in family:
            _end(pid)
        processes.run('ip', 'link', 'del', _DEVICE)
        processes.run('ip', 'route', 'flush', 'table', f'{_TABLE:d}')
        processes.run('ip', 'rule', 'flush', 'table', f'{_TABLE:d}')
        processes.run('ovs-ofctl', 'del-flows', hosts.BRIDGE,
                      'cookie=0x3e7/-1')
        self._make_devices()

    def _make_devices(self):
        # /sys has the devices of the network namespace that mounted it.
        if _VRF not in {name for _number, name in socket.if_nameindex()}:
            processes.run('ip', 'link', 'add', _VRF, 'type', 'bridge')
            processes.run('ip', 'link', 'set', _VRF, 'up')
        processes.run('ip', 'link', 'add', _DEVICE, 'type', 'veth', 'peer',
                      'name', _DEVICE + '-peer')
        for device in (_DEVICE, _DEVICE + '-peer'):
            processes.run('ip', 'link', 'set', device, 'up')


class World(worlds.World):
    """The peer on its node; see :class:`worlds.World`."""

    def compare_every(self, _seconds):
        """Its periodic synchronisation is off."""
        raise worlds.CannotDo

    def wait_for_comparison(self):
        """None comes."""
        return

    def move(self, here):
        """As of the agent, without the neighbour, who is not told."""
        _started, found = self._moved(here)
        self.rest()
        return found

    def renew(self):
        """The peer has no command that compares everything."""
        raise worlds.CannotDo('no command for one synchronisation')

    reload = renew


def subject() -> subjects.Subject:
    """The peer in an environment of its own, which is made when it is new.

    :raises SystemExit: when it cannot be installed
    """
    version = '7.0.0'
    venv = os.path.join(subjects.BUILD, f'ovn-bgp-agent-{version}')
    python = os.path.join(venv, 'bin', 'python')
    program = os.path.join(venv, 'bin', 'ovn-bgp-agent')
    if not os.path.exists(program):
        subjects.make_venv(venv, f'ovn-bgp-agent=={version}')
    return subjects.Subject(subjects.PEER, 'peer', python,
                            f'ovn-bgp-agent {version}')


def _with_status(tables):
    """The schema of OVN 23.06 or newer, in one column."""
    tables['Logical_Router_Port']['columns'].setdefault('status', {
        'type': {'key': 'string', 'value': 'string', 'min': 0,
                 'max': 'unlimited'}})


def _own_tables():
    """A file of routing tables that the peer may write."""
    os.makedirs('/etc/iproute2', exist_ok=True)
    syscalls.mount('bench', '/etc/iproute2', 'tmpfs', options='mode=0755')
    with open('/etc/iproute2/rt_tables', 'w') as opened:
        opened.write('255 local\n254 main\n253 default\n'
                     f'{_TABLE:d} {hosts.BRIDGE}\n')


def _end(pid):
    """End a privileged daemon that has outlived its agent."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
