# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Single flows, looked up in a real Open vSwitch."""

import unittest

from ovn_network_agent.backends import base as backends
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.functional.openflow import base

DST = '198.51.100.10/32'
# Ethernet and IPv4 to that address, without anything in it.
PACKET = ('0a0000000001fa163e0000010800'
          '4500001400000000400146a70a000005c633640a')


class FlowsTest(base.FlowTestCase):

    def setUp(self):
        super().setUp()
        self.conf = configs.conf(ovs__ovs_rundir=self.ovs.rundir)

    def test_what_is_there(self):
        tweak, hairpin = base.mac_tweak(4), base.hairpin(DST)
        others = [base.hairpin(f'198.51.100.{number}/32')
                  for number in range(11, 60)]
        self.backend.apply(backends.Delta(create=(tweak, *others)))
        found = switch.read_flows(self.conf, (tweak, hairpin))
        self.assertEqual([1, 0], [len(places) for places in found.values()])
        there, = found[tweak]
        self.assertEqual((0x999, 900, 0), (there.cookie, there.priority,
                                           there.packets))
        self.assertEqual(switch.flow_spec(tweak), there.flow)
        self.assertEqual({}, switch.read_flows(self.conf, ()))

    def test_what_is_in_its_place(self):
        self.ovs.add('table=0,cookie=0x77,priority=910,in_port=3,ip,'
                     'nw_dst=198.51.100.10,actions=drop',
                     'table=0,cookie=0x0,priority=5,in_port=3,ip,'
                     'nw_dst=198.51.100.10,actions=drop')
        hairpin = base.hairpin(DST)
        found = switch.read_flows(self.conf, (hairpin,))[hairpin]
        self.assertEqual({(0x77, 910), (0, 5)},
                         {(each.cookie, each.priority) for each in found})

    def test_counters(self):
        hairpin = base.hairpin(DST)
        self.backend.apply(backends.Delta(create=(hairpin,)))
        # A packet to 198.51.100.10, as if from the integration bridge.
        self.ovs.ofctl('packet-out', base.BRIDGE,
                       f'in_port=3,packet={PACKET},actions=TABLE')
        self.assertEqual(
            1, switch.read_flows(self.conf, (hairpin,))[hairpin][0].packets)

    def test_a_switch_that_is_away(self):
        self.conf.set_override('ovs_rundir', '/nowhere', group='ovs')
        with self.assertRaisesRegex(readers.Unread, 'not running'):
            switch.read_flows(self.conf, (base.hairpin(DST),))


if __name__ == '__main__':
    unittest.main()
