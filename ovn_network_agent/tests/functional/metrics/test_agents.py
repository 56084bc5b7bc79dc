# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Real agents on nodes of their own, scraped by clients and by Prometheus."""

import os
import shutil
import signal
import subprocess
import sys

from ovn_network_agent.metrics import declared
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import prometheus
from ovn_network_agent.tests import tools
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.cmd import node
from ovn_network_agent.tests.functional.control import base as control
from ovn_network_agent.tests.functional.metrics import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

# On a bridge of its own; nothing is announced, so no FRR is needed.
CONFIG = '''[frr]
vrf_name =
frr_prefix_list =
[gateway_drain]
relay = false
standby_needs_bgp = false
[metrics]
listen = {listen}
'''
# The way between the two nodes; Prometheus is on the first one.
ADDRESSES = {'gw1': '192.0.2.11', 'gw2': '192.0.2.12'}
CHASSIS = {'gw1': cloud.CHASSIS, 'gw2': cloud.OTHER}
# Two minutes of the alert rules take a second.
FASTER = 120
# Panels of the dashboard that these nodes leave empty, and the reason.
EMPTY = {
    'Default route of the VRF': 'the nodes have no VRF',
    'From the event to the announcement, 95 of 100': 'nothing is announced',
    'Mean time of the changes of a pass, by backend': 'nothing changes',
    'Destinations that are dead': 'no destination has a health check'}


class AgentsTestCase(node.NodeTestCase, control.ControlTestCase):
    """Two nodes; the databases are real, and the test is ovn-controller."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.nodes = {'gw1': self.node, 'gw2': namespaces.hold(self)}
        self.local = {'gw1': self.ovs, 'gw2': self.other_ovs()}
        first, second = self.nodes['gw1'], self.nodes['gw2']
        first.sh(f'ip link add way type veth peer name way netns {second.pid}')
        for name, of in self.nodes.items():
            of.sh(f'ip link set lo up; ip link set way up; '
                  f'ip address add {ADDRESSES[name]}/24 dev way')
        self.listeners = {
            name: base.Listener(ADDRESSES[name], self.node)
            for name in self.nodes}

    def other_ovs(self):
        """The local database of the other node."""
        ovs = ovsdb.Server('ovs')
        self.addCleanup(ovs.close)
        ovs.start()
        cloud.Cloud(self.nb, self.sb, ovs).fill_ovs()
        ids = {'system-id': cloud.OTHER, 'hostname': 'gw2',
               'ovn-bridge-mappings': f'physnet1:{cloud.BRIDGE}'}
        ovs.transact(ovsdb.update('Open_vSwitch', {},
                                  external_ids=ovsdb.ovsdb_dict(ids)))
        return ovs

    def agent_on(self, name, listen=None):
        """A real agent on a node.

        :param listen: address and port, default those of the node
        """
        remotes = {**self.remotes(), 'ovs': self.local[name].remote}
        made = self.config(
            CONFIG.format(listen=listen or f'{ADDRESSES[name]}:9132'),
            remotes, bridge_dev=cloud.BRIDGE, drivers='gateway_drain',
            # There are no flows and no FRR to clean up.
            cleanup_on_shutdown=False)
        path = os.path.join(self.directory, name + '.conf')
        os.rename(made, path)
        # The second agent of a node adds to the log of the first one.
        return self.spawned(
            self.nodes[name].inside(*self.command('--config-file', path)),
            self.log_of(name), 'ab')

    def log_of(self, name):
        return os.path.join(self.directory, name + '.log')

    def said(self):
        """What the agents have said, for failures."""
        found = ''
        for name in self.nodes:
            if os.path.exists(self.log_of(name)):
                with open(self.log_of(name)) as opened:
                    found += f'{name}:\n{opened.read()}\n'
        return found

    def seen(self, *names):
        """Wait until agents have seen OVN.

        They stay degraded: the nodes have neither a switch nor FRR.
        """
        for name in names:
            self.soon(lambda n=name: self.listeners[n].value(
                'gateway_port_served', port='lrp-r1') is not None)
            self.soon(lambda n=name: len(self.listeners[n].unready()) == 2)

    def soon(self, condition):
        waiting.eventually(condition, self.said)

    def lowered(self, chassis):
        """Whether a chassis has the priority 0."""
        row, = self.nb.rows('Gateway_Chassis', where=ovsdb.clauses(
            {'name': f'lrp-r1_{chassis}'}))
        return row['priority'] == 0

    def served(self):
        """Names of the nodes that announce the port, a set."""
        return {name for name, listener in self.listeners.items()
                if listener.value('gateway_port_served', port='lrp-r1')}


class AgentsTest(AgentsTestCase):

    def test_a_drain_is_seen_until_the_end(self):
        agent = self.agent_on('gw1')
        self.agent_on('gw2')
        self.seen('gw1', 'gw2')
        self.assertEqual({'gw1'}, self.served())
        listener = self.listeners['gw1']
        self._the_veth_pair(listener)
        agent.send_signal(signal.SIGTERM)
        self.soon(lambda: listener.value('phase', phase='draining') == 1)
        self.soon(lambda: self.lowered(cloud.CHASSIS))
        self.assertIn('an orderly stop hands gateways over',
                      listener.unready())
        self.assertTrue(any('lrp-r1 to leave' in reason
                            for reason in listener.unready()))
        self.assertEqual(200, listener.ask('/healthz')[0])
        self.assertEqual(0, listener.value('drain_total', result='timeout'))
        self.cloud.move('lrp-r1', cloud.OTHER)
        self.soon(lambda: self.served() == {'gw2'})
        # From here on, there is no moment without a listener or an end.
        self.soon(lambda: listener.ask('/healthz')[0] == 0)
        self.assertEqual(0, agent.wait(control.LIMIT), self.said())

    def _the_veth_pair(self, listener):
        about = {'device': 'veth-default', 'direction': 'sent'}
        self.assertIsNone(listener.value('veth_packets_total', **about))
        self.node.sh('ip link add veth-default type veth peer name '
                     'veth-provider; ip link set veth-provider up; '
                     'ip link set veth-default up')
        # The kernel sends packets of IPv6.
        self.soon(lambda: listener.value('veth_packets_total', **about))
        self.soon(lambda: self.arrived(listener.values()))
        self.assertEqual(0, listener.value('veth_dropped_total', **about))
        self.node.sh('ip link del veth-default')
        self.assertIsNone(listener.value('veth_packets_total', **about))
        with open(self.log_of('gw1')) as opened:
            self.soon(lambda: opened.seek(0) or opened.read().count(
                ' WARNING ') == listener.value('log_messages_total',
                                               level='warning'))
        self.assertEqual(0, listener.value('log_messages_total',
                                           level='error'))

    def arrived(self, values):
        """Whether one end has received all that the other has sent."""
        sent, received = (values[
            declared.PREFIX + 'veth_packets_total',
            frozenset({'device': device, 'direction': direction}.items())]
            for device, direction in (('veth-default', 'sent'),
                                      ('veth-provider', 'received')))
        return sent == received > 0

    def test_a_port_of_somebody_else(self):
        script = ('import socket, sys; s = socket.create_server(("127.0.0.1", '
                  '9132)); print(flush=True); sys.stdin.read()')
        other = subprocess.Popen(
            self.node.inside('python3', '-c', script),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(other.stdout.close)
        self.addCleanup(other.wait)
        self.addCleanup(other.stdin.close)
        other.stdout.readline()
        agent = self.agent_on('gw1', '9132')
        self.soon(lambda: '[metrics] listen = 127.0.0.1:9132: Address '
                  'already in use: another program listens there' in
                  self.said())
        self.soon(lambda: 'First complete pass done' in self.said())
        self.soon(lambda: any(
            'Degraded' in line and '[metrics] listen' in line
            for line in self.said().splitlines()))
        other.stdin.close()
        other.wait()
        listener = base.Listener('127.0.0.1', self.node)
        self.soon(lambda: listener.unready() and not any(
            '[metrics]' in reason for reason in listener.unready()))
        self.assertIsNone(agent.poll())


@needs.needs(shutil.which('prometheus'), 'prometheus is not installed')
class PrometheusTest(AgentsTestCase):
    """A real Prometheus with the alert rules."""

    def prometheus(self):
        """Prometheus on the first node."""
        targets = {name: f'{address}:{base.PORT:d}'
                   for name, address in ADDRESSES.items()}
        for name, text in prometheus.files(targets, FASTER).items():
            with open(os.path.join(self.directory, name), 'w') as opened:
                opened.write(text)
        with open(os.path.join(self.directory, 'prometheus.log'),
                  'wb') as log:
            started = subprocess.Popen(
                self.node.inside(*prometheus.command(
                    self.directory, '127.0.0.1:9090')),
                cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        self.server = prometheus.Server(
            base.Listener('127.0.0.1', self.node, 9090).ask)

    def fires(self, *alerts, degraded=('gw1', 'gw2')):
        """Wait until exactly these alerts fire.

        :param degraded: names of nodes whose agents say that they are
        """
        expected = {*alerts, *(
            (alert, name) for name in degraded
            for alert in ('NotReady', 'BackendUnreadable'))}
        waiting.eventually(lambda: self.server.firing() == expected, lambda: (
            f'{self.server.firing()} and not {expected}\n{self.said()}'))

    def test_a_drain_and_a_hard_kill(self):
        """Each panel of the dashboard has data, too."""
        agents = {name: self.agent_on(name) for name in self.nodes}
        self.seen(*agents)
        self.prometheus()
        waiting.eventually(lambda: self.server.nodes('up == 1') == set(
            self.nodes), 'both are scraped')
        self.fires()
        waiting.eventually(lambda: self.empty() == set(EMPTY), lambda: (
            f'empty: {self.empty()}\n{self.said()}'))
        agents['gw1'].send_signal(signal.SIGTERM)
        self.soon(lambda: self.lowered(cloud.CHASSIS))
        self.cloud.move('lrp-r1', cloud.OTHER)
        self.assertEqual(0, agents['gw1'].wait(control.LIMIT), self.said())
        # The port has an owner, so only the agent itself is missed.
        self.fires(('Down', 'gw1'), degraded=['gw2'])
        agents['gw1'] = self.agent_on('gw1')
        self.fires()
        agents['gw2'].kill()
        agents['gw2'].wait()
        self.fires(('Down', 'gw2'), ('PortServedByNobody', 'lrp-r1'),
                   degraded=['gw1'])
        self.cloud.move('lrp-r1', cloud.CHASSIS)
        self.fires(('Down', 'gw2'), degraded=['gw1'])

    def empty(self):
        """Titles of the panels without data, a set."""
        path = os.path.join(self.directory, 'dashboard.svg')
        drawn = subprocess.run(
            self.node.inside(
                sys.executable, os.path.join(tools.ROOT, 'tools',
                                             'dashboard.py'),
                '--scrape', str(prometheus.EVERY), '--last', '60',
                '--write', path), capture_output=True, text=True,
            timeout=60, check=False)
        self.assertEqual('', drawn.stderr)
        found = [line.strip().partition('  ')
                 for line in drawn.stdout.splitlines()]
        empty = {title for count, _blank, title in found if count == '0'}
        self.assertEqual(int(bool(empty)), drawn.returncode)
        with open(path) as opened:
            self.assertEqual(len(empty), opened.read().count('>no data<'))
        return empty
