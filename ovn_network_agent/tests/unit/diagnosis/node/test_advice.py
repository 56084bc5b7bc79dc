# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""Advice of doctor, and the lines for another announce method."""

import dataclasses

from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.diagnosis.node.bgp import frr
from ovn_network_agent.diagnosis.node.bgp import method
from ovn_network_agent.tests.unit.diagnosis.node import base


class AnnouncedTest(base.JudgeTestCase):

    def test_many_static_routes_are_no_fault(self):
        few = frr.Announced('static', frr_static.MANY)
        self.judged(frr.judge_announced, few, base.OK)
        said = self.judged(frr.judge_announced, dataclasses.replace(
            few, count=frr_static.MANY + 1), base.WARN)
        self.assertIn(str(frr_static.MANY + 1), said)
        self.judged(frr.judge_announced, frr.Announced('kernel', 0), base.OK)


class LinesTest(base.JudgeTestCase):

    def test_static_routes_need_no_filter(self):
        self.assertEqual(
            ('configure terminal', 'router bgp 65001 vrf blue',
             ' address-family ipv4 unicast', '  redistribute static',
             ' exit-address-family', 'end'),
            method.lines('65001', 'blue', 'static', {4: ()}))

    def test_the_default_route_of_the_kernel_is_kept_back_first(self):
        lines = method.lines('65001', '', 'kernel', {4: (), 6: ()})
        begin = lines.index('router bgp 65001')
        for family, name, default in ((4, 'KERNEL', '0.0.0.0/0'),
                                      (6, 'KERNEL6', '::/0')):
            denied = lines.index(f'route-map {name} deny 10')
            self.assertIn(default, lines[denied - 1])
            self.assertLess(denied, begin)
            self.assertLess(begin, lines.index(
                f'  redistribute kernel route-map {name}'))
            self.assertIn(f' address-family ipv{family} unicast', lines)
