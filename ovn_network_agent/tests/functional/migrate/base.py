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

"""A node on which the original works, with traffic, and its successor.

Real databases, Open vSwitch in user space, FRR, nftables and netlink; the
test is northd and ovn-controller.  A namespace behind br-int is a virtual
machine whose floating IP is its own address, so nothing has to translate.
"""

import json
import os
import re
import signal
import subprocess
import sys

from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import original
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.cmd import base as programs
from ovn_network_agent.tests.functional.cmd import test_migrate
from ovn_network_agent.tests.functional.frr import base as frr
from ovn_network_agent.tests.functional.openflow import base as openflow
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

BRIDGE = original.BRIDGE
BRIDGE_MAC = '02:00:00:00:0e:01'
# Short, because the original knows no other.
HOSTNAME = 'gw1'
CLIENT, NODE = '10.0.0.2', '10.0.0.1'
DESTINATION = '10.0.1.5'
FORWARD = original.Forward('192.0.2.53', 80, DESTINATION, 8080)
ALPHA = original.Router('lrp-alpha', 'fa:16:3e:00:00:01', '198.51.100.1/24',
                        ('198.51.100.10',))
BETA = original.Router('lrp-beta', 'fa:16:3e:00:00:02', '198.51.100.2/24',
                       ('198.51.100.20',))
NETWORK = ALPHA.network
_PATCHES = ('patch-provnet-1', 'patch-br-int')
_BGP = '''
router bgp 65001{vrf}
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 neighbor 10.0.0.2 remote-as 65002
 neighbor 10.0.0.2 timers connect 1
 address-family ipv4 unicast
  redistribute static
  redistribute connected
  neighbor 10.0.0.2 prefix-list ANNOUNCED-NETWORKS out
'''
# Answers each connection.
_SERVER = '''
import socketserver, sys
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b'here')
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
server = Server((sys.argv[1], int(sys.argv[2])), Handler)
print('listening', flush=True)
server.serve_forever()
'''
# Asks again and again until its input ends, and then says how often it asked,
# and how often there was an answer.  Each question has its time, so none is
# lost because the end comes, or because the machine is slow.
_PROBE = '''
import os, select, socket, struct, sys, time
def connected():
    with socket.create_connection((sys.argv[2], int(sys.argv[3])), 5) as s:
        return s.recv(10) == b'here'
def pinged():
    name = os.getpid() & 0xffff
    head = struct.pack('!BBHHH', 8, 0, 0, name, made)
    total = sum(struct.unpack('!4H', head))
    check = ~((total & 0xffff) + (total >> 16)) & 0xffff
    echo.sendto(struct.pack('!BBHHH', 8, 0, check, name, made),
                (sys.argv[2], 0))
    until = time.monotonic() + 5
    while (left := until - time.monotonic()) > 0:
        echo.settimeout(left)
        got = echo.recv(200)[20:28]
        if got[0] == 0 and got[4:] == head[4:]:
            return True
if sys.argv[1] == 'ping':
    echo = socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
ask = {'ping': pinged, 'connect': connected}[sys.argv[1]]
made = answered = 0
while not made or not select.select([sys.stdin], [], [], 0.05)[0]:
    made += 1
    try:
        answered += bool(ask())
    except OSError:
        pass
print(made, answered)
'''
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


class Switch(openflow.OpenVSwitch):
    """An Open vSwitch in the network namespace of the node."""

    def __init__(self, namespace):
        self._namespace = namespace
        super().__init__()
        self.vsctl('set', 'bridge', BRIDGE,
                   f'other-config:hwaddr="{BRIDGE_MAC}"', '--', 'add-br',
                   'br-int', '--', 'set', 'bridge', 'br-int',
                   'datapath_type=netdev')
        for bridge, name, peer in ((BRIDGE, *_PATCHES),
                                   ('br-int', *_PATCHES[::-1])):
            self.vsctl('add-port', bridge, name, '--', 'set', 'interface',
                       name, 'type=patch', 'options:peer=' + peer, '--',
                       'set', 'port', name,
                       'external_ids:ovn-localnet-port=provnet-1')
        self.vsctl('set', 'Open_vSwitch', '.',
                   'external_ids:system-id=' + cloud.CHASSIS,
                   'external_ids:hostname=' + HOSTNAME,
                   'external_ids:ovn-bridge-mappings=physnet1:' + BRIDGE)

    def start(self):
        self._spawn(*self._namespace.inside(
            'ovs-vswitchd', self.remote, '--disable-system'),
            name='ovs-vswitchd')

    def patch(self):
        """OpenFlow number of the patch port on the provider bridge."""
        return int(self.vsctl('get', 'interface', _PATCHES[0], 'ofport'))

    def marked(self):
        """Flows with the cookies of an agent, a set."""
        return {flow for flow in self.flows() if 'cookie=0x99' in flow}


class Host(frr.Frr):
    """The node: FRR, Open vSwitch, a device for VIPs; the fabric behind it.

    :param vrf: name of the VRF of the uplink, '' for none
    """

    def __init__(self, vrf=''):
        self.vrf = vrf
        self.bgp = _BGP.format(vrf=f' vrf {vrf}' if vrf else '')
        self.switch = None
        super().__init__()

    def make_links(self):
        self.switch = Switch(self.namespace)
        device = 'type dummy' if self.vrf else ('type veth peer name '
                                                'loopback1-peer')
        self.namespace.sh(f'''
            sysctl -qw net.ipv6.conf.default.addr_gen_mode=1
            sysctl -qw net.ipv4.ip_forward=1
            ip link set lo up
            ip link add uplink type veth peer name uplink netns \
                {self.neighbour.namespace.pid}
            ip link add loopback1 {device}
            ip link set loopback1 up
            ''')
        if self.vrf:
            self.namespace.sh(f'''
                ip link add {self.vrf} type vrf table 10
                ip link set {self.vrf} up
                ip link set uplink master {self.vrf}
                ip link set loopback1 master {self.vrf}
                ''')
        else:
            self.ip('link', 'set', 'loopback1-peer', 'up')
        self.ip('address', 'add', NODE + '/24', 'dev', 'uplink')
        self.ip('link', 'set', 'uplink', 'up')
        if self.vrf:
            self.ip('route', 'add', 'default', 'via', CLIENT, 'vrf', self.vrf)
        self.neighbour.namespace.sh(f'''
            ip link set lo up
            ip address add {CLIENT}/24 dev uplink
            ip link set uplink up
            ip route add {NETWORK} via {NODE}
            ip route add {FORWARD.vip} via {NODE}
            ''')

    def stop(self):
        if self.switch:
            self.switch.stop()
        super().stop()


class Probe:
    """Traffic that goes on until :meth:`end`.

    :param case: the test
    :param namespace: where it begins
    :param args: 'ping' and an address, or 'connect', an address and a port
    """

    def __init__(self, case, namespace, *args):
        self._process = subprocess.Popen(
            namespace.inside(sys.executable, '-c', _PROBE, *args),
            stdout=subprocess.PIPE, text=True, stdin=subprocess.PIPE)
        case.addCleanup(self._process.stdout.close)
        case.addCleanup(self._process.wait)
        case.addCleanup(self._process.kill)

    def end(self):
        """End it; gives (sent, lost)."""
        said, _nothing = self._process.communicate()
        sent, answered = map(int, said.split())
        return sent, sent - answered


class SwapTestCase(test_migrate.Migration, programs.ProgramTestCase):
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
        cls.host = Host(cls.VRF)
        cls.addClassCleanup(cls.host.stop)
        cls.node = cls.host.namespace
        cls.switch = cls.host.switch
        cls.node.run('ip', 'link', 'set', BRIDGE, 'up')
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
                                      hostname=HOSTNAME))
        self.layout = original.Layout((ALPHA, BETA), FORWARD, self.VRF,
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
        self.addCleanup(self.switch.ofctl, 'del-flows', BRIDGE,
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

    def ip(self, command):
        return self.node.run('ip', *command.split())

    def nft(self, text):
        """Give nft(8) some input on the node."""
        subprocess.run(self.node.inside('nft', '-f', '-'), input=text,
                       check=True, text=True, capture_output=True)

    def add_router(self, router):
        """What Neutron and OVN have of a router."""
        name = router.lrp.removeprefix('lrp-')
        self.cloud.add_router(name, (router.address,), cloud.CHASSIS,
                              mac=router.mac)
        for fip in router.fips:
            self.cloud.add_nat(name, fip)

    def machine(self, router):
        """A namespace behind br-int that has a router's addresses."""
        made = namespaces.hold(self)
        port = router.lrp.removeprefix('lrp-')
        self.ip(f'link add {port} type veth peer name eth0 netns {made.pid}')
        self.addCleanup(self.ip, f'link del {port}')
        self.ip(f'link set {port} up')
        self.switch.vsctl('add-port', 'br-int', port)
        self.addCleanup(self.switch.vsctl, 'del-port', 'br-int', port)
        # The gateway is OVN's virtual one, see Static_MAC_Binding.
        gateway = router.virtual_gateway
        made.sh(f'''
            sysctl -qw net.ipv6.conf.all.disable_ipv6=1
            ip link set lo up
            ip link set eth0 address {router.mac}
            ip address add {router.fips[0]}/32 dev eth0
            ip link set eth0 up
            ip neighbour add {gateway} lladdr {BRIDGE_MAC} dev eth0 \
                nud permanent
            ip route add default via {gateway} dev eth0 onlink
            ''')
        return made

    def destination(self):
        """A server behind the port forward."""
        made = namespaces.hold(self)
        self.ip(f'link add server type veth peer name eth0 netns {made.pid}')
        self.addCleanup(self.ip, 'link del server')
        self.ip('link set server master lan up')
        made.sh(f'ip link set lo up; ip address add {DESTINATION}/24 dev eth0;'
                'ip link set eth0 up; ip route add default via 10.0.1.1')
        server = subprocess.Popen(
            made.inside(sys.executable, '-c', _SERVER, DESTINATION,
                        str(FORWARD.dest_port)),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertEqual('listening\n', server.stdout.readline())

    # -- the original -----------------------------------------------------

    def lay_out(self):
        """Make what the original makes; anything in its way is an error."""
        for command in self.layout.kernel():
            if not (command.startswith('link set br-ex') or
                    command in self.FOREIGN):
                self.ip(command)
        for name, value in self.layout.sysctls():
            self.node.run('sysctl', '-qw', f'{name}={value}')
        if self.VRF:
            self._neighbours()
        self.switch.add(*self.layout.flows(self.switch.patch(), BRIDGE_MAC))
        self.nft(self.layout.nft())
        self.host.configure(*self.layout.frr())
        for router in self.layout.routers:
            self.write_rows(router)
        waiting.eventually(
            lambda: self.wanted_prefixes() <= self.host.learned(),
            lambda: f'the fabric has learned {self.host.learned()}')

    def _neighbours(self):
        for end, peer, address in (
                ('veth-default', 'veth-provider', original.PROVIDER_IP),
                ('veth-provider', 'veth-default', original.NEXTHOP)):
            shown, = json.loads(self.ip(f'-j link show {peer}'))
            self.ip(f'neighbour add {address} lladdr {shown["address"]} '
                    f'dev {end} nud permanent')

    def write_rows(self, router):
        """The rows of the original in OVN for one router."""
        self.cloud.add_static_route(
            router.lrp.removeprefix('lrp-'), nexthop=router.virtual_gateway,
            external_ids=self.layout.external_ids(HOSTNAME),
            output_port=router.lrp)
        self.nb.transact(ovsdb.insert(
            'Static_MAC_Binding', logical_port=router.lrp,
            ip=router.virtual_gateway, mac=BRIDGE_MAC))

    def wanted_prefixes(self):
        return {f'{address}/32' for router in self.layout.routers
                for address in router.addresses} | {FORWARD.vip + '/32'}

    # -- the agent --------------------------------------------------------

    def migrated(self):
        """Turn the settings of the original into ours; gives the options."""
        text = _YAML.format(
            nb=self.nb.remote, sb=self.sb.remote, table=self.TABLE,
            vrf=self.VRF or 'vrf-provider', vip=FORWARD.vip,
            port=FORWARD.port, dest=FORWARD.dest,
            dest_port=FORWARD.dest_port)
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
        ended = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m',
             'ovn_network_agent.cmd.ctl', '--socket', self.socket, 'status',
             '--json'], env=self.env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=programs.LIMIT)
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

    # -- what there is ----------------------------------------------------

    def state(self):
        """Everything on the node that an agent could leave or take, a set."""
        found = set()
        # A pair that is made again has other addresses and next hops.
        own = re.findall(r': (veth-\S+)@.* link/ether (\S+)',
                         self.ip('-o link show'))
        for command in ('-4 -N -d route show table all', '-4 -N rule show',
                        '-6 -N rule show', '-o -4 address show',
                        '-N neighbour show nud permanent'):
            for line in self.ip(command).splitlines():
                line = re.sub(r'^\d+: (?=\S+ +inet)', '', line)
                line = re.sub(r' (linkdown|nhid \d+|metric 20|id \d+)\b', '',
                              line)
                for device, mac in own:
                    line = line.replace(mac, f'of {device}')
                found.add(f'{command.split()[-2]}: {line.strip()}')
        found |= {f'flow: {flow}' for flow in self.switch.flows()}
        found |= {f'frr: {line.strip()}' for line in self.host.lines()
                  if 'ip route' in line or 'prefix-list ANN' in line}
        found |= {f'port: {port}' for port in self.switch.vsctl(
            'list-ports', BRIDGE).split()}
        found |= {f'nft: {line}' for line in self.node.run(
            'nft', 'list', 'tables').splitlines()}
        return found

    def rows(self):
        """The rows of the original in OVN, with their identities."""
        return {table: self.nb.rows(table) for table in (
            'Logical_Router_Static_Route', 'Static_MAC_Binding',
            'Gateway_Chassis', 'Logical_Router')}

    # -- traffic ----------------------------------------------------------

    def probes(self):
        """Traffic on each path, dict of name to :class:`Probe`."""
        alpha, beta = ALPHA.fips[0], self.machines[BETA.lrp]
        return {
            'in': Probe(self, self.client, 'ping', alpha),
            'out': Probe(self, beta, 'ping', CLIENT),
            'hairpin': Probe(self, beta, 'ping', alpha),
            'forward': Probe(self, self.client, 'connect', FORWARD.vip,
                             str(FORWARD.port))}

    def answers(self):
        """Whether each path answers: the first packet may be lost to ARP."""
        return not any(lost for _sent, lost in [
            probe.end() for probe in self.probes().values()])
