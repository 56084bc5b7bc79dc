# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain says of an address of a machine on a provider network."""


from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Outcome, Verdict = explained.Outcome, explained.Verdict


class HereTest(explained.AddressTestCase):

    def test_each_layer(self):
        for address in healthy.FIP, healthy.FIP6:
            for options in ({}, {'fip_route__announce_method': 'kernel'},
                            {'frr__vrf_name': ''}):
                facts = healthy.machine(address, found={}, **options)
                found = explanation.explain(facts)
                self.assertIs(Outcome.OK, found.outcome, found.text())
                self.assertEqual([], self.found(facts, Verdict.WARN))
                self.assertLessEqual(
                    {'port', 'binding', 'segment', 'agent', 'wanted',
                     'mac-tweak-flow', 'neighbour', 'kernel-route',
                     'frr-route', 'advertised'},
                    {*self.found(facts, Verdict.OK)})
                self.assertNotIn('default-route', [
                    each.check for each in found.findings])

    def test_its_port(self):
        facts = healthy.machine(found={'tag': 4400001})
        self.assertEqual('vm-1 on network public, fa:16:3e:00:00:aa',
                         self.evidence(facts, 'port'))
        self.assertEqual(f'here ({cloud.HOSTNAME})',
                         self.evidence(facts, 'binding'))
        self.assertIn('with tag 4400001', self.evidence(facts, 'wanted'))

    def test_a_layer_that_is_broken(self):
        facts = healthy.machine(found={})
        self.assert_broken('mac-tweak-flow', facts._replace(
            flows=dict.fromkeys(facts.flows, ())))
        self.assert_broken('kernel-route', healthy.with_lookup(
            facts, 'here', dev='uplink', dst='0.0.0.0/0'))

    def test_the_gateway_of_machines_of_ipv6(self):
        facts = healthy.machine(healthy.FIP6, found={})
        self.assertTrue(facts.kernel.proxies)
        self.assert_broken('bridge-device', healthy.with_kernel(
            facts, proxies=frozenset()))
        self.assertEqual(frozenset(), healthy.machine(found={}).kernel.proxies)

    def test_a_machine_that_does_not_answer(self):
        facts = healthy.with_kernel(healthy.machine(found={}), neighbours={
            ('br-ex', healthy.FIP): ('', 'FAILED')})
        found = next(each for each in explanation.explain(facts).findings
                     if each.check == 'neighbour')
        self.assertIn('machine vm-1 should answer', found.remedy)

    def test_withheld(self):
        facts = healthy.machine(found={'withheld': 'the row says so'})
        self.assertIs(Outcome.WITHHELD, explanation.explain(facts).outcome)
        self.assertIn('Logical_Switch_Port, vm-1',
                      explanation.explain(facts).text())

    def test_not_wanted(self):
        """Of something else, in no subnet, or of a network elsewhere."""
        for check, found, words in (
                ('wanted', {'claimed': 'a NAT row of a router'},
                 'a NAT row of a router has it, too'),
                ('wanted', {'network': cloud.network(networks=())}, ''),
                ('segment', {'network': cloud.network(segment=cloud.segment(
                    bridge='', device='', patch_port=None))}, '')):
            self.assert_broken(check, healthy.machine(found=found), words)

    def test_a_virtual_port(self):
        facts = healthy.machine(found={}, binding={
            'type': 'virtual', 'parent': 'vm-2', 'mac': ''})
        self.assertEqual(f'here ({cloud.HOSTNAME}), with port vm-2',
                         self.evidence(facts, 'binding'))
        self.assertEqual([], self.found(facts, Verdict.WARN))

    def test_another_port_with_the_address(self):
        facts = healthy.with_subject(healthy.machine(found={}), also=(
            ports.Port('vm-2', host='gw3'),))
        self.assertIn('port vm-2 on gw3 has the address, too',
                      self.evidence(facts, 'port'))
        self.assertEqual(['port'], self.found(facts, Verdict.WARN))


class NotHereTest(explained.AddressTestCase):

    def test_elsewhere(self):
        facts = healthy.machine()
        found = explanation.explain(facts)
        self.assertIs(Outcome.ELSEWHERE, found.outcome)
        self.assertEqual('gw2 has the address: ask there.',
                         found.text().splitlines()[-1])
        self.assertEqual(['port', 'binding'],
                         [each.check for each in found.findings])

    def test_a_migration_under_way(self):
        self.assertIn('a live migration to gw1 is under way', self.evidence(
            healthy.machine(binding={'further': ('gw1',)}), 'binding'))

    def test_nobody_has_the_port(self):
        for values, text in (
                ({'host': ''}, 'bound to no chassis'),
                ({'here': True, 'up': False}, 'here, and not up'),
                ({'type': 'virtual', 'host': ''}, 'no machine has the'),
                ({'type': 'virtual', 'here': True}, 'no machine has the')):
            facts = healthy.machine(binding=values)
            self.assert_broken('binding', facts, text)

    def test_left_out(self):
        facts = healthy.machine(binding={
            'type': 'external', 'left_out': ('it is external', 'change it')})
        found = explanation.explain(facts)
        self.assertIs(Outcome.WITHHELD, found.outcome)
        self.assertEqual(['port'], [each.check for each in found.findings])
        self.assertIn('not announced, because it is external', found.text())
        self.assertIn('Warning, port in OVN SB: change it', found.text())

    def test_the_agent_of_the_former_node(self):
        facts = healthy.machine()._replace(status={
            'state': 'withdrawing', 'why': 'due'})
        self.assertEqual(['agent'], self.found(facts, Verdict.WARN))

    def test_nobody(self):
        facts = healthy.with_subject(
            healthy.machine(), binding=None, kind=healthy.subject.Kind.NOBODY)
        self.assertIn('port of a machine', self.evidence(facts, 'nat-row'))

    def test_ovn_cannot_be_read(self):
        facts = healthy.machine(found={})._replace(
            databases=readers.Unread('no answer'))
        self.assertIs(Outcome.UNKNOWN, explanation.explain(facts).outcome)
