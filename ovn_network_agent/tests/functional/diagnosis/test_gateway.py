# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands on a whole gateway node: explain, doctor, status, drain.

FRR, Open vSwitch, the kernel, the databases and the agent are real; the test
plays OVN, the fabric and the router of a tenant.
"""

import os
import pathlib
import re
import subprocess
import sys
import textwrap

import fixtures

import ovn_network_agent
from ovn_network_agent import diagnosis
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.openflow import base as openflow
from ovn_network_agent.tests.functional.ovn import base as ovn
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

TOP = os.path.dirname(os.path.dirname(ovn_network_agent.__file__))
DOCS = pathlib.Path(TOP, 'doc', 'source')
FIP, ROUTER = '198.51.100.10', '198.51.100.1'
VERDICTS = frozenset(each.value for each in diagnosis.Verdict)
_LIMIT = 120
_PATCH = 3  # see cloud.wiring
_MAC = 'fa:16:3e:00:00:01'  # see Cloud.add_router
_INTEGRATION = 'br-int'
# Durations, addresses, versions and counts differ from node to node.
_VALUES = re.compile(r'\b\d+[dhms]( \d+[dhms])?\b|\b\d[\d.]*(dev\d+)?')
_CONFIG = f'''[DEFAULT]
control_socket = {{directory}}/ctl
bridge_dev = {openflow.BRIDGE}
drivers = fip_route,gateway_drain
[ovn]
ovn_nb_remote = {{nb}}
ovn_sb_remote = {{sb}}
[ovs]
ovsdb_connection = {{ovs}}
ovs_rundir = {{switch}}
[frr]
frr_run_dir = {{frr}}
vrf_name =
[fip_route]
route_table_id = 100
[gateway_drain]
relay = false
overlap = false
'''


class Fabric(base.Frr):
    """The fabric announces a default route."""

    def make_links(self):
        """The uplink, and the link to the router of a tenant."""
        pid = self.neighbour.namespace.pid
        for command in (
                'link set lo up',
                f'link add uplink type veth peer name uplink netns {pid}',
                'address add 10.0.0.1/24 dev uplink', 'link set uplink up',
                f'link add tenant type veth peer name router netns {pid}',
                'link set tenant up'):
            self.ip(*command.split())
        for command in ('address add 10.0.0.2/24 dev uplink',
                        'link set uplink up',
                        f'link set router address {_MAC}',
                        f'address add {FIP}/32 dev router',
                        'link set router up'):
            self.neighbour.ip(*command.split())

    def start_neighbour(self):
        """Its bgpd sends a default route."""
        super().start_neighbour()
        self.neighbour.configure(
            'router bgp 65002', 'address-family ipv4 unicast',
            'neighbor 10.0.0.1 default-originate')


class Switch(openflow.OpenVSwitch):
    """Open vSwitch in the network namespace of FRR."""

    def __init__(self, namespace):
        self._namespace = namespace
        super().__init__()
        self.vsctl(
            '--no-wait', 'add-br', _INTEGRATION, '--', 'set', 'bridge',
            _INTEGRATION, 'datapath_type=netdev', '--',
            'add-port', openflow.BRIDGE, 'ex-int', '--', 'set', 'interface',
            'ex-int', 'type=patch', 'options:peer=int-ex',
            f'ofport_request={_PATCH}', '--',
            'add-port', _INTEGRATION, 'int-ex', '--', 'set', 'interface',
            'int-ex', 'type=patch', 'options:peer=ex-int', '--',
            'add-port', _INTEGRATION, 'tenant')

    def inside(self, *argv):
        return self._namespace.inside(*argv)


def lines(explained):
    """(verdict, layer) of each finding of explain, a list."""
    return [(line[:12].strip(), line[13:39].strip())
            for line in explained.splitlines()
            if line[:12].strip() in VERDICTS]


def shape(text):
    """Lines without the values that differ from node to node."""
    return [_VALUES.sub('N', ' '.join(line.split()))
            for line in text.splitlines()]


def samples(first):
    """The outputs on the pages that follow a line; not other commands."""
    found = [textwrap.dedent(sample) for page in sorted(DOCS.rglob('*.rst'))
             for sample in re.findall(
                 rf'^ *{first}\n((?: *[^#\s].*\n)+)', page.read_text(), re.M)]
    if not found:
        raise AssertionError(f'no page shows what follows {first}')
    return found


@openflow.needs_open_vswitch
class GatewayTest(ovn.OvsdbTestCase, base.FrrTestCase):

    make = Fabric
    bridge = openflow.BRIDGE

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.switch = Switch(cls.frr.namespace)
        cls.addClassCleanup(cls.switch.stop)

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path
        self.config = os.path.join(self.directory, 'agent.conf')
        with open(self.config, 'w') as opened:
            opened.write(_CONFIG.format(
                directory=self.directory, switch=self.switch.rundir,
                frr=self.frr.rundir, **self.remotes()))
        self.env = {
            **{name: value for name, value in os.environ.items()
               if not name.startswith('OS_')},
            'PYTHONPATH': TOP, 'NO_COLOR': '1',
            'XDG_CACHE_HOME': os.path.join(self.directory, 'cache')}
        self.cloud.add_router('router1', chassis=cloud.CHASSIS)
        self._add_machine()
        self.cloud.add_nat('router1', FIP)
        self._start()

    def _add_machine(self):
        """The network and the machine that the floating IP leads to."""
        self.nb.transact(
            ovsdb.insert('Logical_Router_Port', 'lrp', name='lrp-inside',
                         networks='10.0.0.1/24', mac='fa:16:3e:00:00:02'),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-router1'},
                         'ports', 'insert', ['named-uuid', 'lrp']))
        self.cloud.ports['lrp-inside'] = 'inside'
        self.cloud.add_switch('net', self.cloud.add_network(), ['lrp-inside'])
        self.cloud.add_ports('net', machine=['10.0.0.5'])

    def program(self, name, *argv):
        """A command line inside of the node."""
        return self.frr.namespace.inside(
            sys.executable, '-W', 'ignore', '-m',
            f'ovn_network_agent.cmd.{name}', '--config-file', self.config,
            *argv)

    def _start(self):
        with open(os.path.join(self.directory, 'log'), 'wb') as log:
            agent = subprocess.Popen(
                self.program('agent'), env=self.env, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        waiting.eventually(
            lambda: 'First complete pass done' in self._log() and
            f'{FIP}/32' in self.frr.learned(), self._log, _LIMIT)

    def _log(self):
        with open(os.path.join(self.directory, 'log')) as log:
            return log.read()

    def ctl(self, *argv):
        """The ended command, a CompletedProcess."""
        return subprocess.run(
            self.program('ctl', *argv), env=self.env, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT)

    def assert_in_order(self, some, all_of_them):
        """One list has the other, perhaps with more between."""
        left = iter(all_of_them)
        self.assertTrue(some)
        self.assertEqual([], [one for one in some if one not in left],
                         all_of_them)

    def said(self, status, *argv):
        """What a command says that ends with this status, a text."""
        ended = self.ctl(*argv)
        self.assertEqual((status, ''), (ended.returncode, ended.stderr),
                         ended.stdout)
        return ended.stdout

    def test_a_healthy_node_and_one_without_staticd(self):
        """A start of the agent takes long, so both are one test."""
        self._healthy()
        self._without_staticd()

    def _healthy(self):
        found = self.said(0, 'explain', FIP)
        for sample in samples(r'.*: floating IP'):
            self.assert_in_order(lines(found), lines(sample))
            self.assertEqual(found.splitlines()[-1],
                             sample.splitlines()[-1])
        found = self.said(0, 'status').replace('.example.org', '')
        for sample in samples('# ovn-network-agent-ctl status'):
            self.assertEqual(shape(sample), shape(found))

    def _without_staticd(self):
        self.frr.kill('staticd')
        self.addCleanup(self._with_staticd)
        found = self.said(1, 'explain', FIP)
        self.assertEqual(['daemons of FRR'], [
            layer for verdict, layer in lines(found) if verdict == 'BROKEN'])
        self.assertIn('\nBroken: daemons of FRR\nRemedy: set staticd to "yes" '
                      'in /etc/frr/daemons', found)
        waiting.eventually(
            lambda: 'frr_static: ' in self.said(0, 'status'), self._log,
            _LIMIT)
        # No ovn-controller runs here.
        found = self.said(1, 'doctor').replace(', ovn-controller', '')
        for sample in samples('# ovn-network-agent-ctl doctor'):
            self.assert_in_order(shape(sample), shape(found))
        self._drained()

    def _with_staticd(self):
        if not self.frr.runs('staticd'):
            self.frr.start('staticd')

    def _drained(self):
        """The addresses cannot be withdrawn, and the drain says so."""
        drain = self._drain('waiting for ', '--timeout=20')
        self.cloud.move('lrp-router1', cloud.OTHER)
        shown, failed = drain.communicate(timeout=_LIMIT)
        self.assertIn('drain: carried out', shown)
        self.assertEqual(7, drain.returncode, shown + failed)
        self.assertIn('2 addresses could not be withdrawn, so this node may '
                      'still announce them: '
                      f'{ROUTER}, {FIP};', failed)
        # One that waits for FRR ends when they are withdrawn.
        drain = self._drain(f'2 addresses to be withdrawn: {ROUTER}, {FIP}')
        self.assertIsNone(drain.poll())
        self._with_staticd()
        shown, failed = drain.communicate(timeout=_LIMIT)
        self.assertEqual((0, ''), (drain.returncode, failed), shown)
        self.assertFalse(any(FIP in line for line in self.frr.running()))

    def _drain(self, line, *argv):
        """A drain that has printed a line."""
        drain = subprocess.Popen(
            self.program('ctl', 'drain', '--wait', *argv), env=self.env,
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.addCleanup(drain.wait)
        self.addCleanup(drain.kill)
        shown = next((one for one in drain.stdout if line in one), '')
        self.assertIn(line, shown)
        return drain
