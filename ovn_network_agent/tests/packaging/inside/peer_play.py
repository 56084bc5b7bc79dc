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
"""A gateway of ovn-bgp-agent becomes one of this agent, as the page says."""

import contextlib
import os
import pathlib
import re
import signal
import textwrap

from lab import bothways
from lab import dump
from lab import frr
from lab import plan
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
# What the operator has for ovn-bgp-agent: its routes are announced.
_FILTERS = f'''\
ip prefix-list OF-THE-PEER seq 5 permit {plan.PROVIDER} ge 32
route-map PROVIDER-FILTER-OUT permit 30
 match ip address prefix-list OF-THE-PEER
exit
'''
# The kernel makes the rule with the first VRF of a namespace.
_KEPT = {'1000:\tfrom all lookup [l3mdev-table]'}
_TOP = pathlib.Path(ovn_network_agent.__file__).parent.parent
_PAGE = _TOP / 'doc' / 'source' / 'admin' / 'from-ovn-bgp-agent.rst'


def _printed():
    """The commands of the page that remove what is left, for this node."""
    block = re.search(r'\n\n( +# ip link delete bgp-nic\n.*?\n)\n',
                      _PAGE.read_text(encoding='utf-8'), re.DOTALL)[1]
    text = textwrap.dedent(block).replace('64999', str(plan.GATEWAY_AS['gw1']))
    return re.findall(r'^# (.*?)(?=^# |\Z)', text, re.M | re.S)


class SwapTest(leaving.LeavingTestCase):
    """A machine on the provider network, in the default VRF."""

    GATEWAYS = 1
    METHOD = 'kernel'
    VRF = False
    AGENTS = False
    CONFIG = {'DEFAULT': {'drivers': 'provider_port'}}

    @classmethod
    def build(cls):
        cls.vm, _none = cls.machine(cls.cloud.neutron.provider, False, 'gw1')
        cls.address = cls.vm.port.address

    def test_the_swap(self):
        node = self.cloud['gw1']
        frr.add(node, _FILTERS)
        before = self.state('gw1')
        self.start_peer(node)
        self.cloud.wait_announced(self.address, 'gw1', _PATIENCE)
        with bothways.BothWays(self.client, self.vm, self.address) as running:
            self.passed(running)
            self.stop_peer(node)
            self.passed(running)
            agent, = self.cloud.start_agents(self.configuration())
            self.passed(running)
            for command in _printed():
                node.run(['sh', '-ec', command])
                self.passed(running)
            report = self.finished(running)
        base.note(f'swap: {report}')
        self.assertEqual(0, report.lost, str(report))
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
