# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A node on which the original works, with traffic, and its successor.

Real databases, Open vSwitch in user space, FRR, nftables and netlink; the
test is northd and ovn-controller.  A namespace behind br-int is a virtual
machine whose floating IP is its own address, so nothing has to translate.
"""

import json
import os
import signal
import subprocess

from ovn_network_agent.tests import original
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.cmd import base as programs
from ovn_network_agent.tests.functional.cmd import test_migrate
from ovn_network_agent.tests.functional.migrate import host
from ovn_network_agent.tests.functional.migrate import layout
from ovn_network_agent.tests.functional.migrate import places
from ovn_network_agent.tests.functional.migrate import probes
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

_NODE_CONF = '''\
[DEFAULT]
control_socket = {socket}
cleanup_on_shutdown = {cleanup}
[ovs]
ovsdb_connection = {ovs}
ovs_rundir = {ovs_rundir}
ovn_rundir = {ovs_rundir}
[frr]
frr_run_dir = {frr_rundir}
'''
# The settings of the original for a change in place.
_YAML = '''\
ovn_nb_remote: {nb}
ovn_sb_remote: {sb}
vrf_name: {vrf}
route_table_id: {table}
cleanup_on_shutdown: false
drain_on_shutdown: false
port_forwards:
  - vip: {vip}
    manage_vip: true
    rules:
      - {{proto: tcp, port: {port}, dest_addr: {dest}, dest_port: {dest_port}}}
'''


class SwapTestCase(layout.Layout, probes.Traffic, test_migrate.Migration,
                   programs.ProgramTestCase):
    """With the original's layout, and the agent that replaces it.

    :cvar VRF: name of the VRF, '' where the kernel has none
    :cvar TABLE: routing table of the host routes
    :cvar FOREIGN: commands of ip(8) for objects of the operator
    :cvar FLAGS: flags of the original
    """

    VRF = ''
    TABLE = 100
    FLAGS = ('--vrf-name=',)
    FOREIGN = ('address add 192.0.2.65/24 dev br-ex',
               'route add 198.51.100.201/32 dev br-ex proto static',
               'rule add pref 1000 to 198.51.100.203 table 100 protocol '
               'static',
               'rule add pref 2000 from 203.0.113.0/24 table 200 protocol 0')
    FOREIGN_FLOWS = ('cookie=0x5,priority=905,ip,in_port=9,actions=drop',)
    FOREIGN_FRR = ('ip route 198.51.100.77/32 blackhole',
                   'ip prefix-list ANNOUNCED-NETWORKS seq 7 deny '
                   '203.0.113.0/25 ge 32')
    FOREIGN_NFT = 'table ip operators {\nchain c {\ncounter\n}\n}\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host = host.Host(cls.VRF)
        cls.addClassCleanup(cls.host.stop)
        cls.node = cls.host.namespace
        cls.switch = cls.host.switch
        cls.node.run('ip', 'link', 'set', places.BRIDGE, 'up')
        cls.node.run('ip', 'link', 'add', 'lan', 'type', 'bridge')
        cls.node.sh('ip address add 10.0.1.1/24 dev lan; ip link set lan up')

    def setUp(self):
        super().setUp()
        self.servers = {name: ovsdb.Server(name) for name in ('nb', 'sb')}
        for server in self.servers.values():
            self.addCleanup(server.close)
            server.start()
        self.nb, self.sb = self.servers['nb'], self.servers['sb']
        self.cloud = cloud.Cloud(self.nb, self.sb, None)
        self.cloud.fill_sb()
        self.sb.transact(ovsdb.update('Chassis', {'name': cloud.CHASSIS},
                                      hostname=places.HOSTNAME))
        self.layout = original.Layout((places.ALPHA, places.BETA),
                                      places.FORWARD, self.VRF,
                                      table=self.TABLE)
        for router in self.layout.routers:
            self.add_router(router)
        self.client = self.host.neighbour.namespace
        self.machines = {router.lrp: self.machine(router)
                         for router in self.layout.routers}
        self.destination()
        for command in self.FOREIGN:
            self.ip(command)
            self.addCleanup(self.ip, command.replace(' add ', ' del ', 1))
        self.switch.add(*self.FOREIGN_FLOWS)
        self.addCleanup(self.switch.ofctl, 'del-flows', places.BRIDGE,
                        'cookie=0x5/-1')
        self.nft(self.FOREIGN_NFT)
        self.addCleanup(self.nft, 'delete table ip operators')
        self.host.configure(*self.FOREIGN_FRR)
        self.addCleanup(self.host.configure, *(
            'no ' + line for line in self.FOREIGN_FRR))
        # zebra takes its time for the operator's route.
        waiting.eventually(lambda: '198.51.100.77' in self.ip('route show'),
                           "the operator's static route")
        self.bare = self.state()

    # -- the agent --------------------------------------------------------

    def migrated(self):
        """Turn the settings of the original into ours; gives the options."""
        text = _YAML.format(
            nb=self.nb.remote, sb=self.sb.remote, table=self.TABLE,
            vrf=self.VRF or 'vrf-provider', vip=places.FORWARD.vip,
            port=places.FORWARD.port, dest=places.FORWARD.dest,
            dest_port=places.FORWARD.dest_port)
        ended = self.migrate('--config', self.original(text), '--output',
                             self.directory, '--', *self.FLAGS)
        self.assertIn(ended.returncode, (0, 3), ended.stderr)
        self.socket = os.path.join(self.directory, 'control.ctl')
        self.configure_node(cleanup=False)
        return ['--config-file',
                os.path.join(self.directory, 'ovn-network-agent.conf'),
                '--config-file', os.path.join(self.directory, 'node.conf')]

    def configure_node(self, cleanup):
        """Write what only this node differs in.

        :param cleanup: value of cleanup_on_shutdown
        """
        with open(os.path.join(self.directory, 'node.conf'), 'w') as opened:
            opened.write(_NODE_CONF.format(
                socket=self.socket, cleanup=cleanup, ovs=self.switch.remote,
                ovs_rundir=self.switch.rundir, frr_rundir=self.host.rundir))

    def start(self, options):
        """Start the agent, and wait until it is in sync."""
        self.env['PATH'] = self.host.bindir + ':' + os.environ['PATH']
        with open(os.path.join(self.directory, 'log'), 'ab') as log:
            self.agent = subprocess.Popen(
                self.node.inside(*self.command(*options)), env=self.env,
                cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        self.addCleanup(self.agent.wait)
        self.addCleanup(self.agent.kill)
        waiting.eventually(self.in_sync, self.said, 60)

    def in_sync(self):
        """Whether the agent has done all, and misses nothing."""
        if self.agent.poll() is not None:
            self.fail(self.said())
        said = self.status()
        return (said.get('phase') == 'running' and not said['degraded'] and
                'First complete pass done' in self.log())

    def status(self):
        ended = self.run_program('ctl', '--socket', self.socket, 'status',
                                 '--json')
        return json.loads(ended.stdout) if ended.returncode == 0 else {}

    def log(self):
        with open(os.path.join(self.directory, 'log')) as opened:
            return opened.read()

    def said(self):
        return f'{self.status().get("degraded")}\n{self.log()}'

    def reload(self):
        """Have the agent read its files again, and wait until it has."""
        self.agent.send_signal(signal.SIGHUP)
        waiting.eventually(lambda: 'cleanup_on_shutdown: false -> true' in
                           self.log(), self.said)

    def stop(self):
        """Stop the agent in good order."""
        self.agent.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.agent.wait(programs.LIMIT), self.said())
