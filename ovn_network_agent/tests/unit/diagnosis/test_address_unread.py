# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Explanations while a system or the agent does not answer."""


from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Outcome, Verdict = explained.Outcome, explained.Verdict
NO_ROUTE = explained.NO_ROUTE


class UnreadTest(explained.AddressTestCase):
    """A reader that fails leaves its layers unchecked, and no others."""

    def test_each_system(self):
        reason = readers.Unread('it is away')
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
            facts = healthy.case()._replace(**{system: reason})
            self.assertEqual(checks, set(self.found(
                facts, Verdict.NOT_CHECKED)), system)
            self.assertEqual([], self.found(facts, Verdict.BROKEN))

    def test_without_ovn_there_is_no_answer(self):
        facts = healthy.with_subject(healthy.case(), port=None)._replace(
            databases=readers.Unread('NB is away'))
        self.assertIs(Outcome.UNKNOWN, explanation.explain(facts).outcome)
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
        self.assertIs(Outcome.UNKNOWN, explanation.explain(facts).outcome)
        self.assertEqual([], self.found(facts, Verdict.BROKEN),
                         explanation.explain(facts).text())
        self.assertIn('kernel-route', self.found(facts, Verdict.OK))
        self.assertIn('advertised', self.found(facts, Verdict.OK))
        self.assert_broken('kernel-route', healthy.with_lookup(
            facts, 'here', **NO_ROUTE))

    def test_without_an_agent(self):
        facts = healthy.case()._replace(agent=readers.Unread('no agent runs'))
        self.assertEqual(['agent'], self.found(facts, Verdict.WARN))
        self.assertIs(Outcome.OK, explanation.explain(facts).outcome)

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
        facts = healthy.case()._replace(agent={
            'phase': 'running', 'degraded': ['one', 'two']})
        self.assertIn('one (and 1 more)', self.evidence(facts, 'agent'))
