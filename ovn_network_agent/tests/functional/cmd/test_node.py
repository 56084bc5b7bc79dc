# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Each thing that a node can lack, in a network namespace of its own."""

import encodings
import os
import shutil
import socket

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.cmd import base
from ovn_network_agent.tests.functional.cmd import node
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

BRIDGE = node.BRIDGE
PLAIN = node.PLAIN


class LackTest(node.NodeTestCase):
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
        return self.config(PLAIN + f'[port_forward]\nrules_file = {rules}\n')

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

    def test_a_python_that_its_user_cannot_read(self):
        """As the unit starts what was made with a Python below /root.

        The capability reads the files at the start, and is given up then.
        """
        self.sh(BRIDGE)
        closed = os.path.join(self.directory, 'closed')
        shutil.copytree(os.path.dirname(encodings.__file__), closed)
        os.chmod(closed, 0o700)
        both = '+net_admin,+dac_override'
        self.lacks(self.config(PLAIN), 'the user 61236 cannot read files',
                   'gives up the privileges', prefix=(
                       'unshare', '--mount', 'sh', '-c',
                       'mount --bind "$0" "$1" && shift && exec "$@"', closed,
                       os.path.dirname(encodings.__file__), 'setpriv',
                       '--reuid=61236', '--regid=61236', '--clear-groups',
                       f'--inh-caps=-all,{both}',
                       f'--ambient-caps=-all,{both}'))

    def test_all_at_once(self):
        agent = self.start(self.config())
        self.assertEqual(1, agent.wait(base.LIMIT), self.log())
        for option in ('bridge_dev = br-ex', 'vrf_name = vrf-provider'):
            self.assertIn(option, self.log())

    def test_a_check_of_the_configuration_needs_no_node(self):
        ended = self.run_agent(
            '--check-config', '--config-file', self.config(),
            inside=lambda *words: self.inside(
                'setpriv', '--bounding-set=-all', '--inh-caps=-all', *words))
        self.assertEqual((0, 'configuration OK\n', ''),
                         (ended.returncode, ended.stdout, ended.stderr))


class SurroundingsTest(node.NodeTestCase):
    """What it warns of, and goes on."""

    def setUp(self):
        super().setUp()
        self.sh(BRIDGE)

    def test_quiet_where_nothing_is_wrong(self):
        """The node is prepared while OVN is away."""
        agent = self.start(self.config(PLAIN))
        waiting.eventually(lambda: self.addresses() == ['169.254.169.254'],
                           self.log)
        waiting.eventually(lambda: self.sh(
            'cat /proc/sys/net/ipv4/conf/br-ex/proxy_arp') == '1\n',
            self.log)
        self.assertIn('UP', self.sh('ip -j link show br-ex'))
        self.logged('waiting for OVN')
        self.assertNotIn('bridge_ip =', self.log())
        self.logged('the configuration of FRR could not be checked', 'vtysh')
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

    def test_open_vswitch_that_is_started_again(self):
        # In OVSDB there is nothing to see of it.
        rundir = os.path.join(self.directory, 'openvswitch')
        os.mkdir(rundir)

        def bind(name):
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(os.path.join(rundir, name))

        bind('br-ex.mgmt')
        self.start(self.config(PLAIN + f'[ovs]\novs_rundir = {rundir}\n'))
        self.logged('waiting for OVN')
        bind('new')
        os.rename(os.path.join(rundir, 'new'),
                  os.path.join(rundir, 'br-ex.mgmt'))
        self.logged('Started again in Open vSwitch: br-ex')


@ovsdb.needs_ovsdb
class BridgePortTest(node.NodeTestCase):

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
        self.logged(f'provider bridge {cloud.BRIDGE}: its port uplink '
                    'leads out of this node', 'proxy_arp')
