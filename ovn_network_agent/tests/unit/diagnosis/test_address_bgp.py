# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What FRR makes of one address: facts in, findings out."""


from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.frr import output
from ovn_network_agent.frr import setup
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Outcome, Verdict = explained.Outcome, explained.Verdict
NO_ROUTE = explained.NO_ROUTE


class FrrTest(explained.AddressTestCase):

    def test_route_in_frr(self):
        for zebra in ((), (('static', False, False, '169.254.0.1'),),
                      (('static', True, False, '169.254.0.1'),),
                      (('bgp', True, True, '172.31.1.1'),)):
            facts = healthy.with_lookup(healthy.case(), 'vrf', **NO_ROUTE)
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
            changed = facts._replace(
                lists={**facts.lists, 'bgpd': entries},
                path=(True, True, ()))
            self.assert_broken('prefix-list-bgpd', changed)
            changed = facts._replace(lists={**facts.lists, 'zebra': entries})
            self.assertEqual([], self.found(changed, Verdict.BROKEN))
            self.assertEqual(['prefix-list-zebra'],
                             self.found(changed, Verdict.WARN))

    def test_redistribution(self):
        facts = healthy.case()._replace(path=(False, False, ()))
        whole = setup.Setup(True, '65101', ('static',), True, True)
        for frr_setup, word in (
                (whole._replace(redistributes=('connected',)),
                 'does not redistribute static'),
                (whole._replace(asn=''), 'no BGP instance'),
                (whole, 'but not 198.51.100.10/32'),
                (readers.Unread('vtysh hangs'), 'vtysh hangs')):
            changed = facts._replace(frr_setup=frr_setup)
            self.assert_broken('redistribute', changed, word)
        explained = explanation.explain(facts._replace(
            frr_setup=whole._replace(redistributes=())))
        self.assertIn(
            '"router bgp 65101 vrf vrf-provider" / "address-family ipv4 '
            'unicast" / "redistribute static"', explained.remedy[1])

    def test_neighbours(self):
        facts = healthy.case()._replace(path=(True, True, ()))
        self.assert_broken('bgp-neighbours', facts._replace(neighbours=()))
        self.assert_broken('bgp-neighbours', facts._replace(
            neighbours=(frr.Neighbour('172.31.1.1', 'Active'),)))
        up = frr.Neighbour('172.31.1.1', 'Established')
        down = frr.Neighbour('172.31.1.5', 'Idle')
        known = healthy.case()._replace(neighbours=(up, down))
        self.assertEqual(['bgp-neighbours'], self.found(known, Verdict.WARN))

    def test_a_session_that_somebody_has_shut_down(self):
        explained = explanation.explain(healthy.case()._replace(
            path=(True, True, ()), neighbours=(
                frr.Neighbour('172.31.1.1', 'Idle (Admin)', asn='65101'),)))
        self.assertIn('"router bgp 65101 vrf vrf-provider" / '
                      '"no neighbor 172.31.1.1 shutdown"',
                      explained.remedy[1])

    def test_advertised_to_nobody_and_to_some(self):
        one = frr.Neighbour('172.31.1.1', 'Established')
        other = frr.Neighbour('172.31.1.5', 'Established', ('route-map OUT',))
        facts = healthy.case()._replace(neighbours=(one, other))
        self.assert_one('advertised', facts, Verdict.WARN, 'route-map OUT')
        self.assert_broken('advertised', facts._replace(path=(True, True, ())))
