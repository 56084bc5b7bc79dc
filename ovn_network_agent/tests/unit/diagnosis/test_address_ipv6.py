# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An address of IPv6 is explained as one of IPv4, with its own commands."""


from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.frr import output
from ovn_network_agent.frr import setup
from ovn_network_agent.openflow import trace_text
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

NO_ROUTE = explained.NO_ROUTE
FABRIC = healthy.FABRIC[6]
Verdict = explained.Verdict
WHOLE = setup.Setup(True, '65101', ('static',), True, True, family=6)


class Ipv6Test(explained.AddressTestCase):

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
                    frr_setup=WHOLE._replace(redistributes=())),
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
        facts = healthy.with_lookup(healthy.case(), 'out vrf', via=FABRIC)
        self.assertEqual([], self.found(facts, Verdict.BROKEN))
        self.assertIn('0.0.0.0/0 via inet6 fe80::1 dev uplink',
                      self.evidence(facts, 'vrf-default'))
