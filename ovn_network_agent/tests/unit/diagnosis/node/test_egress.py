# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent.diagnosis.node import tenants
from ovn_network_agent.tests.unit.ctl import test_egress as answers
from ovn_network_agent.tests.unit.diagnosis.node import base


class EgressTest(base.JudgeTestCase):

    def said(self, *verdicts, place=(), lock='held', node=(), **values):
        return self.judged(tenants.judge_egress, {
            **answers.ANSWER, 'lock': lock, 'node': node, 'egress_ips': [{
                **answers.SHOP, 'places': [{**answers.PLACE, **dict(place)}],
                **values}]}, *verdicts)

    def test_all_is_well(self):
        self.assertIn('1 object for 1 address of machines; this agent '
                      'writes', self.said(base.OK))

    def test_places_without_an_address(self):
        self.assertIn('shop at router web: none is free', self.said(
            base.WARN, place={'address': '', 'why': 'none is free'}))

    def test_objects_with_a_problem(self):
        self.assertIn('shop: no such name', self.said(
            base.WARN, why='no such name'))
        self.assertIn('shop: no port x', self.said(
            base.WARN, problems=['no port x']))

    def test_rows(self):
        away = {'rows': 'refused', 'rows_why': 'no'}
        self.assertIn('shop at router web: refused (no)', self.said(
            base.WARN, place=away))
        self.assertIn('on the node of the writer', self.said(
            base.WARN, place=away, lock='waiting'))

    def test_the_node(self):
        self.assertIn('egress_source x (refused) nft', self.said(
            base.WARN, node=[{'kind': 'egress_source', 'ref': 'x',
                              'state': 'refused', 'reason': 'nft'}]))

    def test_no_lock(self):
        self.assertIn('cannot be asked for', self.said(
            base.WARN, lock='not connected'))
