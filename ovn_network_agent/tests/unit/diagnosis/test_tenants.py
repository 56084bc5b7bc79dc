# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain says of a network of a tenant, or an address in it."""


from ovn_network_agent import model
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.frr import output
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Outcome, Verdict = explained.Outcome, explained.Verdict
NET, VIA = '10.0.0.0/24', '198.51.100.1'
RIVAL = {'rivals': (f'{NET} of router r2',)}


class TenantsTest(explained.AddressTestCase):

    def test_each_layer(self):
        for facts in healthy.tenant(), healthy.tenant('10.0.0.1', NET):
            found = explanation.explain(facts)
            self.assertIs(Outcome.OK, found.outcome, found.text())
            self.assertEqual([], self.found(facts, Verdict.WARN))
            self.assertLessEqual(
                {'tenant-network', 'router', 'gateway-port', 'segment',
                 'agent', 'wanted', 'default-route', 'mac-tweak-flow',
                 'neighbour', 'policy-rules', 'kernel-route',
                 'kernel-lookup', 'frr-route', 'vrf-lookup',
                 'prefix-list-bgpd', 'redistribute', 'advertised',
                 'way-back'}, {*self.found(facts, Verdict.OK)})
            self.assertIn(NET, self.evidence(facts, 'wanted'))
        self.assertEqual(NET, found.address)
        self.assertEqual(
            f'{NET} of network net behind router r1; nothing withholds it',
            self.evidence(facts, 'tenant-network'))

    def test_a_layer_that_is_broken(self):
        facts = healthy.tenant()
        self.assert_broken('neighbour', healthy.with_kernel(
            facts, neighbours={key: value for key, value
                               in facts.kernel.neighbours.items()
                               if key != ('br-ex', VIA)}))
        rules = facts.kernel.rules
        self.assert_broken('policy-rules', healthy.with_kernel(
            facts, rules=tuple(each for each in rules if each.src != NET)))
        self.assertIn(NET, [each.src for each in rules])
        self.assert_broken('kernel-route', healthy.with_lookup(
            facts, 'here', dev='uplink', dst='0.0.0.0/0'))

    def test_the_prefix_list_has_host_routes_only(self):
        entry = output.Entry(1000000000, 'permit', NET, 32, 32)
        facts = healthy.tenant()
        self.assert_broken('prefix-list-bgpd', facts._replace(
            lists={**facts.lists, 'bgpd': (entry,)}))

    def test_withheld(self):
        """Whether its gateway is here or elsewhere."""
        for port in cloud.port(), cloud.port(local=False, chassis=cloud.OTHER):
            facts = healthy.tenant(port=port, withheld='its router (SNAT)')
            self.assertIs(Outcome.WITHHELD, explanation.explain(facts).outcome)
            self.assertIn('not announced on purpose: its router (SNAT)',
                          self.evidence(facts, 'tenant-network'))

    def test_other_routers_have_it(self):
        facts = healthy.with_subject(healthy.tenant(), also=(
            cloud.tenant(called='r2'), cloud.tenant(called='r3')))
        self.assertIn('(also behind 2 other routers, such as r2); nothing',
                      self.evidence(facts, 'tenant-network'))

    def test_no_gateway_here(self):
        facts = healthy.tenant(port=cloud.port(local=False,
                                               chassis=cloud.OTHER))
        self.assertIs(Outcome.ELSEWHERE, explanation.explain(facts).outcome)
        self.assertIn('on gw2, which has to announce',
                      self.evidence(facts, 'gateway-port'))

    def test_overlaps(self):
        Claim = model.Claim
        facts = healthy.tenant(**RIVAL, claim=Claim.FIRST)
        self.assertEqual(['tenant-network'], self.found(facts, Verdict.WARN))
        for values, text in (
                ({**RIVAL, 'claim': Claim.REFUSED}, f'{NET} of router r2'),
                ({'claimed': 'r2'}, 'provider network of router r2')):
            facts = healthy.tenant(**values)
            self.assert_broken('wanted', facts)
            for check in 'tenant-network', 'wanted':
                self.assertIn(text, self.evidence(facts, check))
