# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What FRR and filters make of one address: facts in, findings out."""

import ipaddress

from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines
from ovn_network_agent.frr import setup
from ovn_network_agent.nft import filters
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Verdict, NO_ROUTE = explained.Verdict, explained.NO_ROUTE
FIP, OTHER = map(ipaddress.ip_address, (healthy.FIP, '198.51.100.99'))
UP = frr.Neighbour('172.31.1.1', 'Established')


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
        whole = setup.Setup(True, '65101', ('static',), True, True)
        for frr_setup, word in (
                (whole._replace(redistributes=('connected',)),
                 'does not redistribute static'),
                (whole._replace(asn=''), 'no BGP instance'),
                (whole, 'but not 198.51.100.10/32'),
                (readers.Unread('vtysh hangs'), 'vtysh hangs')):
            self.assert_broken('redistribute', facts._replace(
                frr_setup=frr_setup), word)
        self.assertIn(
            '"router bgp 65101 vrf vrf-provider" / "address-family ipv4 '
            'unicast" / "redistribute static"', self.remedy(facts._replace(
                frr_setup=whole._replace(redistributes=()))))

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
