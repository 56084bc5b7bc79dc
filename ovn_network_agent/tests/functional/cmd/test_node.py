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

"""Each thing that a node can lack, in a network namespace of its own."""

import json
import os
import shutil
import socket
import subprocess

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.cmd import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

PLAIN = '[frr]\nvrf_name =\nfrr_prefix_list =\n'
# The test's own vtysh, which is never asked for anything.
VTYSH = '#!/bin/sh\nexit 1\n'
BRIDGE = 'ip link add br-ex type veth peer name br-ex-peer'


@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class NodeTestCase(base.ProgramTestCase):
    """A node is a namespace; a process holds it."""

    def setUp(self):
        super().setUp()
        self.node = subprocess.Popen(
            ['unshare', '-n', 'sh', '-c', 'echo; exec cat'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.node.stdout.close)
        self.addCleanup(self.node.wait)
        self.addCleanup(self.node.stdin.close)
        self.node.stdout.readline()
        self.bin = os.path.join(self.directory, 'bin')
        os.mkdir(self.bin)
        self.program('vtysh', VTYSH)
        self.env['PATH'] = self.bin + ':' + self.env['PATH']
        self.sh('ip link set lo up')

    def program(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, 'w') as opened:
            opened.write(text)
        os.chmod(path, 0o755)

    def inside(self, *argv):
        """A command that runs in the namespace."""
        return ['nsenter', '-t', str(self.node.pid), '-n', *argv]

    def sh(self, script):
        """Run a script on the node; gives its output."""
        return subprocess.run(
            self.inside('sh', '-ec', script), check=True, text=True,
            capture_output=True).stdout

    def start(self, config, *prefix):
        """Start the program on the node; ended with the test."""
        log = open(os.path.join(self.directory, 'log'), 'wb')
        with log:
            agent = subprocess.Popen(
                self.inside(*prefix, *self.command('--config-file', config)),
                env=self.env, cwd=self.directory, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def log(self):
        with open(os.path.join(self.directory, 'log')) as opened:
            return opened.read()

    def logged(self, *words):
        """Wait for a line with these words."""
        ovsdb.eventually(lambda: any(
            all(word in line for word in words)
            for line in self.log().splitlines()), self.log)

    def addresses(self):
        return [address['local'] for link in json.loads(
            self.sh('ip -j -4 address show dev br-ex'))
            for address in link['addr_info']]


class LackTest(NodeTestCase):
    """Exit status 1, and a line that leads to the remedy."""

    def lacks(self, config, *words, prefix=()):
        before = self.sh('ip -d address; ip rule; ip route show table all')
        agent = self.start(config, *prefix)
        self.assertEqual(1, agent.wait(base.LIMIT), self.log())
        said = [line for line in self.log().splitlines() if line.startswith(
            'ovn-network-agent: environment: ')]
        self.assertEqual(1, len(said), self.log())
        for word in words:
            self.assertIn(word, said[0])
        self.assertNotIn('Traceback', self.log())
        self.assertEqual(before, self.sh(
            'ip -d address; ip rule; ip route show table all'))

    def test_no_bridge(self):
        self.lacks(self.config(PLAIN), '[DEFAULT] bridge_dev = br-ex: ',
                   'ovs-vsctl add-br br-ex')

    def test_no_vrf(self):
        self.sh(BRIDGE)
        self.lacks(self.config('[frr]\nfrr_prefix_list =\n'),
                   '[frr] vrf_name = vrf-provider: there is no such device',
                   'ip link add vrf-provider type vrf table')

    def test_a_device_that_is_no_vrf(self):
        self.sh(BRIDGE + '; ip link add blue type bridge')
        self.lacks(self.config('[frr]\nvrf_name = blue\n'),
                   '[frr] vrf_name = blue: this device is no VRF but '
                   '"bridge"')

    def test_no_vtysh(self):
        self.sh(BRIDGE)
        os.unlink(os.path.join(self.bin, 'vtysh'))
        for name in ('ip', 'sh', 'env'):
            os.symlink(shutil.which(name), os.path.join(self.bin, name))
        self.lacks(self.config(PLAIN), 'vtysh is not found', 'install FRR',
                   prefix=('env', 'PATH=' + self.bin))

    def forwarding(self):
        """A configuration with a port forward."""
        rules = os.path.join(self.directory, 'rules.yaml')
        with open(rules, 'w') as opened:
            opened.write('port_forwards: [{vip: 192.0.2.53, rules: '
                         '[{proto: udp, port: 53, dest_addr: 10.0.0.5}]}]\n')
        return self.config(PLAIN + '[port_forward]\nrules_file = %s\n' %
                           rules)

    def test_no_nft(self):
        self.sh(BRIDGE + '; ip link add loopback1 type veth peer name other')
        for name in ('ip', 'sh', 'env'):
            os.symlink(shutil.which(name), os.path.join(self.bin, name))
        self.lacks(self.forwarding(), '[port_forward] rules_file = ',
                   'nft is not in PATH', 'install the package nftables',
                   prefix=('env', 'PATH=' + self.bin))

    def test_no_device_for_vips(self):
        """Also when no VIP has manage_vip."""
        self.sh(BRIDGE)
        self.lacks(self.forwarding(), '[port_forward] port_forward_dev = '
                   'loopback1: there is no such device',
                   'ip link add loopback1 type dummy; '
                   'ip link set loopback1 up')

    def test_no_privileges(self):
        # uid 0 alone is worth nothing.
        self.sh(BRIDGE)
        self.lacks(self.config(PLAIN), 'no privileges', '[privsep_kernel]',
                   'CAP_NET_ADMIN', 'capabilities of the container',
                   prefix=('setpriv', '--bounding-set=-net_admin',
                           '--inh-caps=-net_admin'))

    def test_all_at_once(self):
        agent = self.start(self.config())
        self.assertEqual(1, agent.wait(base.LIMIT), self.log())
        for option in ('bridge_dev = br-ex', 'vrf_name = vrf-provider'):
            self.assertIn(option, self.log())

    def test_a_check_of_the_configuration_needs_no_node(self):
        ended = subprocess.run(
            self.inside('setpriv', '--bounding-set=-all', '--inh-caps=-all',
                        *self.command('--check-config', '--config-file',
                                      self.config())),
            env=self.env, cwd=self.directory, capture_output=True, text=True)
        self.assertEqual((0, 'configuration OK\n', ''),
                         (ended.returncode, ended.stdout, ended.stderr))


class SurroundingsTest(NodeTestCase):
    """What it warns of, and goes on."""

    def setUp(self):
        super().setUp()
        self.sh(BRIDGE)

    def test_the_node_is_prepared_while_ovn_is_away(self):
        agent = self.start(self.config(PLAIN))
        ovsdb.eventually(lambda: self.addresses() == ['169.254.169.254'],
                         self.log)
        ovsdb.eventually(lambda: self.sh(
            'cat /proc/sys/net/ipv4/conf/br-ex/proxy_arp') == '1\n',
            self.log)
        self.assertIn('UP', self.sh('ip -j link show br-ex'))
        self.logged('waiting for OVN')
        # Again, with what the first one left.
        agent.kill()
        agent.wait()
        again = self.start(self.config(PLAIN))
        self.logged('waiting for OVN')
        self.assertEqual(['169.254.169.254'], self.addresses())
        self.assertIsNone(again.poll())

    def test_somebody_else_has_the_address_of_the_bridge(self):
        #
        self.sh('ip link add metadata type veth peer name m2;'
                'ip address add 169.254.169.254/32 dev metadata')
        self.start(self.config(PLAIN))
        self.logged('[DEFAULT] bridge_ip = 169.254.169.254: metadata has '
                    'this address, too', 'choose another address')

    def test_somebody_has_a_route_to_the_address_of_the_bridge(self):
        #
        self.sh('ip link add metadata type veth peer name m2;'
                'ip link set metadata up;'
                'ip route add 169.254.169.254/32 dev metadata')
        self.start(self.config(PLAIN))
        self.logged('[DEFAULT] bridge_ip = 169.254.169.254: there is a '
                    'route to this address through metadata')

    def test_frr_that_cannot_be_asked(self):
        self.start(self.config(PLAIN))
        self.logged('how FRR is set up could not be checked', 'vtysh')

    def test_open_vswitch_that_is_started_again(self):
        # In OVSDB there is nothing to see of it.
        rundir = os.path.join(self.directory, 'openvswitch')
        os.mkdir(rundir)

        def bind(name):
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(os.path.join(rundir, name))

        bind('br-ex.mgmt')
        self.start(self.config(PLAIN + '[ovs]\novs_rundir = %s\n' % rundir))
        self.logged('waiting for OVN')
        bind('new')
        os.rename(os.path.join(rundir, 'new'),
                  os.path.join(rundir, 'br-ex.mgmt'))
        self.logged('Started again in Open vSwitch: br-ex')

    def test_quiet_where_nothing_is_wrong(self):
        self.start(self.config(PLAIN))
        self.logged('waiting for OVN')
        self.assertNotIn('bridge_ip =', self.log())


@ovsdb.needs_ovsdb
class BridgePortTest(NodeTestCase):

    def test_a_port_that_leads_out_of_the_node(self):
        #
        self.sh('ip link add uplink type veth peer name u2')
        servers = {name: ovsdb.Server(name) for name in ('nb', 'sb', 'ovs')}
        for server in servers.values():
            self.addCleanup(server.close)
            server.start()
        cloud.Cloud(**servers).fill()
        self.start(self.config(PLAIN, {
            name: server.remote for name, server in servers.items()},
            bridge_dev=cloud.BRIDGE))
        self.logged('First complete pass done')
        self.assertNotIn('leads out', self.log())
        servers['ovs'].transact(
            {'op': 'insert', 'table': 'Interface', 'uuid-name': 'i',
             'row': {'name': 'uplink'}},
            {'op': 'insert', 'table': 'Port', 'uuid-name': 'p',
             'row': {'name': 'uplink', 'interfaces': ['named-uuid', 'i']}},
            {'op': 'mutate', 'table': 'Bridge',
             'where': [['name', '==', cloud.BRIDGE]],
             'mutations': [['ports', 'insert', ['named-uuid', 'p']]]})
        self.logged('[DEFAULT] bridge_dev = %s: its port uplink leads out of '
                    'this node' % cloud.BRIDGE, 'proxy_arp')


class SecondTest(NodeTestCase):
    """Two agents would remove each other's work."""

    def setUp(self):
        super().setUp()
        self.sh(BRIDGE)
        self.first = self.start(self.configured('first'))
        ovsdb.eventually(self.addresses, self.log)

    def configured(self, name):
        """A configuration with a control socket of its own."""
        config = self.config(
            PLAIN + '[ovn]\novsdb_connection_timeout = 1\n'
            'ovn_nb_remote = tcp:127.0.0.1:1\n'
            'ovn_sb_remote = tcp:127.0.0.1:1\n', remotes=False,
            control_socket=os.path.join(self.directory, name))
        path = '%s.%s' % (config, name)
        os.rename(config, path)
        return path

    def second(self, *argv, prefix=()):
        return subprocess.run(
            self.inside(*prefix, *self.command(
                '--config-file', self.configured('second'), *argv)),
            env=self.env, cwd=self.directory, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=base.LIMIT)

    def state(self):
        return self.sh('ip -d address; ip rule; ip route show table all')

    def test_the_second_ends_and_names_the_first(self):
        """As a service and as a container, that see other processes."""
        before = self.state()
        container = ('unshare', '--pid', '--fork', '--mount-proc')
        for prefix, seen in (
                ((), 'process %d here' % self.first.pid),
                (container, 'in another container')):
            ended = self.second(prefix=prefix)
            self.assertEqual(1, ended.returncode, ended.stderr)
            said, = [line for line in ended.stderr.splitlines()
                     if line.startswith('ovn-network-agent: environment: ')]
            for words in ('another agent works', seen,
                          'process %d' % self.first.pid,
                          os.path.join(self.directory, 'first')):
                self.assertIn(words, said)
            self.assertNotIn('Traceback', ended.stderr)
            self.assertEqual(before, self.state())
        self.assertIsNone(self.first.poll())

    def test_a_plan_may_be_made_beside_it(self):
        ended = self.second('--dry-run')
        self.assertNotIn('another agent', ended.stderr)
        # It got as far as OVN, which is not there.
        self.assertIn('is not loaded yet', ended.stderr)

    def test_one_that_was_killed_is_in_nobodys_way(self):
        self.first.kill()
        self.first.wait()
        # Its privileged daemons may still be there.
        again = self.start(self.configured('again'))
        ovsdb.eventually(
            lambda: 'trying for ever' in self.log() or again.poll(),
            self.log)
        self.assertIsNone(again.poll(), self.log())
