# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Doctor and the rules and flows of other programs.

The databases, the kernel and Open vSwitch are real.
"""

import os
import subprocess

from ovn_network_agent.privileged.network import channel
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.openflow import base as openflow
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud

FIP = '198.51.100.10'
NETWORK = '198.51.100.0/24'
# Of the patch port, as the cloud has it.
PATCH = 3


class OthersTestCase(doctor.Looks, base.OvsdbTestCase):
    """With a router, of which this node is only the second candidate."""

    def setUp(self):
        super().setUp()
        self.in_this_process()
        self.conf = self.of_databases(frr__vrf_name='vrf-provider')
        self.cloud.add_router('r1', chassis=cloud.OTHER)
        self.cloud.add_nat('r1', FIP)


class RulesTest(OthersTestCase):

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.new())
        # An agent in this process, of a test before, has one elsewhere.
        channel.close()
        self.addCleanup(channel.close)
        self.ip('link set lo up')
        self.ip('route add 10.9.0.0/16 dev lo table 77')

    def ip(self, command):
        subprocess.run(['ip', *command.split()], check=True)

    def test_the_order_of_the_rules(self):
        self.looked('rule-order', doctor.OK)
        for rule, verdict in (
                (f'priority 1500 from {FIP} lookup 77', doctor.WARN),
                (f'priority 1500 to {NETWORK} blackhole', doctor.BROKEN),
                (f'priority 1500 from {FIP} ipproto tcp prohibit',
                 doctor.WARN),
                (f'priority 1500 from {FIP} lookup 78', doctor.OK),
                (f'priority 1500 to {FIP} lookup 77', doctor.OK),
                (f'priority 1500 from {FIP} iif {cloud.BRIDGE} lookup 77',
                 doctor.WARN),
                (f'priority 1500 from {FIP} iif eth9 lookup 77', doctor.OK),
                (f'priority 2500 from {FIP} lookup 77', doctor.OK),
                ('priority 1500 from 192.0.2.7 lookup 77', doctor.OK),
                ('priority 1500 lookup 78', doctor.OK)):
            self.ip('rule add ' + rule)
            said = self.looked('rule-order', verdict)
            if verdict is not doctor.OK:
                self.assertIn('"priority 1500 ', said)
            self.ip('rule del ' + rule)
        self.ip('rule add priority 1500 lookup 77')
        # As the daemon of a VPN has it: some networks alone.
        said = self.looked('rule-order', doctor.WARN)
        self.assertIn('"priority 1500 lookup 77"', said)
        self.assertIn(' to 10.9.0.0/16', said)
        self.ip('route add unreachable default table 77')
        self.assertNotIn(' to 10.9.0.0/16',
                         self.looked('rule-order', doctor.WARN))

    def test_the_command_of_the_remedy(self):
        """It removes the rule that is named, and no other."""
        self.ip(f'rule add priority 1500 from {FIP} lookup 77')
        self.ip('rule add priority 1500 from 192.0.2.7 lookup 77')
        command = doctor.command(self.conf, 'rule-order', 'ip rule del ')
        self.ip(command.removeprefix('ip '))
        self.looked('rule-order', doctor.OK)
        self.assertIn('192.0.2.7', subprocess.run(
            ['ip', 'rule'], check=True, capture_output=True,
            text=True).stdout)


    def nft(self, *words):
        subprocess.run(['nft', ' '.join(words)], check=True)

    def test_filters_in_nftables(self):
        self.looked('packet-filters', doctor.OK)
        self.nft('add table inet guard;',
                 'add chain inet guard transit',
                 '{ type filter hook forward priority -10; }')
        for rule, verdict in (
                (f'ip daddr {FIP} drop', doctor.WARN),
                (f'ip saddr {NETWORK} drop', doctor.BROKEN),
                (f'ip saddr {NETWORK} tcp dport 25 drop', doctor.WARN),
                ('ip saddr 192.0.2.0/24 drop', doctor.OK)):
            self.nft('flush chain inet guard transit;',
                     f'add rule inet guard transit {rule}')
            said = self.looked('packet-filters', verdict)
            if verdict is not doctor.OK:
                self.assertIn('chain "inet guard transit"', said)


@openflow.needs_open_vswitch
class FlowsTest(OthersTestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.switch = openflow.OpenVSwitch()
        cls.addClassCleanup(cls.switch.stop)
        # The bridge of the cloud has the name of a device that is everywhere.
        os.symlink(f'{openflow.BRIDGE}.mgmt', os.path.join(
            cls.switch.rundir, f'{cloud.BRIDGE}.mgmt'))

    def setUp(self):
        super().setUp()
        self.conf.set_override('ovs_rundir', self.switch.rundir, 'ovs')
        self.switch.ofctl('del-flows', openflow.BRIDGE)

    def test_flows_that_drop(self):
        port = PATCH
        for flow, verdict in (
                (f'priority=1000,ip,nw_src={FIP}', doctor.WARN),
                (f'priority=1000,in_port={port},ip,nw_src={NETWORK}',
                 doctor.BROKEN),
                (f'priority=5,in_port=LOCAL,ip,nw_dst={FIP}', doctor.WARN),
                (f'priority=1000,tcp,nw_src={FIP},tp_dst=25', doctor.WARN),
                (f'priority=1000,arp,arp_tpa={FIP}', doctor.WARN),
                ('priority=1000', doctor.BROKEN),
                (f'priority=500,in_port={port},ip,nw_src={FIP}', doctor.OK),
                (f'priority=1000,in_port=77,ip,nw_src={FIP}', doctor.OK),
                ('priority=1000,ip,nw_src=192.0.2.7', doctor.OK),
                ('priority=1000,ip,nw_src=198.51.100.8/255.255.0.255',
                 doctor.OK),
                ('priority=1000,ipv6', doctor.OK),
                ('table=1,priority=1000', doctor.OK)):
            self.switch.add(f'cookie=0x5,{flow},actions=drop')
            self.looked('dropping-flows', verdict)
            self.switch.ofctl('del-flows', openflow.BRIDGE)
        self.switch.add(f'priority=1000,ip,nw_src={FIP},actions=normal')
        self.looked('dropping-flows', doctor.OK)

    def test_the_command_of_the_remedy(self):
        kept = f'priority=1000,ip,nw_dst={FIP},actions=normal'
        self.switch.add(
            f'cookie=0x5,priority=1000,in_port=LOCAL,ip,nw_dst={FIP},'
            'actions=drop', f'cookie=0x5,{kept}')
        command = doctor.command(self.conf, 'dropping-flows', 'ovs-ofctl ')
        self.switch.ofctl(*command.split()[1:])
        self.looked('dropping-flows', doctor.OK)
        self.assertEqual(1, len(self.switch.flows()))

    def test_a_switch_that_is_away(self):
        self.conf.set_override('ovs_rundir', '/nowhere', 'ovs')
        self.looked('dropping-flows', doctor.NOT_CHECKED)
