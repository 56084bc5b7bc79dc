# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Explanations of an address that this node does not announce."""

import dataclasses

from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Outcome, Verdict = explained.Outcome, explained.Verdict


class OwnerTest(explained.AddressTestCase):

    def port(self, **values):
        facts = healthy.case()
        port = facts.subject.port._replace(**values)
        return healthy.with_subject(facts, port=port, wanted=(),
                                    owner='gw2.example.org')

    def test_nobody(self):
        facts = healthy.with_subject(
            healthy.case(), kind=subject.Kind.NOBODY, port=None, router=None)
        self.assert_broken('nat-row', facts)
        explained = explanation.explain(facts)
        self.assertIs(Outcome.NOBODY, explained.outcome)
        self.assertEqual(1, len(explained.findings))

    def test_elsewhere(self):
        facts = self.port(chassis=cloud.OTHER, local=False)
        explained = explanation.explain(facts)
        self.assertIs(Outcome.ELSEWHERE, explained.outcome)
        self.assertIn('gw2.example.org', explained.text())
        self.assertEqual([], self.found(facts, Verdict.BROKEN))

    def test_unbound(self):
        """Of no chassis, and not followed."""
        for values in {'chassis': ''}, {}:
            self.assert_broken('gateway-port', self.port(local=False,
                                                         **values))

    def test_the_segment_is_the_cause(self):
        for values, word in (
                ({'bridge': ''}, 'ovn-bridge-mappings'),
                ({'bridge': 'br-other', 'device': 'br-other'}, 'br-other'),
                ({'patch_port': 0}, 'ovn-controller')):
            facts = self.port(segment=cloud.segment(**values))
            self.assertIn('segment', self.found(facts, Verdict.BROKEN))
            self.assertNotIn('wanted', self.found(facts, Verdict.BROKEN))
            self.assertIn(word, self.evidence(facts, 'segment'))

    def test_not_wanted(self):
        for options, word in (
                ({'network_cidr': ['192.0.2.0/24']}, 'network_cidr'),
                ({'drivers': ['veth_leak']}, 'fip_route')):
            facts = healthy.with_subject(healthy.case(**options), wanted=())
            self.assertIn('wanted', self.found(facts, Verdict.BROKEN))
            self.assertIn(word, self.evidence(facts, 'wanted'))

    def distributed(self, *host):
        return healthy.with_subject(
            healthy.case(), kind=subject.Kind.DISTRIBUTED,
            machine=subject.Machine('the-row', 'fa:16:3e:00:00:aa', 'vm',
                                    *host))

    def test_distributed(self):
        """Elsewhere, on no chassis, and here but not up."""
        facts = self.distributed('compute7')
        self.assertIn('port vm of its machine is on compute7',
                      self.evidence(facts, 'gateway-port'))
        self.assertEqual((Outcome.ELSEWHERE, []), (
            explanation.explain(facts).outcome,
            self.found(facts, Verdict.BROKEN)))
        facts = self.distributed()
        self.assert_broken('gateway-port', facts)
        self.assertIn('"ovn-nbctl clear NAT the-row external_mac"',
                      explanation.explain(facts).remedy[1])
        facts = self.distributed('gw1', facts.subject.node.chassis)
        self.assert_broken('gateway-port', facts, 'is not up')

    def test_the_machine_behind_the_gateway(self):
        """It may be elsewhere; no chassis at all is a warning."""
        for host, verdict in (('compute7', Verdict.OK), ('', Verdict.WARN)):
            facts = healthy.with_subject(
                healthy.case(), kind=subject.Kind.FIP,
                machine=subject.Machine('the-row', '', 'vm', host))
            self.assertEqual(['machine'] if verdict is Verdict.WARN else [],
                             self.found(facts, Verdict.WARN))
            self.assertIs(explanation.Outcome.OK,
                          explanation.explain(facts).outcome)
            self.assertIn('port vm is ', self.evidence(facts, 'machine'))
        self.assertIn('"openstack port show vm"',
                      explanation.explain(facts).text())

    def test_a_problem_of_a_driver_has_its_remedy(self):
        for text, evidence, remedy in (
                ('one; two; do it', 'one; two', 'do it'),
                ('one', 'one', 'who made the row')):
            facts = healthy.with_subject(
                healthy.case(), wanted=(), problems=(text,))
            found = next(each for each in explanation.explain(facts).findings
                         if each.check == 'wanted')
            self.assertEqual(evidence, found.evidence)
            self.assertTrue(found.remedy.startswith(remedy), found)

    def test_the_name_that_a_person_knows_comes_first(self):
        router = dataclasses.replace(healthy.case().subject.router,
                                     name='neutron-1', label='web')
        self.assertTrue(self.evidence(
            healthy.with_subject(healthy.case(), router=router),
            'router').startswith('web (neutron-1) with port '))
