# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The judges of EVPN; the real systems are in the lab's tests."""

from ovn_network_agent.diagnosis.node.bgp import evpn
from ovn_network_agent.diagnosis.readers import evpn as readers
from ovn_network_agent.frr import evpn as frr
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.tests.unit.diagnosis.node import base

Hop = vni_links.Hop
MAC = '06:6f:00:00:00:01'
ANCHORS = ('100.64.0.1/32', 'fd53::1/128')


class EvpnTest(base.JudgeTestCase):

    def test_the_address_of_tunnels(self):
        self.judged_each(evpn.judge_local, *(
            (evpn.Local(**{'address': '192.0.2.11', 'device': 'lo',
                           **values}), *said) for values, *said in (
                ({}, base.OK, '192.0.2.11 on lo, UDP port 4789'),
                ({'domain': 'vrf-provider', 'vrf': 'vrf-provider'}, base.OK),
                ({'device': '', 'vrf': 'vrf-provider'}, base.BROKEN,
                 '"ip address add 192.0.2.11/32 dev DEVICE", with a device of '
                 'VRF vrf-provider'),
                ({'address': '', 'wanted': 'eth7'}, base.BROKEN,
                 '"ip address add ADDRESS/32 dev eth7"'),
                ({'up': False}, base.BROKEN, '"ip link set lo up"'),
                ({'vrf': 'vrf-provider'}, base.BROKEN, 'on lo in the default '
                 'VRF, and the tunnels are in VRF vrf-provider'),
                ({'port_device': 'vxlan_sys_4789'}, base.BROKEN,
                 'UDP port 4789 (vxlan_sys_4789)', '[evpn] udp_dstport'))))

    def test_sizes(self):
        self.judged_each(
            evpn.judge_sizes, (evpn.Sizes(1500, {}), base.NOT_CHECKED),
            (evpn.Sizes(1500, {'eth1': 9000}), base.OK,
             'eth1 9000 bytes; tunnels need 1500'),
            (evpn.Sizes(1500, {'eth1': 1400, 'eth2': 1500}), base.BROKEN,
             'set [evpn] underlay_mtu to 1400'))

    def test_lines_of_the_operator(self):
        self.judged_each(
            evpn.judge_instance, ([], base.OK),
            (frr.lacks(['router bgp 65011', ' address-family l2vpn evpn',
                        '  neighbor 10.0.0.1 activate',
                        ' exit-address-family'], ''), base.BROKEN,
             'in "configure terminal" of vtysh, add "router bgp 65011" / '
             '"address-family l2vpn evpn" / "advertise-all-vni"'),
            (frr.lacks([], 'vrf-provider'), base.BROKEN))

    def test_sessions(self):
        up = readers.Session('172.31.1.1', 'Established', 5, 8)
        down = readers.Session('172.31.1.5', 'Idle')
        self.judged_each(
            evpn.judge_sessions, ((), base.NOT_CHECKED),
            ((up,), base.OK, '172.31.1.1: 8 routes sent, 5 received'),
            ((up, down), (base.WARN, base.OK)), ((down,), base.BROKEN))


class VnisTest(base.JudgeTestCase):

    def judge(self, *verdicts, **values):
        return self.judged(evpn.judge_vnis, evpn.Vnis(**{
            'problems': (), 'wanted': (1001,), 'mac': MAC,
            'anchors': ANCHORS,
            'states': {1001: frr.State(1001, 'vrf-1001', True, MAC)},
            'rds': {1001: '192.0.2.11:1001'},
            'sent': {1001: dict.fromkeys(ANCHORS, ('172.31.1.1',))},
            **values}), *verdicts)

    def test_all_is_well(self):
        self.assertIn('1 VNI is up', self.judge(base.OK))
        self.assertIn('no network', self.judge(base.OK, wanted=()))

    def test_each_fault(self):
        for values, text in (
                ({'states': {}}, 'zebra does not have it'),
                ({'states': {1001: frr.State(1001, 'red', True, MAC)}},
                 'zebra does not have it'),
                ({'states': {1001: frr.State(1001, 'vrf-1001', False, MAC)}},
                 'down in zebra'),
                ({'states': {1001: frr.State(1001, 'vrf-1001', True,
                                             'None')}}, 'not 06:6f:'),
                ({'rds': {}, 'sent': {}}, 'bgpd does not have it'),
                ({'sent': {1001: {}}}, '100.64.0.1/32, fd53::1/128'),
                ({'sent': {1001: dict.fromkeys(ANCHORS, ())}},
                 'to no neighbour')):
            self.assertIn(text, self.judge(base.BROKEN, **values))

    def test_many_of_one_fault(self):
        said = self.judge(base.BROKEN, wanted=range(1, 200), states={})
        self.assertIn('VNI 1, 2, 3 and 196 more: zebra', said)

    def test_a_vni_that_cannot_be_used(self):
        self.assertIn('network red is left out: 0 is none use another',
                      self.judge(base.WARN, problems=(
                          ('red', '0 is none; use another'),)))


class HopsTest(base.JudgeTestCase):

    def test_hops(self):
        one = Hop(1001, '192.0.2.12')
        lost = one._replace(lacks='neighbour')
        self.judged_each(
            evpn.judge_hops, ((), base.OK, '0 next hops'),
            ((one, one._replace(via='192.0.2.13')), base.OK,
             '2 next hops of 1 VNI'),
            ((lost, lost._replace(vni=1002, lacks='tunnel'),
              Hop(1003, '192.0.2.12')), (base.BROKEN, base.BROKEN),
             'VNI 1001: packets to 192.0.2.12 (no neighbour) are lost "ip '
             'link set br-1001 down"', '"ip link set br-1002 up"'))
