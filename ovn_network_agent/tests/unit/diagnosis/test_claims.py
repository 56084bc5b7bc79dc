# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An address of several routers."""


from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Verdict = explained.Verdict
SHOP = subjects.Claim('floating IP', 'shop (neutron-1)', 'neutron-1',
                      'dnat_and_snat', '192.168.1.12', 'port-3', 'gw1')
OFFICE = subjects.Claim('floating IP', 'office (neutron-2)', 'neutron-2',
                        'dnat_and_snat', '192.168.2.66', '', 'gw2')
OWN = subjects.Claim('router address', 'third (neutron-3)', 'neutron-3')
SNAT = subjects.Claim('SNAT address', 'fourth', 'fourth', 'snat',
                      '10.0.0.0/24', '', 'gw1')


class ClaimsTest(explained.AddressTestCase):

    def of(self, *rows):
        return healthy.with_subject(healthy.case(), claims=rows)

    def said(self, *rows):
        """The (evidence, remedy) about some routers."""
        found = verdicts.several_claims(self.of(*rows).subject)
        self.assertIs(Verdict.WARN, found.verdict)
        return found.evidence, found.remedy

    def test_one_router_is_no_warning(self):
        self.assertEqual([], self.found(self.of(SHOP), Verdict.WARN))

    def test_each_row(self):
        self.assert_one(
            'nat-row', self.of(SHOP, OFFICE, OWN), Verdict.WARN,
            '3 routers have the address: floating IP of shop (neutron-1), to '
            '192.168.1.12, port port-3, on gw1; floating IP of office '
            '(neutron-2), to 192.168.2.66, no port, on gw2; router address '
            'of third (neutron-3), on no chassis')

    def test_the_command_for_the_row_without_a_port(self):
        remedy = self.said(SHOP, OFFICE)[1]
        self.assertIn('"ovn-nbctl lr-nat-del neutron-2 dnat_and_snat '
                      '198.51.100.10"', remedy)
        self.assertNotIn('neutron-1', remedy)

    def test_the_commands_where_nobody_knows(self):
        evidence, remedy = self.said(SHOP, SNAT)
        self.assertNotIn('no port', evidence)
        self.assertIn('lr-nat-del neutron-1 dnat_and_snat 198.51.100.10"',
                      remedy)
        self.assertIn('lr-nat-del fourth snat 10.0.0.0/24"', remedy)
        self.assertNotIn('"', self.said(OWN, OWN)[1])

    def test_what_follows_is_not_the_cause(self):
        facts = healthy.with_kernel(self.of(SHOP, OFFICE), neighbours={
            **healthy.case().kernel.neighbours,
            ('br-ex', healthy.FIP): ('', 'FAILED')})
        self.assert_broken('nat-row', facts)
        self.assert_one('neighbour', facts, Verdict.NOT_CHECKED,
                        '(follows from: NAT row in OVN NB)')

    def test_other_faults_stay_the_cause(self):
        facts = healthy.with_link(self.of(SHOP, OFFICE), 'br-ex', up=False)
        self.assert_broken('bridge-device', facts)

    def test_the_last_sentence_promises_no_more_than_was_looked_at(self):
        case = healthy.case()
        port = case.subject.port._replace(chassis='other', local=False)
        for facts, said in (
                (case,
                 'Nothing that explain looks at is broken on this node.'),
                (healthy.with_subject(case, claims=(SHOP, OFFICE)),
                 'No layer is broken; see the warnings.'),
                (healthy.with_subject(case, owner='gw2.example.org',
                                      wanted=(), port=port),
                 'gw2.example.org has the address: ask there.')):
            self.assertEqual(
                said, explanation.explain(facts).text().splitlines()[-1])
