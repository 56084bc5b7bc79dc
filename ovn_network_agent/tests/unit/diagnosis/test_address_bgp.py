# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What FRR and filters make of one address, and addresses of IPv6."""

import ipaddress

from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines
from ovn_network_agent.frr import setup
from ovn_network_agent.nft import filters
from ovn_network_agent.openflow import trace_text
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Verdict, NO_ROUTE = explained.Verdict, explained.NO_ROUTE
FIP, OTHER = map(ipaddress.ip_address, (healthy.FIP, '198.51.100.99'))
UP = frr.Neighbour('172.31.1.1', 'Established')
WHOLE = setup.Setup(True, '65101', ('static',), True, True)


class FrrTest(explained.AddressTestCase):

    def test_route_in_frr(self):
        facts = healthy.with_lookup(healthy.case(), 'vrf', **NO_ROUTE)
        for zebra in ((), (('static', False, False, '169.254.0.1'),),
                      (('static', True, False, '169.254.0.1'),),
                      (('bgp', True, True, '172.31.1.1'),)):
            self.assert_broken('frr-route', facts._replace(
                zebra=zebra, path=(False, False, ())))

    def test_by_kernel_the_route_of_the_vrf_is_the_cause(self):
        facts = healthy.case(fip_route__announce_method='kernel')
        facts = healthy.with_lookup(facts, 'vrf', **NO_ROUTE)
        self.assert_broken('vrf-lookup', facts._replace(
            zebra=(), path=(False, False, ())))

    def test_prefix_list(self):
        facts = healthy.case()
        deny = output.Entry(5, 'deny', '0.0.0.0/0', 0, 32)
        for entries in (None, (), (deny, *facts.lists['bgpd'])):
            self.assert_broken('prefix-list-bgpd', facts._replace(
                lists={**facts.lists, 'bgpd': entries},
                path=(True, True, ())))
            changed = facts._replace(lists={**facts.lists, 'zebra': entries})
            self.assertEqual([], self.found(changed, Verdict.BROKEN))
            self.assert_one('prefix-list-zebra', changed, Verdict.WARN)

    def test_entries_that_match_an_address(self):
        for entry, matched in (
                (('198.51.100.0/24', 32, 32), True),
                (('198.51.100.0/24', 0, 0), False),
                (('198.51.100.0/24', 0, 32), True),
                (('198.51.100.0/24', 25, 0), True),
                (('198.51.100.0/24', 0, 31), False),
                (('198.51.100.10/32', 0, 0), True),
                (('192.0.2.0/24', 32, 32), False), (('any', 0, 0), True)):
            self.assertIs(matched, prefix_list_lines.matches(
                output.Entry(5, 'permit', *entry),
                ip_text.address(healthy.FIP)), entry)

    def test_redistribution(self):
        facts = healthy.case()._replace(path=(False, False, ()))
        for frr_setup, word in (
                (WHOLE._replace(redistributes=('connected',)),
                 'does not redistribute static'),
                (WHOLE._replace(asn=''), 'no BGP instance'),
                (WHOLE, 'but not 198.51.100.10/32'),
                (readers.Unread('vtysh hangs'), 'vtysh hangs')):
            self.assert_broken('redistribute', facts._replace(
                frr_setup=frr_setup), word)
        self.assertIn(
            '"router bgp 65101 vrf vrf-provider" / "address-family ipv4 '
            'unicast" / "redistribute static"', self.remedy(facts._replace(
                frr_setup=WHOLE._replace(redistributes=()))))

    def test_neighbours(self):
        facts = healthy.case()._replace(path=(True, True, ()))
        for neighbours in (), (UP._replace(state='Active'),):
            self.assert_broken('bgp-neighbours', facts._replace(
                neighbours=neighbours))
        self.assert_one('bgp-neighbours', healthy.case()._replace(
            neighbours=(UP, frr.Neighbour('172.31.1.5', 'Idle'))),
            Verdict.WARN)

    def test_a_session_that_somebody_has_shut_down(self):
        self.assertIn(
            '"router bgp 65101 vrf vrf-provider" / '
            '"no neighbor 172.31.1.1 shutdown"',
            self.remedy(healthy.case()._replace(
                path=(True, True, ()), neighbours=(frr.Neighbour(
                    '172.31.1.1', 'Idle (Admin)', asn='65101'),))))

    def test_advertised_to_nobody_and_to_some(self):
        other = frr.Neighbour('172.31.1.5', 'Established', ('route-map OUT',))
        facts = healthy.case()._replace(neighbours=(UP, other))
        self.assert_one('advertised', facts, Verdict.WARN, 'route-map OUT')
        self.assert_broken('advertised', facts._replace(path=(True, True, ())))


class PacketFiltersTest(explained.AddressTestCase):
    """The filters of other programs."""

    def test_rules_of_others(self):
        """That name the address, drop some packets, or are about others."""
        def drop(address, certain=True):
            return filters.Filter(
                'inet guard transit', 7, ((address, address),),
                ('quarantine',), certain)

        command = '"nft -a list chain inet guard transit"'
        for found, wanted, words, remedy in (
                (filters.Found((drop(OTHER), drop(FIP)), ()), Verdict.BROKEN,
                 'rule 7 of the chain "inet guard transit", by the set '
                 'quarantine drops packets of 198.51.100.10', command),
                (filters.Found((drop(FIP, False),), ()), Verdict.WARN,
                 'drops some packets of 198.51.100.10', ''),
                (filters.Found((drop(OTHER),), ('ip fw forward',)),
                 Verdict.OK,
                 '"ip fw forward" drops what its rules do not accept', ''),
                (readers.Unread('nft: not found'), Verdict.NOT_CHECKED, '',
                 '')):
            facts = healthy.case()._replace(filters=found)
            self.assertIn('packet-filters', self.found(facts, wanted))
            evidence = self.evidence(facts, 'packet-filters')
            self.assertTrue(evidence.endswith(words), evidence)
            _layer, said = explanation.explain(facts).remedy or ('', '')
            self.assertEqual(bool(remedy), bool(said))
            self.assertIn(remedy, said)


class Ipv6Test(explained.AddressTestCase):
    """It is explained as one of IPv4, with its own commands."""

    def setUp(self):
        super().setUp()
        self.facts = healthy.case(healthy.FIP6)

    def test_flows_of_other_programs(self):
        step = trace_text.Step('br-ex', 0, 'ipv6', 2000, 7, ('drop',))
        lost = self.facts._replace(packet_traces=tuple(
            healthy.packet_trace(each.packet, self.facts.subject, step)
            for each in self.facts.packet_traces))
        self.assert_broken('other-flows', lost, *(
            f'{name} {healthy.FIP6}' for name in (
                'neighbour solicitation for', 'ICMP to', 'TCP from')))

    def test_the_packets_are_those_of_the_family(self):
        flows = {each.name: each.flow for each in packets.for_address(
            healthy.FIP6, healthy.CLIENT6, self.facts.subject.port.segment,
            self.facts.subject.mac)}
        asked = flows[f'neighbour solicitation for {healthy.FIP6}']
        self.assertIn('ipv6_dst=ff02::1:ff00:10', asked)
        self.assertIn('dl_dst=33:33:ff:00:00:10', asked)
        self.assertIn('icmp6,icmpv6_type=129', flows[
            f'ICMP from {healthy.FIP6}'])
        self.assertNotIn('nw_src', ' '.join(flows.values()))

    def test_words_of_the_family(self):
        """What is broken, words of the evidence, and of the remedy."""
        deny = output.Entry(5, 'deny', '::/0', 0, 128)
        for check, facts, words, remedy in (
                ('neighbour', healthy.with_kernel(self.facts, neighbours={
                    **self.facts.kernel.neighbours,
                    ('br-ex', healthy.FIP6): ('', 'FAILED')}),
                 'neighbour solicitations', ''),
                ('vrf-default', healthy.with_lookup(
                    self.facts, 'out vrf', **NO_ROUTE), '',
                 '"ipv6 route ::/0 NEXT-HOP"'),
                ('prefix-list-bgpd', self.facts._replace(
                    path=(True, True, ()), lists={
                        **self.facts.lists,
                        'bgpd': (deny, *self.facts.lists['bgpd'])}), '',
                 '"no ipv6 prefix-list ANNOUNCED-NETWORKS seq 5 deny ::/0 le '
                 '128"'),
                ('redistribute', self.facts._replace(
                    path=(False, False, ()),
                    frr_setup=WHOLE._replace(redistributes=(), family=6)),
                 'routes of IPv6',
                 '"address-family ipv6 unicast" / "redistribute static"'),
                ('bgp-neighbours', self.facts._replace(
                    path=(True, True, ()), neighbours=()), '',
                 '"address-family ipv6 unicast" / "neighbor ADDRESS '
                 'activate"')):
            self.assert_broken(check, facts, words)
            self.assertIn(remedy, self.remedy(facts))

    def test_a_neighbour_proxy_concerns_its_family(self):
        """It is the gateway of the machines with these addresses."""
        proxy = resources.NeighbourProxy('br-ex', '2001:db8:100::1')
        for address, concerned in (healthy.FIP6, True), (healthy.FIP, False):
            self.assertEqual(concerned, subject.concerns(proxy, address))

    def test_router_advertisements_concern_their_prefixes(self):
        for prefixes, concerned in (((f'{healthy.FIP6}/128',), True),
                                    (('2001:db8:ffff::/64',), False),
                                    ((), False)):
            wanted = resources.RouterAdvertisement('br-ex', prefixes)
            self.assertEqual(concerned, subject.concerns(wanted, healthy.FIP6))

    def test_rules_and_routes_of_the_family_count(self):
        """Those of IPv4 concern no address of IPv6, nor the reverse."""
        for address, other in ((healthy.FIP6, '198.51.100.'),
                               (healthy.FIP, '2001:db8:')):
            for each in healthy.case(address).subject.wanted:
                if each.kind in ('rule', 'kernel_route'):
                    self.assertNotIn(other, str(each.key))
        rules = [each for each in self.facts.kernel.rules
                 if not each.src and not each.dst]
        self.assertEqual({True}, {each.ipv6 for each in rules})
        for gone in self.facts.kernel.rules:
            self.assert_broken('policy-rules', healthy.with_lookup(
                healthy.with_kernel(self.facts, rules=tuple(
                    each for each in self.facts.kernel.rules
                    if each != gone)), 'out', dev='mgmt'))
        lost = healthy.with_lookup(healthy.with_kernel(
            self.facts, routes={200: ()}), 'out', **NO_ROUTE)
        self.assert_broken('leak-table', lost, 'fe80::a9fe:2')

    def test_a_rule_of_somebody_else(self):
        facts = self.facts
        for question in ('here', 'in', 'vrf'):
            facts = healthy.with_lookup(facts, question, **NO_ROUTE)
        other = facts.kernel.rules[0]._replace(
            priority=100, table=0, src=None, iif=None, ipv6=None,
            dst=facts.subject.prefix)
        changed = healthy.with_kernel(facts, towards=(other,))
        self.assert_broken('policy-rules', changed)
        self.assertIn(f'"ip -6 rule del priority 100 to {healthy.FIP6}/128"',
                      self.remedy(changed))

    def test_the_prefix_of_another_route_with_the_same_next_hop(self):
        """The kernel answers so; only the device tells for IPv6."""
        other = {'dst': '', 'table': 0, 'protocol': 0}
        for question in ('here', 'vrf', 'out vrf'):
            self.assertEqual([], self.found(healthy.with_lookup(
                self.facts, question, **other), Verdict.BROKEN), question)
        for check, facts, question, values in (
                ('kernel-route', self.facts, 'here',
                 {'dev': 'uplink', **other}),
                ('kernel-route', self.facts, 'here', {'table': 7}),
                ('vrf-lookup', self.facts, 'vrf', {'dev': 'uplink', **other}),
                ('vrf-lookup', healthy.case(), 'vrf',
                 {'dst': '198.51.100.99/32'})):
            self.assert_broken(check, healthy.with_lookup(
                facts, question, **values))

    def test_a_neighbour_that_is_named_by_its_device(self):
        """BGP unnumbered: eth1, in all places."""
        for address in (healthy.FIP6, healthy.FIP):
            facts = healthy.case(address)._replace(
                path=(True, True, ('eth1',)),
                neighbours=(frr.Neighbour('eth1', 'Established'),))
            self.assertEqual([], self.found(facts, Verdict.BROKEN))
            self.assertEqual('to eth1', self.evidence(facts, 'advertised'))
            self.assert_broken('bgp-neighbours', facts._replace(
                path=(True, True, ()), neighbours=(
                    frr.Neighbour('eth1', 'Idle (Admin)', asn='65101'),)))

    def test_a_next_hop_of_ipv6_for_ipv4(self):
        """RFC 8950: the default route of the VRF has such a next hop."""
        facts = healthy.with_lookup(healthy.case(), 'out vrf',
                                    via=healthy.FABRIC[6])
        self.assertEqual([], self.found(facts, Verdict.BROKEN))
        self.assertIn('0.0.0.0/0 via inet6 fe80::1 dev uplink',
                      self.evidence(facts, 'vrf-default'))
