# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain says of machines on provider networks and of tenants."""

from ovn_network_agent import model
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.frr import output
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Outcome, Verdict = explained.Outcome, explained.Verdict
NET, VIA = '10.0.0.0/24', '198.51.100.1'
ELSEWHERE = {'dev': 'uplink', 'dst': '0.0.0.0/0'}


class HereTest(explained.AddressTestCase):

    def test_each_layer(self):
        for address in healthy.FIP, healthy.FIP6:
            for options in ({}, {'fip_route__announce_method': 'kernel'},
                            {'frr__vrf_name': ''}):
                facts = healthy.machine(address, found={}, **options)
                self.assert_here(
                    facts, 'port', 'binding', 'segment', 'agent', 'wanted',
                    'mac-tweak-flow', 'neighbour', 'kernel-route',
                    'frr-route', 'advertised')
                self.assertNotIn('default-route', self.checks(facts))

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
            facts, 'here', **ELSEWHERE))

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
        self.assertIs(Outcome.WITHHELD, self.outcome(facts))
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
        self.assert_one('port', healthy.with_subject(
            healthy.machine(found={}),
            also=(ports.Port('vm-2', host='gw3'),)),
            Verdict.WARN, 'port vm-2 on gw3 has the address, too')


class NotHereTest(explained.AddressTestCase):

    def test_elsewhere(self):
        facts = healthy.machine()
        self.assertIs(Outcome.ELSEWHERE, self.outcome(facts))
        self.assertEqual('gw2 has the address: ask there.',
                         explanation.explain(facts).text().splitlines()[-1])
        self.assertEqual(['port', 'binding'], self.checks(facts))

    def test_a_migration_under_way(self):
        self.assertIn('a live migration to gw1 is under way', self.evidence(
            healthy.machine(binding={'further': ('gw1',)}), 'binding'))

    def test_nobody_has_the_port(self):
        for values, text in (
                ({'host': ''}, 'bound to no chassis'),
                ({'here': True, 'up': False}, 'here, and not up'),
                ({'type': 'virtual', 'host': ''}, 'no machine has the'),
                ({'type': 'virtual', 'here': True}, 'no machine has the')):
            self.assert_broken('binding', healthy.machine(binding=values),
                               text)

    def test_left_out(self):
        facts = healthy.machine(binding={
            'type': 'external', 'left_out': ('it is external', 'change it')})
        text = explanation.explain(facts).text()
        self.assertIs(Outcome.WITHHELD, self.outcome(facts))
        self.assertEqual(['port'], self.checks(facts))
        self.assertIn('not announced, because it is external', text)
        self.assertIn('Warning, port in OVN SB: change it', text)

    def test_the_agent_of_the_former_node(self):
        facts = healthy.machine()._replace(status={
            'state': 'withdrawing', 'why': 'due'})
        self.assertEqual(['agent'], self.found(facts, Verdict.WARN))

    def test_nobody(self):
        facts = healthy.with_subject(
            healthy.machine(), binding=None, kind=healthy.subject.Kind.NOBODY)
        self.assertIn('port of a machine', self.evidence(facts, 'nat-row'))

    def test_ovn_cannot_be_read(self):
        self.assertIs(Outcome.UNKNOWN, self.outcome(healthy.machine(
            found={})._replace(databases=readers.Unread('no answer'))))


class TenantsTest(explained.AddressTestCase):
    """A network of a tenant, or an address in it."""

    def test_each_layer(self):
        for facts in healthy.tenant(), healthy.tenant('10.0.0.1', NET):
            found = self.assert_here(
                facts, 'tenant-network', 'router', 'gateway-port', 'segment',
                'agent', 'wanted', 'default-route', 'mac-tweak-flow',
                'neighbour', 'policy-rules', 'kernel-route', 'kernel-lookup',
                'frr-route', 'vrf-lookup', 'prefix-list-bgpd',
                'redistribute', 'advertised', 'way-back')
            self.assertIn(NET, self.evidence(facts, 'wanted'))
        self.assertEqual(NET, found.address)
        self.assertEqual(
            f'{NET} of network net behind router r1; nothing withholds it',
            self.evidence(facts, 'tenant-network'))

    def test_a_layer_that_is_broken(self):
        facts = healthy.tenant()
        neighbours = {**facts.kernel.neighbours}
        del neighbours['br-ex', VIA]
        rules = tuple(each for each in facts.kernel.rules if each.src != NET)
        self.assertNotEqual(facts.kernel.rules, rules)
        # A list with host routes only has no line for the network.
        entry = output.Entry(1000000000, 'permit', NET, 32, 32)
        for check, broken in (
                ('neighbour', healthy.with_kernel(
                    facts, neighbours=neighbours)),
                ('policy-rules', healthy.with_kernel(facts, rules=rules)),
                ('kernel-route', healthy.with_lookup(
                    facts, 'here', **ELSEWHERE)),
                ('prefix-list-bgpd', facts._replace(
                    lists={**facts.lists, 'bgpd': (entry,)}))):
            self.assert_broken(check, broken)

    def test_withheld(self):
        """Whether its gateway is here or elsewhere."""
        for port in cloud.port(), cloud.port(local=False, chassis=cloud.OTHER):
            facts = healthy.tenant(port=port, withheld='its router (SNAT)')
            self.assertIs(Outcome.WITHHELD, self.outcome(facts))
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
        self.assertIs(Outcome.ELSEWHERE, self.outcome(facts))
        self.assertIn('on gw2, which has to announce',
                      self.evidence(facts, 'gateway-port'))

    def test_overlaps(self):
        rival, claim = {'rivals': (f'{NET} of router r2',)}, model.Claim
        self.assert_one('tenant-network', healthy.tenant(
            **rival, claim=claim.FIRST), Verdict.WARN)
        for values, text in (
                ({**rival, 'claim': claim.REFUSED}, f'{NET} of router r2'),
                ({'claimed': 'r2'}, 'provider network of router r2')):
            facts = healthy.tenant(**values)
            self.assert_broken('wanted', facts, text)
            self.assertIn(text, self.evidence(facts, 'tenant-network'))
