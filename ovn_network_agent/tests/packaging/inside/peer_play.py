# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A gateway of ovn-bgp-agent becomes one of this agent, as the page says."""

import contextlib
import json
import os
import pathlib
import re
import signal
import tempfile
import textwrap

from lab import bothways
from lab import central
from lab import dump
from lab import frr
from lab import northbound
from lab import plan
from lab import routers
import ovn_network_agent
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import leaving

# The Python of the environment with ovn-bgp-agent.
PYTHON = 'PEER_PYTHON'
_PATIENCE = 240
_PEER = '/etc/ovn-network-agent/peer.conf'
_TEXT = f'''\
[DEFAULT]
driver = nb_ovn_bgp_driver
exposing_method = underlay
ovsdb_connection = unix:/run/openvswitch/db.sock
bgp_AS = {plan.GATEWAY_AS['gw1']}
bgp_router_id = {plan.UPLINKS['gw1'][1]}
bgp_nic = bgp-nic
bgp_vrf = bgp-vrf
reconcile_interval = 86400
frr_reconcile_interval = 86400
[ovn]
ovn_nb_connection = {plan.NB}
ovn_sb_connection = {plan.SB}
[agent]
root_helper = env
'''
# Of the network with a VLAN.
_VLAN = 101
_TAGGED = next(plan.FURTHER_PROVIDERS.subnets(new_prefix=24))
# What the operator has for ovn-bgp-agent: its routes are announced.
_FILTERS = f'''\
ip prefix-list OF-THE-PEER seq 5 permit {plan.PROVIDER} ge 32
ip prefix-list OF-THE-PEER seq 10 permit {_TAGGED} ge 32
route-map PROVIDER-FILTER-OUT permit 30
 match ip address prefix-list OF-THE-PEER
exit
'''
# The kernel makes the rule with the first VRF of a namespace.
_KEPT = {'1000:\tfrom all lookup [l3mdev-table]', 'br-ex.101@br-ex'}
_TOP = pathlib.Path(ovn_network_agent.__file__).parent.parent
_PAGE = _TOP / 'doc' / 'source' / 'admin' / 'from-ovn-bgp-agent.rst'


def _printed():
    """The commands of the page that remove what is left, for this node."""
    block = re.search(r'\n\n( +# ip link delete bgp-nic\n.*?\n)\n',
                      _PAGE.read_text(encoding='utf-8'), re.DOTALL)[1]
    text = textwrap.dedent(block).replace('64999', str(plan.GATEWAY_AS['gw1']))
    return re.findall(r'^# (.*?)(?=^# |\Z)', text, re.M | re.S)


class SwapTest(leaving.LeavingTestCase):
    """Machines on a flat network and on a VLAN, and a floating IP.

    All in the default VRF.
    """

    GATEWAYS = 1
    METHOD = 'kernel'
    VRF = False
    AGENTS = False
    CONFIG = {'DEFAULT': {'drivers': 'fip_route,provider_port'}}

    @classmethod
    def setUpClass(cls):
        # ovn-bgp-agent finds gateways by a column that OVN has since 23.06.
        with open(central.SCHEMAS['nb'], encoding='utf-8') as opened:
            schema = json.load(opened)
        schema['tables']['Logical_Router_Port']['columns']['status'] = {
            'type': {'key': 'string', 'value': 'string', 'min': 0,
                     'max': 'unlimited'}}
        # Nodes have a /tmp of their own.
        with tempfile.NamedTemporaryFile('w', dir=_TOP / 'build') as written:
            json.dump(schema, written)
            written.flush()
            central.SCHEMAS['nb'] = written.name
            super().setUpClass()

    @classmethod
    def build(cls):
        cloud, provider = cls.cloud, cls.cloud.neutron.provider
        cls.alpha = cloud.add_router('alpha', ['gw1'])
        vm, fip = cls.machine(cls.alpha)
        cls.machines = {fip.address: vm}
        for network in provider, cloud.neutron.add_provider_network(
                'tagged', _TAGGED, plan.PHYSICAL_NETWORK, _VLAN):
            vm, _none = cls.machine(network, False, 'gw1')
            cls.machines[vm.port.address] = vm
        cloud.nb.transact(lambda txn, tables: cls.of_neutron(
            txn, tables, fip))

    @classmethod
    def of_neutron(cls, txn, tables, fip):
        """What Neutron writes for a subnet with a gateway, and ovn-northd."""
        port = routers.find_one(tables, 'Logical_Router_Port',
                                name=cls.alpha.lrp)
        port.setkey('status', 'hosting-chassis', plan.system_id('gw1'))
        routers.find_one(tables, 'NAT', external_ip=fip.address
                         ).gateway_port = port.uuid
        routers.find_one(
            tables, 'Logical_Router', name=cls.alpha.row_name
            ).addvalue('static_routes', northbound.insert(
                txn, tables, 'Logical_Router_Static_Route',
                ip_prefix='0.0.0.0/0', nexthop=cls.alpha.provider.gateway,
                output_port=cls.alpha.lrp,
                external_ids={'neutron:is_ext_gw': 'true'}).uuid)
        for row in tables['NB_Global'].rows.values():
            row.setkey('external_ids', 'neutron:fip-distributed', 'False')

    def test_the_swap(self):
        node = self.cloud['gw1']
        frr.add(node, _FILTERS)
        before = self.state('gw1')
        self.start_peer(node)
        for address in self.machines:
            self.cloud.wait_announced(address, 'gw1', _PATIENCE)
        with contextlib.ExitStack() as stack:
            running = {address: stack.enter_context(
                bothways.BothWays(self.client, vm, address))
                for address, vm in self.machines.items()}

            def passed():
                for each in running.values():
                    self.passed(each)

            passed()
            self.stop_peer(node)
            passed()
            agent, = self.cloud.start_agents(self.configuration())
            passed()
            for command in _printed():
                node.run(['sh', '-ec', command])
                passed()
            reports = {address: self.finished(each)
                       for address, each in running.items()}
        for address, report in reports.items():
            base.note(f'swap: {address}: {report}')
        self.assertEqual({0}, {each.lost for each in reports.values()},
                         reports)
        self.assertIn(' 0 FAIL', agent.ctl('doctor', check=False).stdout)
        self.assertEqual(0, agent.stop())
        self.assertEqual(
            _KEPT, {line.partition('+')[2] for line in dump.difference(
                before, self.state('gw1'))})

    def start_peer(self, node):
        """Start ovn-bgp-agent; its privileged parts run by "env"."""
        node.write(_PEER, _TEXT)
        # It writes the names of routing tables, and nodes share /etc.
        node.run(['mount', '-t', 'tmpfs', 'tables', '/etc/iproute2'])
        node.write('/etc/iproute2/rt_tables',
                   '255 local\n254 main\n253 default\n')
        python = os.environ[PYTHON]
        node.spawn('peer', [python, '-P', str(_TOP / 'tools' / 'bench' /
                                              'repaired.py'),
                            '--config-file', _PEER],
                   env={**os.environ, 'PATH':
                        f'{os.path.dirname(python)}:{os.environ["PATH"]}'})

    def stop_peer(self, node):
        """End it, and its privileged parts, which outlive it."""
        node.stop('peer', signal.SIGKILL)
        for pid in node.pids():
            with (contextlib.suppress(OSError),
                  open(f'/proc/{pid:d}/cmdline', 'rb') as opened):
                if b'privsep-helper' in opened.read():
                    os.kill(pid, signal.SIGKILL)
