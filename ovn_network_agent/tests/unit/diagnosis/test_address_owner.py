# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Explanations of an address: whose it is, and what is not known."""

import dataclasses

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Outcome, Verdict = explained.Outcome, explained.Verdict
WITHHELD = {'withheld': ((healthy.FIP, 'the row says so'),)}
ROUTED = {'routed_by_ovn': True}
SHOP = subject.Claim('floating IP', 'shop (neutron-1)', 'neutron-1',
                      'dnat_and_snat', '192.168.1.12', 'port-3', 'gw1')
OFFICE = subject.Claim('floating IP', 'office (neutron-2)', 'neutron-2',
                        'dnat_and_snat', '192.168.2.66', '', 'gw2')
OWN = subject.Claim('router address', 'third (neutron-3)', 'neutron-3')
SNAT = subject.Claim('SNAT address', 'fourth', 'fourth', 'snat',
                      '10.0.0.0/24', '', 'gw1')


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
        self.assertIs(Outcome.NOBODY, self.outcome(facts))
        self.assertEqual(['nat-row'], self.checks(facts))

    def test_elsewhere(self):
        facts = self.port(chassis=cloud.OTHER, local=False)
        self.assertIs(Outcome.ELSEWHERE, self.outcome(facts))
        self.assertIn('gw2.example.org', explanation.explain(facts).text())
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
            broken = self.found(facts, Verdict.BROKEN)
            self.assertIn('segment', broken)
            self.assertNotIn('wanted', broken)
            self.assertIn(word, self.evidence(facts, 'segment'))

    def test_not_wanted(self):
        for options, word in (
                ({'network_cidr': ['192.0.2.0/24']}, 'network_cidr'),
                ({'drivers': ['veth_leak']}, 'fip_route')):
            facts = healthy.with_subject(healthy.case(**options), wanted=())
            self.assertIn('wanted', self.found(facts, Verdict.BROKEN))
            self.assertIn(word, self.evidence(facts, 'wanted'))

    def with_machine(self, kind, *values):
        return healthy.with_subject(
            healthy.case(), kind=kind,
            machine=subject.Machine('the-row', *values))

    def test_distributed(self):
        """Elsewhere, on no chassis, and here but not up."""
        def case(*host):
            return self.with_machine(subject.Kind.DISTRIBUTED,
                                     'fa:16:3e:00:00:aa', 'vm', *host)

        facts = case('compute7')
        self.assertIn('port vm of its machine is on compute7',
                      self.evidence(facts, 'gateway-port'))
        self.assertEqual((Outcome.ELSEWHERE, []), (
            self.outcome(facts), self.found(facts, Verdict.BROKEN)))
        self.assert_broken('gateway-port', case())
        self.assertIn('"ovn-nbctl clear NAT the-row external_mac"',
                      self.remedy(case()))
        self.assert_broken('gateway-port', case(
            'gw1', facts.subject.node.chassis), 'is not up')

    def test_the_machine_behind_the_gateway(self):
        """It may be elsewhere; no chassis at all is a warning."""
        for host, warned in (('compute7', []), ('', ['machine'])):
            facts = self.with_machine(subject.Kind.FIP, '', 'vm', host)
            self.assertEqual(warned, self.found(facts, Verdict.WARN))
            self.assertIs(Outcome.OK, self.outcome(facts))
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

    def test_the_keys_of_the_json(self):
        said = explanation.explain(healthy.case()).json()
        self.assertEqual({'address', 'vni', 'kind', 'outcome', 'findings'},
                         set(said))
        self.assertEqual({'check', 'layer', 'verdict', 'evidence', 'remedy'},
                         set(said['findings'][0]))


class UnreadTest(explained.AddressTestCase):
    """A reader that fails leaves its layers unchecked, and no others."""

    def test_each_system(self):
        for system, checks in (
                ('flows', {'mac-tweak-flow', 'hairpin-flow'}),
                ('packet_traces', {'other-flows'}),
                ('zebra', {'frr-route'}),
                ('lists', {'prefix-list-zebra', 'prefix-list-bgpd'}),
                ('path', {'redistribute', 'advertised'}),
                ('neighbours', {'bgp-neighbours', 'advertised'}),
                ('kernel', {'bridge-device', 'neighbour', 'veth-pair',
                            'policy-rules', 'leak-table', 'kernel-route',
                            'kernel-lookup', 'vrf-lookup', 'way-back',
                            'vrf-default'})):
            facts = healthy.case()._replace(
                **{system: readers.Unread('it is away')})
            self.assertEqual(checks, set(self.found(
                facts, Verdict.NOT_CHECKED)), system)
            self.assertEqual([], self.found(facts, Verdict.BROKEN))

    def test_without_ovn_there_is_no_answer(self):
        facts = healthy.with_subject(healthy.case(), port=None)._replace(
            databases=readers.Unread('NB is away'))
        self.assertIs(Outcome.UNKNOWN, self.outcome(facts))
        self.assertIn('NB is away', explanation.explain(facts).text())

    def test_without_ovn_the_agent_says_that_it_is_here(self):
        """All that the node has is looked at."""
        conf = world.conf()
        about = subject.without_ovn(
            healthy.FIP, 'br-ex', cloud.node(),
            [world.driver(name, conf) for name in conf.drivers])
        facts = healthy.case()._replace(
            subject=about, lists=readers.Unread('not asked'),
            databases=readers.Unread('NB is away'), flows=None,
            status={'state': 'announced', 'why': ''})
        self.assertIs(Outcome.UNKNOWN, self.outcome(facts))
        self.assertEqual([], self.found(facts, Verdict.BROKEN),
                         explanation.explain(facts).text())
        self.assertLessEqual({'kernel-route', 'advertised'},
                             {*self.found(facts, Verdict.OK)})
        self.assert_broken('kernel-route', healthy.with_lookup(
            facts, 'here', **explained.NO_ROUTE))

    def test_without_an_agent(self):
        facts = healthy.case()._replace(agent=readers.Unread('no agent runs'))
        self.assert_one('agent', facts, Verdict.WARN)
        self.assertIs(Outcome.OK, self.outcome(facts))

    def test_what_the_agent_says_of_the_address(self):
        for standing, verdict, word in (
                ({'state': 'announced', 'why': '', 'since': 'today'},
                 Verdict.OK, 'since today'),
                ({'state': 'failed', 'why': 'vtysh hangs'}, Verdict.WARN,
                 'failed: vtysh hangs'),
                (None, Verdict.WARN, 'nothing to do with this address')):
            facts = healthy.case()._replace(status=standing)
            self.assertIn('agent', self.found(facts, verdict))
            self.assertIn(word, self.evidence(facts, 'agent'))

    def test_a_degraded_agent(self):
        self.assertIn('one (and 1 more)', self.evidence(
            healthy.case()._replace(agent={
                'phase': 'running', 'degraded': ['one', 'two']}), 'agent'))


class WithheldTest(explained.AddressTestCase):
    """An address that is not announced on purpose."""

    def setUp(self):
        super().setUp()
        self.facts = healthy.case(router=WITHHELD)

    def test_nothing_is_broken(self):
        for router, reason in ((WITHHELD, 'the row says so'),
                               (ROUTED, 'OVN routes the router itself')):
            for options in ({}, {'fip_route__announce_method': 'kernel'},
                            {'frr__vrf_name': ''}):
                facts = healthy.case(router=router, **options)
                found = explanation.explain(facts)
                self.assertIs(Outcome.WITHHELD, found.outcome, found.text())
                self.assert_one('wanted', facts, Verdict.WARN,
                                'not announced on purpose: ' + reason)
                self.assertEqual('withheld', found.json()['outcome'])

    def test_the_last_line_says_it(self):
        text = explanation.explain(self.facts).text()
        self.assertIn('not announced on purpose', text.splitlines()[-1])
        self.assertIn('Warning, wanted by the agent: to have it announced',
                      text)

    def test_routers_of_this_node_still_need_its_flow(self):
        self.assertIn('hairpin-flow', self.found(self.facts, Verdict.OK))
        self.assert_broken('hairpin-flow', self.facts._replace(flows={
            flow: () if flow.dst else found
            for flow, found in self.facts.flows.items()}))
        self.assertNotIn('hairpin-flow', self.checks(
            healthy.case(router=ROUTED)))

    def test_the_agent_says_the_same(self):
        for state, why, verdict in (
                ('omitted', 'the row says so', Verdict.OK),
                ('withdrawing', 'due', Verdict.WARN)):
            self.assertIn('agent', self.found(self.facts._replace(
                status={'state': state, 'why': why}), verdict))

    def test_what_could_not_be_read_is_no_answer(self):
        self.assertIs(Outcome.UNKNOWN, self.outcome(self.facts._replace(
            databases=readers.Unread('no answer'))))


class ClaimsTest(explained.AddressTestCase):
    """An address of several routers."""

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
