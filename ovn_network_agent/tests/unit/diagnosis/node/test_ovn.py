# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent.diagnosis.node import ovn
from ovn_network_agent.ovn.chassis import own_chassis
from ovn_network_agent.tests.unit.diagnosis.node import base


def chassis(**changed):
    return ovn.Chassis('c1', 'gw1', 'ovn-cms-options',
                       ('enable-chassis-as-gw', 'x'), ('br-ex',),
                       'ovn-bridge-mappings', (('physnet1', 'br-ex'),),
                       frozenset(('br-ex', 'br-int')))._replace(**changed)


class OvnTest(base.JudgeTestCase):

    def test_reach(self):
        good = ovn.Connection('OVN_Northbound', 'tcp:192.0.2.1:6641', '')
        self.judged_each(
            ovn.judge_connection, (good, base.OK),
            (good._replace(failure='no route'), base.BROKEN, 'no route',
             '192.0.2.1'))

    def test_the_local_socket(self):
        """No firewall stands there, and the reason names the remedy."""
        for reason, word in (
                ('No such file or directory', 'in a container mount /run/x '),
                ('Connection refused', 'restart openvswitch-switch'),
                ('Permission denied', 'AppArmor or SELinux')):
            said = self.judged(ovn.judge_connection, ovn.Connection(
                'Open_vSwitch', 'unix:/run/x/db.sock', reason), base.BROKEN)
            self.assertIn(word, said)
            self.assertNotIn('firewall', said)

    def test_a_good_chassis(self):
        for judge in (ovn.judge_chassis, ovn.judge_gateway,
                      ovn.judge_mappings):
            self.judged(judge, chassis(), base.OK)

    def test_names_of_the_chassis(self):
        self.judged_each(
            ovn.judge_chassis,
            (chassis(own=own_chassis.OwnChassis(
                'c1', 'no chassis c1', 'delete c2')), base.BROKEN,
             'no chassis c1', 'delete c2'),
            (chassis(namesakes=('c2 (192.0.2.2)',)), base.WARN,
             'also that of chassis c2 (192.0.2.2)',
             'external_ids:hostname=NAME'))

    def test_gateways(self):
        """Drivers of a gateway node, and those of a compute node."""
        key = 'ovn-cms-options-c1'
        # A command would take the other words away.
        others = chassis(options=('x', 'enable-chassis'))
        self.judged_each(
            ovn.judge_gateway,
            (chassis(key=key, options=()), base.BROKEN,
             f'external_ids:{key}=enable-chassis-as-gw"'),
            (chassis(options=()), base.BROKEN,
             'on a compute node take gateway_drain out '),
            (chassis(options=(), gateway=False), base.OK, 'a compute node'),
            (chassis(gateway=False), base.WARN, 'lacks gateway_drain'),
            (others, base.BROKEN, '"x,enable-chassis"',
             'append ",enable-chassis-as-gw"'))
        self.assertNotIn('ovs-vsctl', self.judged(
            ovn.judge_gateway, others, base.BROKEN))

    def test_what_is_a_flaw(self):
        for text, said in (
                ('', ''), ('a:b', ''), ('a:b,c:d,', ''),
                ('a:b, c:d', 'space'), ('c: d', 'space'),
                ('a:b,c,d:e', '"c" is no NETWORK:BRIDGE'),
                ('a:b,,d:e', '"" is no NETWORK:BRIDGE')):
            found = ovn.flaw(text)
            self.assertIn(said, found)
            self.assertEqual(bool(said), bool(found))

    def test_mappings(self):
        self.judged_each(ovn.judge_mappings, *(
            (chassis(**values), base.BROKEN, *words) for values, *words in (
                ({'mappings': ()}, 'names nothing'),
                ({'mappings': (('physnet1', 'br-x'),)}, 'physnet1:br-x'),
                ({'mappings': (), 'mapped_by': 'ovn-bridge-mappings-c1'},
                 'external_ids:ovn-bridge-mappings-c1='),
                ({'bridges': frozenset()}, 'no bridge br-ex'),
                ({'served': ('br-ex', 'br-two')},
                 '[DEFAULT] further_bridges = br-two',
                 '=physnet1:br-ex,PHYSICAL-NETWORK:br-two'),
                ({'mappings': ((' physnet1', 'br-ex'), ('b', 'br-b ')),
                  'flaw': 'ovn-controller takes the space for'},
                 '=physnet1:br-ex,b:br-b"'))))
        self.assertNotIn('"ovs-vsctl', self.judged(
            ovn.judge_mappings, chassis(flaw='"x" is no NETWORK:BRIDGE'),
            base.BROKEN))

    def test_the_controller(self):
        self.judged_each(ovn.judge_controller, *(
            (ovn.Controller(*facts), *said) for facts, *said in (
                (('running', 'connected', False), base.OK, 'running'),
                (('',), base.BROKEN, 'does not run'),
                (('paused', 'connected', False), base.BROKEN, 'resume'),
                (('paused', 'connected', True), base.WARN, 'overlap'),
                (('running', 'not connected', False), base.BROKEN,
                 'not connected'),
                (('', '', False, 'timed out'), base.BROKEN,
                 'does not answer: timed out'))))
