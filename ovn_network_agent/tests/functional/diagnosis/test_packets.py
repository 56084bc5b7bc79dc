# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Flows of other programs in a real Open vSwitch, and what is said of them."""

import re
import shlex

from ovn_network_agent import diagnosis
from ovn_network_agent import model
from ovn_network_agent.backends import base as backends
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import forwarding
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.tests import configs
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.openflow import base

ADDRESS, CLIENT = '198.51.100.10', '203.0.113.10'
ADDRESS6, CLIENT6 = '2001:db8:100::10', '2001:db8:c::10'
PATCH, VM = 3, 9
_QUOTED = re.compile(r'"([^"]+)"')
_OF = f'nw_dst={ADDRESS}'
Verdict = diagnosis.Verdict


class PacketsTestCase(base.FlowTestCase):
    """br-ex is patched to an integration bridge with one machine."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ovs.vsctl(
            '--no-wait', 'add-br', 'br-int', '--', 'set', 'bridge', 'br-int',
            'datapath_type=netdev', 'fail_mode=secure', '--',
            'add-port', base.BRIDGE, 'ex-int', '--', 'set', 'interface',
            'ex-int', 'type=patch', 'options:peer=int-ex',
            f'ofport_request={PATCH}', '--', 'add-port', 'br-int', 'int-ex',
            '--', 'set', 'interface', 'int-ex', 'type=patch',
            'options:peer=ex-int', 'ofport_request=4', '--', 'add-port',
            'br-int', 'tap1', '--', 'set', 'interface', 'tap1',
            'type=internal', f'ofport_request={VM}')
        conf = configs.conf(ovs__ovs_rundir=cls.ovs.rundir)
        waiting.eventually(lambda: {'ex-int', 'int-ex', 'tap1'} <= {
            port.name for port in packets.ports(conf)}, 'its ports', 10)
        cls.ovs.run('ovs-ofctl', 'add-flow', 'br-int',
                    f'priority=5,cookie=0xabc,in_port=4,actions={VM}')

    def setUp(self):
        super().setUp()
        self.conf = configs.conf(ovs__ovs_rundir=self.ovs.rundir)
        self.ovs.add('table=0,priority=0,actions=NORMAL')
        self.backend.apply(backends.Delta(create=(
            base.mac_tweak(4, PATCH, self.mac),
            base.mac_tweak(6, PATCH, self.mac),
            base.hairpin(f'{ADDRESS}/32', PATCH),
            base.hairpin(f'{ADDRESS6}/128', PATCH))))

    @property
    def mac(self):
        return self.ovs.vsctl('get', 'interface', base.BRIDGE,
                              'mac_in_use').strip().strip('"')

    def facts(self, vlan=0, address=ADDRESS, client=CLIENT):
        """The facts of an address, of which only the flows were read."""
        port = model.GatewayPort('lrp-1', base.LRP_MAC, (), 'chassis', True,
                                 model.Segment('', 'provnet', 'physnet1', vlan,
                                               base.BRIDGE, base.BRIDGE,
                                               self.mac, PATCH))
        known = facts.Facts(
            facts.Setup(client=client),
            subject.Subject(address, subject.Kind.FIP, port=port))
        return known._replace(packet_traces=packets.read(
            self.conf, known.setup, known.subject))

    def judged(self, **of):
        """The :class:`diagnosis.Finding` about the flows of others."""
        return forwarding.other_flows(self.facts(**of))

    def shown(self):
        """All flows with their counters, and the learned MACs."""
        shown = self.ovs.ofctl('dump-flows', base.BRIDGE)
        return (re.sub(r'duration=[0-9.]+s, ', '', shown),
                self.ovs.appctl('fdb/show', base.BRIDGE))


class PacketsTest(PacketsTestCase):

    def test_nothing_is_disturbed(self):
        before = self.shown()
        found = self.judged()
        self.assertIs(Verdict.OK, found.verdict, found)
        self.assertEqual(before, self.shown())

    def test_each_packet_arrives(self):
        found = self.facts().packet_traces
        self.assertEqual(8, len(found))
        self.assertEqual([], [each.packet.name for each in found
                              if not each.arrives])

    def test_packets_of_a_vlan_have_its_tag(self):
        self.ovs.add('priority=60000,vlan_tci=0x0000/0x1fff,actions=drop')
        for vlan, lost in ((101, 0), (0, 8)):
            self.assertEqual(lost, len([
                each for each in self.facts(vlan).packet_traces
                if not each.arrives]))

    def test_an_address_of_ipv6(self):
        of = {'address': ADDRESS6, 'client': CLIENT6}
        self.assertEqual([], [
            each.packet.name for each in self.facts(**of).packet_traces
            if not each.arrives])
        for match, words in (
                (f'ipv6,ipv6_dst={ADDRESS6}', f'drops ICMP to {ADDRESS6}'),
                (f'tcp6,ipv6_src={ADDRESS6}', f'drops TCP from {ADDRESS6}'),
                (f'icmp6,icmpv6_type=135,icmpv6_code=0,nd_target={ADDRESS6}',
                 'drops neighbour solicitation for'),
                ('icmp6,icmpv6_type=136,in_port=3',
                 'drops neighbour advertisement of')):
            self.ovs.add(f'cookie=0x7,priority=60000,{match},actions=drop')
            found = self.judged(**of)
            self.assertIs(Verdict.BROKEN, found.verdict, (match, found))
            self.assertIn(words, found.evidence)
            self.assertIs(Verdict.OK, self.judged().verdict)
            command, = [text for text in _QUOTED.findall(found.remedy)]
            self.ovs.run(*shlex.split(command))
            self.assertIs(Verdict.OK, self.judged(**of).verdict, command)

    def test_a_flow_is_named_and_its_remedy_removes_it(self):
        for flow, words in (
                (f'cookie=0x7,priority=2000,ip,{_OF},actions=drop',
                 f'cookie 0x7 priority 2000 ip,{_OF}: drops ICMP to'),
                (f'cookie=0x7,priority=2000,udp,{_OF},actions=drop',
                 f'drops UDP to {ADDRESS}'),
                ('priority=901,ip,nw_src=198.51.100.0/24,in_port=3,'
                 'actions=drop', f'drops ICMP from {ADDRESS}'),
                (f'cookie=0x8,priority=60000,arp,arp_tpa={ADDRESS},'
                 'actions=drop', 'drops ARP request'),
                ('cookie=0x8,priority=60000,arp,in_port=3,actions=drop',
                 'drops ARP reply'),
                (f'cookie=0x9,priority=5,ip,{_OF},in_port=LOCAL,'
                 'actions=resubmit(,10)', r'diverts \(resubmit\(,10\)\)'),
                (f'cookie=0x9,priority=5,ip,{_OF},actions=controller',
                 r'diverts \(CONTROLLER'),
                ('cookie=0x9,priority=5,actions=drop',
                 r'priority 5 \(all packets\): drops ARP request')):
            self.ovs.add(flow)
            before = self.ovs.flows()
            found = self.judged()
            self.assertIs(Verdict.BROKEN, found.verdict, (flow, found))
            self.assertRegex(found.evidence, f'^{base.BRIDGE} table 0, .*'
                                             f'{words}', flow)
            self.type_in(found.remedy)
            self.assertEqual(1, len(before - self.ovs.flows()), flow)
            self.assertIs(Verdict.OK, self.judged().verdict, flow)

    def type_in(self, remedy):
        """The commands of a remedy, word by word."""
        for command in _QUOTED.findall(remedy):
            self.ovs.run(*shlex.split(command))

    def test_two_programs(self):
        self.ovs.add(
            f'cookie=0x7,priority=2000,tcp,{_OF},actions=drop',
            f'cookie=0x8,priority=2000,arp,arp_tpa={ADDRESS},actions=drop')
        found = self.judged()
        self.assertIn('cookie 0x7', found.evidence)
        self.assertIn('cookie 0x8', found.evidence)
        self.type_in(found.remedy)
        self.assertIs(Verdict.OK, self.judged().verdict)

    def test_a_table_of_another_program(self):
        """The flow that drops is named, not the flow that led there."""
        self.ovs.add('cookie=0x7,priority=2000,ip,actions=resubmit(,10)',
                     f'table=10,cookie=0x8,priority=3,ip,{_OF},actions=drop',
                     'table=10,cookie=0x8,priority=1,actions=NORMAL')
        found = self.judged()
        self.assertRegex(found.evidence, '^br-ex table 10, cookie 0x8 '
                                         'priority 3')
        self.type_in(found.remedy)
        self.assertIs(Verdict.OK, self.judged().verdict)

    def test_flows_that_do_no_harm(self):
        self.ovs.add(
            'cookie=0x7,priority=2000,ip,nw_dst=198.51.100.99,actions=drop',
            'cookie=0x7,priority=3,ip,in_port=3,actions=drop',
            f'cookie=0x7,priority=2001,ip,{_OF},actions=output:3',
            f'cookie=0x7,priority=2001,ip,nw_src={ADDRESS},actions=LOCAL')
        found = self.judged()
        self.assertIs(Verdict.OK, found.verdict, found)

    def test_connection_tracking_decides_about_real_packets(self):
        """A simulated packet has no connection, so nothing is called broken.
        """
        self.ovs.add(
            f'cookie=0x7,priority=2000,ip,{_OF},ct_state=-trk,'
            'actions=ct(table=10)',
            'table=10,cookie=0x7,priority=2,ip,ct_state=+est,actions=NORMAL',
            'table=10,cookie=0x7,priority=1,actions=drop')
        found = self.judged()
        self.assertIs(Verdict.WARN, found.verdict, found)
        self.assertIn('connection tracking', found.evidence)
        self.ovs.add('table=10,cookie=0x7,priority=3,ip,ct_state=+new,'
                     'actions=NORMAL')
        self.assertIs(Verdict.OK, self.judged().verdict)

    def test_a_bridge_without_its_default_flow(self):
        self.ovs.ofctl('--strict', 'del-flows', base.BRIDGE, 'priority=0')
        found = self.judged()
        self.assertIs(Verdict.BROKEN, found.verdict, found)
        self.assertIn('has no flow for ARP request', found.evidence)
        self.type_in(found.remedy)
        self.assertIs(Verdict.OK, self.judged().verdict)

    def test_a_switch_that_is_away(self):
        self.conf.set_override('ovs_rundir', '/nowhere', group='ovs')
        with self.assertRaisesRegex(readers.Unread, 'no control socket'):
            self.facts()

    def test_the_socket_of_a_former_process(self):
        with open(f'{self.ovs.rundir}/ovs-vswitchd.1.ctl', 'w'):
            self.assertEqual(8, len(self.facts().packet_traces))


class FateTest(PacketsTestCase):
    """The one line of a trace of Open vSwitch."""

    def text(self, inward):
        known = self.facts()
        packet = next(each for each in packets.both_ways(
            'icmp', ADDRESS, CLIENT, known.subject.port.segment,
            base.LRP_MAC) if each.inward is inward)
        return packets.describe(packets.PacketTrace(
            packet, base.BRIDGE, PATCH, packets.parsed(packets.trace(
                self.conf, base.BRIDGE, packet.flow)),
            packets.ports(self.conf)))

    def test_both_ways(self):
        self.assertEqual(
            f'ICMP to {ADDRESS} reaches OVN; sent to tap1 by: br-int table '
            '0, cookie 0xabc priority 5 in_port=4', self.text(True))
        self.assertEqual(
            f'ICMP from {ADDRESS} reaches the kernel through br-ex; sent to '
            'br-ex by: br-ex table 0, cookie 0x999 priority 900 ip,in_port=3',
            self.text(False))

    def test_behind_connection_tracking(self):
        """As OVN translates an address, and asks for the length."""
        for flow in (
                'priority=6,ip,in_port=4,actions=ct(table=10,zone=5,nat)',
                'table=10,ip,actions=ct(commit,table=11,zone=5,'
                'nat(dst=10.0.0.5))',
                'table=11,actions=check_pkt_larger(1414)->NXM_NX_REG0[0],'
                'resubmit(,12)',
                'table=12,priority=2,reg0=1,actions=drop',
                f'table=12,priority=1,actions=output:{VM},resubmit(,13)',
                'table=13,actions=drop'):
            self.ovs.run('ovs-ofctl', 'add-flow', 'br-int',
                         'cookie=0x6,' + flow)
        self.addCleanup(self.ovs.run, 'ovs-ofctl', 'del-flows', 'br-int',
                        'cookie=0x6/-1')
        self.assertEqual(
            f'ICMP to {ADDRESS} reaches OVN; sent to tap1 by: br-int table '
            '12, cookie 0x6 priority 1 (all packets)', self.text(True))
        self.ovs.run('ovs-ofctl', 'del-flows', 'br-int', 'table=12')
        self.ovs.run('ovs-ofctl', 'add-flow', 'br-int',
                     'cookie=0x6,table=12,actions=controller')
        self.assertEqual(
            f'ICMP to {ADDRESS} reaches OVN; the simulation ends in OVN, '
            'without a drop; the last flow: br-int table 12, cookie 0x6 '
            'priority 32768 (all packets)', self.text(True))

    def test_dropped(self):
        self.ovs.add(f'cookie=0x7,priority=2000,ip,{_OF},actions=drop')
        self.assertEqual(
            f'ICMP to {ADDRESS} does not reach OVN; dropped by: br-ex table '
            f'0, cookie 0x7 priority 2000 ip,{_OF}', self.text(True))
        self.ovs.run('ovs-ofctl', 'add-flow', 'br-int',
                     f'cookie=0x6,priority=6,ip,{_OF},actions=drop')
        self.addCleanup(self.ovs.run, 'ovs-ofctl', 'del-flows', 'br-int',
                        'cookie=0x6/-1')
        self.ovs.ofctl('del-flows', base.BRIDGE, 'cookie=0x7/-1')
        self.assertRegex(self.text(True), 'reaches OVN; dropped by: br-int '
                         'table 0, cookie 0x6 priority 6 ip')
