# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The judges of a VIP."""

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import kernel
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Outcome, Verdict = explained.Outcome, explained.Verdict


def said(state='announced', reason='', alive=(True, True)):
    """The VIP in the status of the agent."""
    return {'address': '192.0.2.53', 'managed': True, 'state': state,
            'reason': reason, 'rules': [{
                'proto': 'tcp', 'port': 53, 'dest_port': 5353,
                'backends': [{'address': address, 'alive': each,
                              'why': '' if each else 'connection refused'}
                             for address, each in zip(
                                 ('10.0.0.5', '10.0.0.6'), alive,
                                 strict=True)]}]}


class VipTest(explained.AddressTestCase):

    def test_healthy(self):
        for values in ({}, {'managed': False}):
            self.assertEqual('VIP', self.assert_here(
                healthy.vip(said(), **values)).kind)

    def test_without_an_agent_only_health_is_unknown(self):
        self.assert_one('backends', healthy.vip()._replace(
            agent=readers.Unread('no agent runs')), Verdict.NOT_CHECKED)

    def test_destinations(self):
        facts = healthy.vip(said(alive=(True, False)))
        self.assert_one('backends', facts, Verdict.WARN, 'connection refused')
        self.assert_broken('backends', healthy.vip(said(
            'down', 'none of its destinations is alive', (False, False))))

    def test_layers(self):
        """The address, the tables, the rules and the route of BGP."""
        facts = healthy.vip(said())
        lost = facts._replace(zebra=(), path=(False, False, ()))
        self.assertEqual({200, 201}, set(facts.kernel.routes))
        for check, broken in (
                ('vip-address', healthy.with_kernel(lost, addresses={
                    **facts.kernel.addresses, 'loopback1': ()})),
                ('vip-address', healthy.with_link(lost, 'loopback1',
                                                  up=False)),
                ('frr-route', lost),
                *(('leak-table', healthy.with_kernel(facts, routes={
                    **facts.kernel.routes, table: ()}))
                  for table in facts.kernel.routes),
                # The way follows from the rules.
                ('policy-rules', healthy.with_kernel(healthy.with_lookup(
                    facts, 'marked', dev='eth0', table=254), rules=()))):
            self.assert_broken(check, broken)

    def test_rules(self):
        facts = healthy.vip(said())
        first = ('tcp', '192.0.2.53', 53, '10.0.0.5', 5353)
        for translation in (
                None, kernel.Translation(frozenset(), False, {}),
                kernel.Translation(frozenset([first]), False, {}),
                facts.translation._replace(altered=True)):
            self.assert_broken('nft-rules', facts._replace(
                translation=translation))

    def test_connections(self):
        facts = healthy.vip(said())
        self.assertIn('2 connections at present: 2 to 10.0.0.6',
                      self.evidence(facts, 'nft-rules'))
        for connections, text in (
                ({}, 'no connection at present'),
                (readers.Unread('kernel: no'), '(kernel: no)')):
            self.assertIn(text, self.evidence(facts._replace(
                translation=facts.translation._replace(
                    connections=connections)),
                'nft-rules'))

    def test_marks(self):
        facts = healthy.vip(said())
        for rule in facts.kernel.rules:
            self.assert_broken('policy-rules', healthy.with_kernel(
                facts, rules=tuple(each for each in facts.kernel.rules
                                   if each != rule)))
        self.assertLessEqual({150, 151, 152}, {
            rule.priority for rule in facts.kernel.rules})
        without = healthy.with_kernel(facts, rules=tuple(
            rule for rule in facts.kernel.rules if rule.priority != 152))
        self.assertIn('no rule 152: from all fwmark 0x200/0x200 blackhole',
                      self.evidence(without, 'policy-rules'))

    def test_the_way_of_the_answers(self):
        facts = healthy.vip(said())
        other = {'dev': 'eth0', 'table': 220}
        for question, values, check, words, remedy in (
                ('marked', other, 'way-back', 'answers of the destinations '
                 'to 203.0.113.10: .* table 220', 'ip route get'),
                ('marked', explained.NO_ROUTE, 'way-back', 'no route',
                 'mark 0x200'),
                ('out vrf', other, 'vrf-default', 'table 220',
                 'from 192.0.2.53 iif veth-provider'),
                ('out vrf', explained.NO_ROUTE, 'vrf-default', 'no route',
                 'announce a default route')):
            found = healthy.with_lookup(facts, question, **values)
            self.assert_broken(check, found)
            self.assertRegex(self.evidence(found, check), words)
            self.assertIn(remedy, self.remedy(found))

    def test_without_its_route_an_answer_is_dropped(self):
        """The lost route is the fault, and not the rule that drops."""
        facts = healthy.with_lookup(
            healthy.vip(said()), 'marked', error='dropped by a rule or route '
            'of type blackhole', dst='', dev='', table=0)
        self.assert_broken('way-back', facts)
        self.assert_broken('leak-table', healthy.with_kernel(
            facts, routes={**facts.kernel.routes, 201: ()}))

    def test_a_client_of_the_other_family(self):
        facts = healthy.vip(said())
        facts = facts._replace(setup=facts.setup._replace(
            client='2001:db8::1'))
        self.assertEqual(['way-back', 'vrf-default'],
                         self.found(facts, Verdict.NOT_CHECKED))
        self.assertIn('--client', self.evidence(facts, 'way-back'))

    def test_nothing_returns_without_an_announcement(self):
        self.assertNotIn('way-back', self.checks(healthy.with_subject(
            healthy.vip(said()), wanted=())))

    def test_without_a_vrf(self):
        facts = healthy.vip(said(), frr__vrf_name='')
        found = healthy.with_lookup(facts, 'marked', dev='eth0')
        self.assertEqual([], self.found(found, Verdict.BROKEN))
        self.assert_broken('way-back', healthy.with_lookup(
            facts, 'marked', **explained.NO_ROUTE))

    def test_there_is_no_trace(self):
        facts = healthy.vip(said())
        found, = packets.read_traces(None, facts.setup, facts.subject)
        self.assertIn('no trace of a VIP', found.verdict)

    def test_states(self):
        self.assert_broken('vip', healthy.vip(said(
            'refused', 'router one has this address')))
        self.assertIn('vip', self.found(healthy.vip(said(
            'dormant', 'no router has its gateway here')), Verdict.WARN))
