# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Answers of Open vSwitch 3.1, as it has given them."""

from oslotest import base

from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.openflow import trace_text

TRACKED = '''\
Flow: icmp,in_port=LOCAL,vlan_tci=0x0000,nw_dst=198.51.100.10,icmp_type=8

bridge("br-ex")
---------------
 0. ip,nw_dst=198.51.100.0/24, priority 2003, cookie 0x7
    load:0x5->NXM_NX_REG0[]
    LOCAL
     >> skipping output to input port
    resubmit(,10)
    10. No match.
            drop
    NORMAL
     -> no learned MAC for destination, flooding

bridge("br-int")
----------------
 0. ip, priority 5, cookie 0xabc
    ct(table=1,zone=5)
    drop
     -> A clone of the packet is forked to recirculate.

Final flow: unchanged
Megaflow: recirc_id=0,eth,icmp,in_port=LOCAL,nw_dst=198.51.100.10
Datapath actions: set(ipv4(dst=1.2.3.4)),ct(zone=5),recirc(0x4)

===============================================================================
recirc(0x4) - resume conntrack with default ct_state=trk|new (use --ct-next)
===============================================================================

Flow: recirc_id=0x4,ct_state=new|trk,ct_zone=5,eth,icmp,in_port=1

bridge("br-ex")
---------------
    thaw
        Resuming from table 1
 1. ip, priority 5, cookie 0xabd
    resubmit(,2)
 2. reg0=0x2, priority 0
    output:3

Final flow: unchanged
Megaflow: recirc_id=0x4,eth,ip,in_port=1,nw_frag=no
Datapath actions: 7,clone(set(tunnel(tun_id=0x1,dst=172.30.0.2,ttl=64)),5)
'''
# What OVN does with a packet for a floating IP of a machine on another node,
# with the MTU of the gateway in OVN (Open vSwitch 3.1).
TRANSLATED = '''\
Flow: icmp,in_port=LOCAL,vlan_tci=0x0000,nw_dst=198.51.100.10,icmp_type=8

bridge("br-ex")
---------------
 0. priority 0
    NORMAL
     -> forwarding to learned port

bridge("br-int")
----------------
12. ip,nw_dst=198.51.100.10, priority 100, cookie 0x2a933b01
    ct(table=13,zone=NXM_NX_REG11[0..15],nat)
    nat
     -> A clone of the packet is forked to recirculate.

Final flow: unchanged
Megaflow: recirc_id=0,eth,icmp,in_port=LOCAL,nw_dst=198.51.100.10
Datapath actions: ct(zone=5,nat),recirc(0xa)

===============================================================================
recirc(0xa) - resume conntrack with default ct_state=trk|new (use --ct-next)
Replacing src/dst IP/ports to simulate NAT:
 Initial flow: nw_src=203.0.113.10,nw_dst=198.51.100.10
 Modified flow: nw_src=203.0.113.10,nw_dst=10.0.0.5
===============================================================================

Flow: recirc_id=0xa,ct_state=new|trk,ct_zone=5,eth,icmp,in_port=3

bridge("br-ex")
---------------
    thaw
        Resuming from table 13
39. reg15=0x2, priority 100, cookie 0x1464338c
    output:1
     -> output to kernel tunnel
    resubmit(,40)
40. priority 0
    drop

Final flow: unchanged
Megaflow: recirc_id=0xa,eth,ip,in_port=3,nw_frag=no
Datapath actions: set(ipv4(ttl=63)),check_pkt_len(size=1414,gt(userspace(\
pid=4294967295,controller(reason=1)),9),le(ct_clear,set(tunnel(tun_id=0x2,\
dst=10.10.0.21,flags(df|csum|key))),3))
'''
PORTS = '''\
netdev@ovs-netdev: hit:0 missed:0
  br-ex:
    br-ex 65534/1: (tap)
    p-ex 1/none: (patch: peer=p-int)
  br-int:
    br-int 65534/2: (tap)
    ovn-gw2-0 5/4: (geneve: csum=true, key=flow, remote_ip=172.30.0.2)
    p-int 1/none: (patch: peer=p-ex)
'''
OUTPUT = '''\
# icmp,reg14=0x1,vlan_tci=0x0000,dl_src=00:00:00:00:00:01
ingress(dp="net", inport="provnet") {
    next;
    egress(dp="net", inport="provnet", outport="vm1") {
        next;
        output;
        /* output to "vm1", type "" */;
    };
};
'''


class ParseTest(base.BaseTestCase):

    def test_the_steps(self):
        step = trace_text.Step
        found = trace_text.parse(TRACKED)
        self.assertEqual((
            step('br-ex', 0, 'ip,nw_dst=198.51.100.0/24', 2003, 7,
                 ('load:0x5->NXM_NX_REG0[]', 'LOCAL', 'resubmit(,10)',
                  'NORMAL')),
            step('br-ex', 10, actions=('drop',)),
            step('br-int', 0, 'ip', 5, 0xabc, ('ct(table=1,zone=5)', 'drop')),
            # What returns from connection tracking is where it was before.
            step('br-int', 1, 'ip', 5, 0xabd, ('resubmit(,2)',)),
            step('br-int', 2, 'reg0=0x2', 0, 0, ('output:3',))),
            found.steps)
        self.assertEqual(found.steps[:2], found.steps_in('br-ex'))
        self.assertTrue(found.steps[1].drops)

    def test_the_outputs(self):
        self.assertEqual(('7', 'tunnel to 172.30.0.2'),
                         trace_text.parse(TRACKED).outputs)

    def test_behind_a_translation(self):
        """The steps go on, and a small packet leaves."""
        found = trace_text.parse(TRANSLATED)
        self.assertEqual([('br-ex', 0), ('br-int', 12), ('br-int', 39),
                          ('br-int', 40)],
                         [(each.bridge, each.table) for each in found.steps])
        self.assertEqual([39], [each.table for each in found.steps
                                if each.sends])
        self.assertEqual(('tunnel to 10.10.0.21',), found.outputs)

    def test_no_trace(self):
        for text in ('', 'Unknown bridge name: br-ex', PORTS):
            self.assertRaises(ValueError, trace_text.parse, text)

    def test_ports(self):
        port = trace_text.Port
        self.assertEqual((
            port('br-ex', 'br-ex', 65534, '1'),
            port('p-ex', 'br-ex', 1, '', 'p-int'),
            port('br-int', 'br-int', 65534, '2'),
            port('ovn-gw2-0', 'br-int', 5, '4'),
            port('p-int', 'br-int', 1, '', 'p-ex')), trace_text.ports(PORTS))
        self.assertEqual([True, False], [
            each.is_local for each in trace_text.ports(PORTS)[:2]])


class LogicalTest(base.BaseTestCase):

    def test_an_output(self):
        self.assertEqual('ICMP reaches the port "vm1"',
                         packets.logical_verdict('ICMP', OUTPUT))

    def test_the_last_action(self):
        text = OUTPUT.replace('output;', 'drop;').replace(
            '        /* output to "vm1", type "" */;\n', '')
        self.assertEqual('ICMP reaches no port; the last action: drop;',
                         packets.logical_verdict('ICMP', text))
