# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain says of an address that is not announced on purpose."""


from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Outcome, Verdict = explained.Outcome, explained.Verdict
WITHHELD = {'withheld': ((healthy.FIP, 'the row says so'),)}
ROUTED = {'routed_by_ovn': True}


class WithheldTest(explained.AddressTestCase):

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
        text = explanation.explain(healthy.case(router=WITHHELD)).text()
        self.assertIn('not announced on purpose', text.splitlines()[-1])
        self.assertIn('Warning, wanted by the agent: to have it announced',
                      text)

    def test_routers_of_this_node_still_need_its_flow(self):
        facts = healthy.case(router=WITHHELD)
        self.assertIn('hairpin-flow', self.found(facts, Verdict.OK))
        self.assert_broken('hairpin-flow', facts._replace(
            flows={each: () for each in facts.flows
                   if each.dst} | {each: found for each, found
                                   in facts.flows.items()
                                   if not each.dst}))
        self.assertNotIn('hairpin-flow', [
            each.check for each in explanation.explain(
                healthy.case(router=ROUTED)).findings])

    def test_the_agent_says_the_same(self):
        facts = healthy.case(router=WITHHELD)._replace(status={
            'state': 'omitted', 'why': 'the row says so'})
        self.assertIn('agent', self.found(facts, Verdict.OK))
        announced = facts._replace(status={
            'state': 'withdrawing', 'why': 'due'})
        self.assertIn('agent', self.found(announced, Verdict.WARN))

    def test_what_could_not_be_read_is_no_answer(self):
        facts = healthy.case(router=WITHHELD)._replace(
            databases=readers.Unread('no answer'))
        self.assertIs(Outcome.UNKNOWN, explanation.explain(facts).outcome)
