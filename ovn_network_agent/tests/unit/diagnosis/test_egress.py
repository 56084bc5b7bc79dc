# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.tests.unit.ctl import test_egress as answers
from ovn_network_agent.tests.unit.diagnosis import explained

EGRESS, MACHINE = answers.PLACE['address'], answers.MACHINE['address']
Outcome, Verdict = explained.Outcome, explained.Verdict


class EgressTest(explained.AddressTestCase):

    def case(self, address, place=(), machine=(), node=(), **values):
        found = {**answers.ANSWER, 'node': node, 'egress_ips': [{
            **answers.SHOP, 'places': [{**answers.PLACE, **dict(place)}],
            'machines': [{**answers.MACHINE, **dict(machine)}], **values}]}
        return facts.Facts(facts.Setup(), subject.Subject(address))._replace(
            agent={'phase': 'running'}, egress=found)

    def test_how_a_machine_leaves(self):
        found = self.case(MACHINE, mode='host', place={
            'chassis': 'n1', 'port': 'up'}, destinations=['192.0.2.0/24'])
        self.assertEqual(['agent', 'egress', 'egress-rows'],
                         self.found(found, Verdict.OK))
        self.assertEqual(
            'port p1 leaves with 198.51.100.9 by router web, port up, node n1 '
            '(shop, mode host) for 192.0.2.0/24',
            self.evidence(found, 'egress'))
        self.assertEqual(Outcome.OK, explanation.explain(found).outcome)

    def test_who_leaves_with_an_address(self):
        self.assertIn('1 machine of shop leaves with it by router web (mode '
                      'router)', self.evidence(self.case(EGRESS), 'egress'))

    def test_why_a_machine_does_not(self):
        """What is meant to be so is no warning."""
        away = {'leaves_with': [], 'why': 'it has a floating IP'}
        found = self.case(MACHINE, machine=away)
        self.assertIn('egress', self.found(found, Verdict.OK))
        self.assertIn('it has a floating IP', self.evidence(found, 'egress'))
        found = self.case(MACHINE, machine=away, place={
            'address': '', 'why': away['why']})
        self.assertEqual(['egress'], self.found(found, Verdict.WARN))

    def test_an_address_that_is_in_use_nowhere(self):
        found = self.case(EGRESS, place={'address': '', 'why': 'no network'})
        self.assert_one('egress', found, Verdict.WARN, 'no network')
        self.assertIn('no router or node needs it', self.evidence(
            self.case(EGRESS, places=[]), 'egress'))

    def test_rows_and_the_node(self):
        found = self.case(MACHINE, place={'rows': 'refused', 'rows_why': 'no'},
                          node=[{'kind': 'egress_source', 'ref': 'x',
                                 'state': 'refused', 'reason': 'nft'}])
        self.assertEqual(['egress-rows', 'egress-node'],
                         self.found(found, Verdict.BROKEN))
        self.assertIn('web: refused no', self.evidence(found, 'egress-rows'))
        self.assertIn('egress_source x (refused) nft',
                      self.evidence(found, 'egress-node'))

    def test_no_answer(self):
        found = self.case(MACHINE)._replace(egress=readers.Unread(
            'no agent'))
        self.assertEqual(['egress'], [
            each for each in self.found(found, Verdict.NOT_CHECKED)
            if each == 'egress'])
