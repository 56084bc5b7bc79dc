# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import io

from oslotest import base

from ovn_network_agent.ctl import intents

PLACE = {'router': 'u', 'router_name': 'web', 'port': '', 'chassis': '',
         'family': 4, 'address': '198.51.100.9', 'why': '',
         'rows': 'in place', 'rows_why': ''}
MACHINE = {'port': 'p1', 'address': '10.0.1.5', 'router': 'u',
           'leaves_with': ['198.51.100.9'], 'why': ''}
SHOP = {'name': 'shop', 'mode': 'router', 'addresses': ['198.51.100.9'],
        'destinations': [], 'why': '', 'problems': [], 'places': [PLACE],
        'machines': [MACHINE]}
#: as the agent answers
ANSWER = {'chassis': 'n1', 'lock': 'held', 'egress_ips': [SHOP], 'node': []}


class TextTest(base.BaseTestCase):

    def text(self, of_machines=False, node=(), **values):
        return intents.of_egress({**ANSWER, 'egress_ips': [{**SHOP, **values}],
                                  'node': node}, io.StringIO(), of_machines)

    def test_nothing(self):
        self.assertEqual('no egress addresses\n', intents.of_egress(
            {**ANSWER, 'egress_ips': []}, io.StringIO()))

    def test_what_is_left_of_a_former_object(self):
        shown = intents.of_egress({**ANSWER, 'egress_ips': [], 'node': [
            {'kind': 'egress_address', 'ref': 'eth1', 'state': 'failed',
             'reason': 'EPERM'}]}, io.StringIO())
        self.assertEqual('no egress addresses\n'
                         'egress_address eth1: failed EPERM\n', shown)

    def test_places(self):
        none = {**PLACE, 'address': '', 'router_name': 'db', 'rows': '',
                'why': 'none is free'}
        _head, first, second, _blank, problem, node, writer = self.text(
            places=[PLACE, none], problems=['nobody has port x'], node=[
                {'kind': 'egress_source', 'ref': 'r', 'state': 'refused',
                 'reason': 'nft'}]).splitlines()
        self.assertEqual('shop router 198.51.100.9 web - - 1 in place',
                         ' '.join(first.split()))
        self.assertEqual('shop router - db - - 0 - none is free',
                         ' '.join(second.split()))
        self.assertEqual('shop: nobody has port x', problem)
        self.assertEqual('egress_source r: refused nft', node)
        self.assertIn('this agent writes the rows', writer)

    def test_an_object_without_machines(self):
        self.assertIn('it has no machines', self.text(places=[], machines=()))
        self.assertIn('no such name', self.text(places=[], why='no such name'))

    def test_machines(self):
        shown = self.text(True, machines=[MACHINE, {
            **MACHINE, 'address': '10.0.1.6', 'leaves_with': [],
            'why': 'it has a floating IP'}])
        self.assertIn('10.0.1.5 p1 shop 198.51.100.9', ' '.join(shown.split()))
        self.assertIn('10.0.1.6 p1 shop - it has a floating IP', ' '.join(
            shown.split()))
