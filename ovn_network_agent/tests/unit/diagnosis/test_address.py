# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The judges of one address: facts in, findings out."""

import dataclasses
import pathlib

import ovn_network_agent
from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import gathering
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.openflow import trace_text
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.diagnosis import healthy

Verdict = explained.Verdict
NO_ROUTE = explained.NO_ROUTE
_ADMIN = (pathlib.Path(ovn_network_agent.__file__).parent.parent / 'doc' /
          'source' / 'admin')
# The column at which the evidence begins.
_EVIDENCE = 40
DEFAULT, PROVIDER = ownership.VETH_ENDS


class HealthyTest(explained.AddressTestCase):

    def test_everything_is_ok(self):
        both = (healthy.FIP, healthy.FIP6)
        for options, addresses in (
                ({}, both), ({'fip_route__announce_method': 'kernel'}, both),
                ({'fip_route__route_table_id': 100}, both),
                ({'frr__vrf_name': '', 'fip_route__announce_method': 'kernel'},
                 both), ({'frr__frr_prefix_list': ''}, both),
                ({'frr__bgp_check': False}, both),
                ({'network_cidr': ['198.51.100.0/24']}, both[:1])):
            for address in addresses:
                facts = healthy.case(address, **options)
                explained = self.assert_here(facts, *self.checks(facts))
                self.assertIsNone(explained.remedy)

    def test_counters_and_marks_are_evidence(self):
        for check, words in (('hairpin-flow', '7 packets'),
                             ('default-route', 'announced by gw1')):
            self.assertIn(words, self.evidence(healthy.case(), check))

    def test_the_page_shows_these_layers(self):
        page = (_ADMIN / 'troubleshooting.rst').read_text()
        shown = [line.strip() for line in page.partition(
            ': floating IP\n')[2].splitlines()]
        shown = shown[:shown.index('')]
        _head, *lines = explanation.explain(healthy.case()).text().splitlines()
        # The machine of this case is not known.
        self.assertEqual(
            [line[:_EVIDENCE] for line in lines],
            [line[:_EVIDENCE] for line in shown
             if not line[13:].startswith('machine ')])
        self.assertEqual(lines[-1], shown[-1])

    def test_the_order_is_that_of_the_path(self):
        checks = self.checks(healthy.case())
        self.assertEqual('nat-row', checks[0])
        for one, other in (('kernel-route', 'frr-route'),
                           ('frr-route', 'redistribute'),
                           ('redistribute', 'advertised')):
            self.assertLess(checks.index(one), checks.index(other))
        self.assertEqual(len(checks), len(set(checks)))
        self.assertLessEqual(set(checks), set(verdicts.LAYERS))


class BrokenTest(explained.AddressTestCase):

    def test_the_remedy_is_that_of_the_daemon_that_does_not_run(self):
        for method, missing in (('static', 'staticd'), ('kernel', 'zebra')):
            known = healthy.case(fip_route__announce_method=method)
            known = known._replace(missing_daemons=(missing,), zebra=(),
                                   path=(False, False, ()))
            self.assert_broken('frr-daemons', known)
            layer, remedy = explanation.explain(known).remedy
            self.assertEqual('daemons of FRR', layer)
            self.assertIn(f'set {missing} to "yes"', remedy)

    def test_flows(self):
        facts = healthy.case()
        for check, cookie in (('mac-tweak-flow', 0x999),
                              ('hairpin-flow', 0x998)):
            for values, word in ((None, ''), ({'cookie': 0x77}, '0x77'),
                                 ({'flow': 'other'}, 'other actions')):
                self.assert_broken(check, facts._replace(flows={
                    flow: found if flow.cookie != cookie else tuple(
                        each._replace(**values) for each in found if values)
                    for flow, found in facts.flows.items()}), word)

    def with_steps(self, facts, chosen, *flow):
        """Packets whose name or direction is chosen end in a flow."""
        return facts._replace(packet_traces=tuple(
            healthy.packet_trace(each.packet, facts.subject,
                                 trace_text.Step('br-ex', 0, *flow))
            if chosen(each.packet) else each for each in facts.packet_traces))

    def test_flows_of_other_programs(self):
        facts = healthy.case()
        lost = self.with_steps(
            facts, lambda packet: ' to ' in packet.name,
            'ip,nw_dst=198.51.100.10', 2000, 7, ('drop',))
        # Without ARP, the kernel finds no neighbour.
        lost = healthy.with_kernel(lost, neighbours={
            **facts.kernel.neighbours, ('br-ex', healthy.FIP): ('', 'FAILED')})
        self.assert_broken('other-flows', lost,
                           'br-ex table 0, cookie 0x7 priority 2000 '
                           'ip,nw_dst=198.51.100.10: drops ICMP to')
        self.assertIn(
            '"ovs-ofctl --strict del-flows br-ex cookie=0x7/-1,table=0,'
            'priority=2000,ip,nw_dst=198.51.100.10"', self.remedy(lost))

    def test_a_dropping_flow_in_the_place_of_ours_is_named_once(self):
        facts = healthy.case()
        wanted = next(each for each in facts.flows if each.cookie == 0x999)
        there, = facts.flows[wanted]
        facts = self.with_steps(
            facts, lambda packet: not packet.inward, 'ip,in_port=1', 900, 0x77,
            ('drop',))._replace(flows={
                **facts.flows, wanted: (there._replace(cookie=0x77),)})
        self.assert_broken('other-flows', facts)
        self.assertIn('follows from: flows of other programs',
                      self.evidence(facts, 'mac-tweak-flow'))

    def test_what_the_agent_and_the_switch_do_is_no_other_flow(self):
        for cookie, match, actions in (
                (0x999, 'ip', ('drop',)), (0, '', ('NORMAL',))):
            lost = self.with_steps(healthy.case(), lambda _packet: True, match,
                                   900, cookie, actions)
            self.assertEqual(['other-flows'], self.found(lost, Verdict.WARN))
            self.assertEqual([], self.found(lost, Verdict.BROKEN))

    def test_a_network_of_a_bridge_that_is_not_served(self):
        """The device that is judged is the one that was read."""
        found = healthy.case()
        port = found.subject.port
        segment = port.segment._replace(bridge='br-vlan', device='br-vlan.101')
        elsewhere = found.subject._replace(port=port._replace(segment=segment))
        found = found._replace(subject=elsewhere)
        self.assertEqual('br-ex', found.device)
        self.assertEqual('br-ex', gathering.kernel_wanted(
            elsewhere, found.setup).device)

    def test_bridge(self):
        facts = healthy.case()
        self.assert_broken('bridge-device', healthy.with_kernel(
            facts, addresses={**facts.kernel.addresses, 'br-ex': ()}))
        down = healthy.with_link(facts, 'br-ex', up=False)
        # The kernel removes the routes of such a device.
        for question in ('here', 'in', 'out'):
            down = healthy.with_lookup(down, question, **NO_ROUTE)
        self.assert_broken('bridge-device', down)
        self.assert_broken('bridge-device', healthy.with_kernel(
            facts, sysctls={path: '0' if 'br-ex' in path else value for
                            path, value in facts.kernel.sysctls.items()}))

    def test_neighbour(self):
        facts = healthy.case()
        for entry, verdict in ((('', 'FAILED'), Verdict.BROKEN),
                               (('', 'INCOMPLETE'), Verdict.WARN),
                               (('0a:0a:0a:0a:0a:0a', 'STALE'), Verdict.WARN)):
            changed = healthy.with_kernel(facts, neighbours={
                **facts.kernel.neighbours, ('br-ex', healthy.FIP): entry})
            self.assertEqual(['neighbour'], self.found(changed, verdict))

    def test_veth_pair(self):
        facts = healthy.case()
        down = healthy.with_link(facts, DEFAULT, up=False)
        # Its routes go, and what FRR resolves through it.
        for question in ('in', 'vrf', 'out'):
            down = healthy.with_lookup(down, question, **NO_ROUTE)
        down = healthy.with_kernel(down, routes={200: ()})
        for broken in (
                down._replace(zebra=(), path=(False, False, ())),
                *(healthy.with_kernel(facts, addresses={
                    **facts.kernel.addresses, name: ()})
                  for name in (DEFAULT, PROVIDER)),
                healthy.with_link(facts, PROVIDER, master=0),
                healthy.with_link(facts, PROVIDER, lower=99),
                # Without its permanent neighbours.
                healthy.with_kernel(facts, neighbours={
                    key: value for key, value
                    in facts.kernel.neighbours.items() if key[0] == 'br-ex'})):
            self.assert_broken('veth-pair', broken)

    def test_rules(self):
        facts = healthy.case()
        for rule in facts.kernel.rules:
            left = tuple(each for each in facts.kernel.rules if each != rule)
            changed = healthy.with_kernel(facts, rules=left)
            changed = healthy.with_lookup(changed, 'out', dev='mgmt')
            self.assert_broken('policy-rules', changed, str(rule.priority))

    def test_a_rule_of_somebody_else(self):
        """It decides before the rules of the agent, and is named alone."""
        facts = healthy.case()
        for question in ('here', 'in', 'vrf'):
            facts = healthy.with_lookup(facts, question, **NO_ROUTE)
        other = facts.kernel.rules[0]._replace(
            priority=100, table=0, src=None, iif=None,
            dst=facts.subject.prefix)
        elsewhere = other._replace(priority=50, dst='198.51.100.99/32')
        changed = healthy.with_kernel(facts, towards=(elsewhere, other))
        self.assert_broken('policy-rules', changed, '100')
        # A rule that leads to the same route does no harm.
        self.assertEqual([], self.found(healthy.with_kernel(
            healthy.case(), towards=(other,)), Verdict.BROKEN))

    def test_the_kernel(self):
        out = healthy.with_lookup(healthy.case(), 'out', **NO_ROUTE)
        here = healthy.with_lookup(
            healthy.case(), 'here', dst='0.0.0.0/0', dev='mgmt')
        for check, facts in (
                # rp_filter refuses a source that nothing leads back to.
                ('leak-table', healthy.with_kernel(healthy.with_lookup(
                    out, 'in', **NO_ROUTE), routes={200: ()})),
                ('kernel-route', healthy.with_lookup(here, 'in',
                                                     error='dropped')),
                # The VRF answers from the main table, or sends it back.
                ('vrf-default', healthy.with_lookup(
                    healthy.case(), 'out vrf', table=254, dev='mgmt')),
                ('vrf-default', healthy.with_lookup(
                    healthy.case(), 'out vrf', dev=PROVIDER)),
                *((check, healthy.with_lookup(healthy.case(), question,
                                              **NO_ROUTE))
                  for question, check in (('in', 'kernel-lookup'),
                                          ('vrf', 'vrf-lookup'),
                                          ('out', 'way-back'),
                                          ('out vrf', 'vrf-default')))):
            self.assert_broken(check, facts)

    def test_a_route_of_somebody_else(self):
        self.assert_one('kernel-route', healthy.with_lookup(
            healthy.case(), 'here', protocol=4), Verdict.WARN)

    def test_a_wider_route_to_the_pair(self):
        """Packets arrive; whether the address is announced is for FRR."""
        wider = {'dst': '198.51.100.0/24', 'protocol': 44}
        facts = healthy.with_lookup(healthy.case(), 'vrf', **wider)
        self.assert_one(
            'vrf-lookup', facts, Verdict.WARN, 'no route 198.51.100.10/32 in '
            f'the kernel; packets go to {PROVIDER} by a wider route: '
            '198.51.100.0/24 via')
        self.assertEqual([], self.found(facts, Verdict.BROKEN))
        facts = healthy.with_lookup(healthy.case(
            fip_route__announce_method='kernel'), 'vrf', **wider)
        self.assert_broken('vrf-lookup', facts._replace(
            zebra=(), path=(False, False, ())))

    def test_an_inner_address_that_no_port_has(self):
        """Packets reach OVN, and nobody answers."""
        for inside, verdict in (
                (northbound.InnerAddress('10.0.0.1/24', 'port'), Verdict.OK),
                (northbound.InnerAddress(), Verdict.BROKEN),
                (northbound.InnerAddress('10.0.0.1/24'), Verdict.BROKEN),
                (northbound.InnerAddress('10.0.0.1/24', judged=False),
                 Verdict.WARN),
                (readers.Unread('away'), Verdict.NOT_CHECKED)):
            facts = healthy.case()._replace(inner_address=inside)
            self.assertEqual(
                [] if verdict is Verdict.OK else [('machine', verdict)],
                [(each.check, each.verdict)
                 for each in explanation.explain(facts).findings
                 if each.verdict is not Verdict.OK], inside)

    def test_a_route_that_no_agent_removes(self):
        """Another program's, for the same address: the remedy shows it."""
        self.assertIn(f'"ip route show vrf vrf-provider {healthy.FIP}"',
                      self.remedy(healthy.with_lookup(
                          healthy.case(), 'vrf', dev='', error='unreachable')))

    def test_the_way_back_decides_about_the_way_in(self):
        """rp_filter refuses a source that nothing leads back to."""
        refused = {'error': 'the source is refused', 'refused': True}
        for cause, other, check in (('out', 'in', 'way-back'),
                                    ('in', 'out', 'kernel-lookup')):
            facts = healthy.with_lookup(healthy.case(), cause,
                                        error='dropped by a rule')
            self.assert_broken(check, healthy.with_lookup(
                facts, other, **refused))

    def test_without_a_way_to_the_sender_the_vrf_refuses_its_packets(self):
        facts = healthy.with_lookup(healthy.case(), 'vrf', **NO_ROUTE)
        # Kernels before 6.14 say so, newer ones do not.
        for refused in (True, False):
            self.assert_broken('vrf-lookup', healthy.with_lookup(
                facts, 'out vrf', error='the source is refused',
                refused=refused))
        lost = healthy.with_lookup(facts, 'out vrf', error='there is no '
                                   'route', missing=True)
        self.assertEqual(['vrf-lookup', 'vrf-default'],
                         self.found(lost, Verdict.BROKEN))

    def test_default_route_in_ovn(self):
        facts = healthy.case()
        self.assert_broken('default-route', facts._replace(bindings=()))
        router = dataclasses.replace(facts.subject.router, default_routes=())
        self.assert_broken('default-route', healthy.with_subject(
            facts, router=router))
        foreign = model.NbDefaultRoute('198.51.100.9', '', False)
        router = dataclasses.replace(router, default_routes=(foreign,))
        self.assertEqual([], self.found(healthy.with_subject(
            facts, router=router), Verdict.BROKEN))

    def test_only_causes_are_broken(self):
        facts = healthy.with_lookup(healthy.case(), 'here', **NO_ROUTE)
        facts = healthy.with_lookup(facts, 'in', **NO_ROUTE)
        self.assertIn('follows from: kernel route',
                      self.evidence(facts, 'kernel-lookup'))
