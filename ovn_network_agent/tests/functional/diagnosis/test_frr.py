# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Doctor and a real FRR, of which one part after the other is broken."""

import unittest

from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.diagnosis.node.bgp import sessions
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.frr import base

INSTANCE = 'router bgp 65001'
FAMILY = (INSTANCE, 'address-family ipv4 unicast')
ALL = ('frr-daemons', 'frr-vrf', 'bgp-instance', 'bgp-redistribution',
       'bgp-filter', 'prefix-list', 'bgp-sessions')
# These checks need the addresses, which are in OVN.
OF_OVN = ('outbound-filters', 'route-tags')
# The same checks for IPv6: see test_unnumbered, and test_ovn for the nodes
# that they concern.
OF_IPV6 = {'redistribution-ipv6', 'bgp-filter-ipv6', 'prefix-list-ipv6',
           'bgp-sessions-ipv6', 'outbound-ipv6'}
# See test_power.
OF_POWER = 'bgp-hold-time'
OF_NEXT_HOPS = 'bgp-next-hops'
# See test_method.
ADVICE = 'announce-method'
# See unit.diagnosis.node.test_evpn, and lab.test_evpn.
OF_EVPN = {'evpn-instance', 'evpn-sessions', 'evpn-vnis'}
# The neighbour sends nothing.
HEALTHY = {**dict.fromkeys(ALL, doctor.OK), 'bgp-sessions': doctor.WARN}
ADDRESSES = tuple(map(ip_text.address, ('198.51.100.10', '198.51.100.11')))


class FrrDoctorTest(doctor.Looks, base.FrrTestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.of_frr_alone(base.BRIDGE)
        self.in_this_process()
        self.addCleanup(self.frr.restart_bgpd)
        self.frr.wait_for_session()

    def verdicts(self):
        return {name: verdict for name, (verdict, _why)
                in doctor.look(self.conf, *ALL).items()}

    def assert_broken(self, name, *unchecked):
        """Only one check fails; what depends on it is not made."""
        self.assertEqual(
            {**HEALTHY, name: doctor.BROKEN,
             **dict.fromkeys(unchecked, doctor.NOT_CHECKED)},
            self.verdicts())

    def test_each_fault_that_the_lab_does_not_make(self):
        """See lab.test_doctor for the others."""
        self.assertEqual(HEALTHY, self.verdicts())
        self.assertIn('FRR ', doctor.look(self.conf, 'versions')[
            'versions'][1])
        with self.wedged('bgpd'):
            found = doctor.look(self.conf, *ALL, 'rp-filter')
        self.assertEqual(doctor.NOT_CHECKED, found['bgp-sessions'][0])
        self.assertEqual(doctor.OK, found['rp-filter'][0], found)
        self._without_a_daemon()
        self._a_route_map_that_does_not_exist()
        self.frr.configure('no router bgp 65001')
        self.assert_broken('bgp-instance', 'bgp-redistribution',
                           'bgp-filter', 'bgp-sessions')
        self.frr.restart_bgpd()
        self._a_prefix_list_in_both_and_in_zebra()

    def _without_a_daemon(self):
        self.frr.configure(INSTANCE, 'neighbor 10.0.0.2 bfd')
        self.assertIn('bfdd', self.looked('frr-daemons', doctor.BROKEN))
        self.frr.configure(INSTANCE, 'no neighbor 10.0.0.2 bfd')
        self.frr.kill('staticd')
        try:
            self.assert_broken('frr-daemons', *ALL[1:])
            self.assertIn('staticd', self.looked('frr-daemons',
                                                 doctor.BROKEN))
            # Only static announcements need staticd.
            self.conf.set_override('announce_method', 'kernel', 'fip_route')
            self.looked('frr-daemons', doctor.OK)
        finally:
            self.conf.clear_override('announce_method', 'fip_route')
            self.frr.start('staticd')

    def _a_route_map_that_does_not_exist(self):
        self.frr.configure(*FAMILY, 'redistribute static route-map NOWHERE')
        self.assert_broken('bgp-redistribution')
        self.assertIn('NOWHERE', self.looked('bgp-redistribution',
                                             doctor.BROKEN))
        self.frr.configure('route-map NOWHERE permit 10')
        self.addCleanup(self.frr.configure, 'no route-map NOWHERE')
        self.looked('bgp-redistribution', doctor.OK)

    def _a_prefix_list_in_both_and_in_zebra(self):
        line = f'ip prefix-list {base.LIST} seq 7 permit 10.0.0.0/8'
        self.frr.configure(line)
        self.assertIn('1 entry', self.looked('prefix-list', doctor.OK))
        self.addCleanup(self.frr.configure, 'no ' + line)
        self.frr.restart_bgpd()
        self.assertIn('only zebra', self.looked('prefix-list',
                                                doctor.BROKEN))


class FiltersTest(base.FrrTestCase):
    """What keeps an address back, and what bgpd makes of it in fact."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.frr.restart_bgpd)
        # The line of the agent, in a number below its own.
        line = f'ip prefix-list {base.LIST} seq 900 permit 0.0.0.0/0 le 32'
        self.frr.configure(line, *(
            f'ip route {address}/32 192.0.2.2' for address in ADDRESSES))
        self.addCleanup(self.frr.configure, f'no {line}', *(
            f'no ip route {address}/32 192.0.2.2' for address in ADDRESSES))
        self.frr.wait_for_session()

    def judged(self):
        read = frr.read_outbound('', base.LIST)
        return list(sessions.judge_outbound(sessions.Outbound(
            ADDRESSES, base.LIST, tuple(
                (each.name, tuple(tuple(text.split(' ', 1))
                                  for text in each.filters))
                for each in read.neighbours), read.filters)))

    def assert_passing(self, verdict, passing, *words):
        """The verdict, and that the neighbour has learned just as much."""
        said = self.judged()
        self.assertEqual([verdict], [one.verdict for one in said], said)
        for word in words:
            self.assertIn(word, said[0].evidence + said[0].remedy)
        wanted = {f'{address}/32' for address in ADDRESSES[:passing]}
        base.wait_until(lambda: self.frr.learned() == wanted,
                        lambda: f'learned {self.frr.learned()}')
        return said[0]

    def test_what_keeps_addresses_back(self):
        """One after the other; each is taken away again."""
        ours = f'ip prefix-list {base.LIST} seq 7 deny'
        only = 'ip prefix-list OTHER seq 5 permit'
        self.assert_passing(doctor.OK, 2)
        for lines, out, verdict, passing, word in (
                ((f'{ours} {ADDRESSES[1]}/32',), '', doctor.WARN, 1,
                 f'"no {ours} {ADDRESSES[1]}/32"'),
                ((f'{ours} 198.51.100.0/24 ge 32',), '', doctor.BROKEN, 0,
                 '198.51.100.10'),
                ((f'{only} {ADDRESSES[1]}/32', 'route-map OUT deny 5',
                  'match ip address prefix-list OTHER',
                  'route-map OUT permit 10',
                  f'match ip address prefix-list {base.LIST}', 'call SUB',
                  'route-map SUB permit 1'), 'route-map OUT', doctor.WARN, 1,
                 'route-map OUT: deny 5'),
                (('route-map OUT permit 10', 'call SUB',
                  'route-map SUB deny 1'), 'route-map OUT', doctor.BROKEN, 0,
                 'route-map SUB: deny 1'),
                ((), 'route-map NOWHERE', doctor.BROKEN, 0,
                 'route-map NOWHERE does not'),
                (('route-map OUT permit 10',
                  'match ip address prefix-list NOWHERE'), 'route-map OUT',
                 doctor.BROKEN, 0, 'has no entry for the route'),
                ((f'{only} {ADDRESSES[0]}/32',), 'prefix-list OTHER',
                 doctor.WARN, 1, 'OTHER has no entry'),
                ((), 'prefix-list NOWHERE', doctor.BROKEN, 0,
                 'NOWHERE does not exist')):
            of_peer = [f'neighbor 10.0.0.2 {out} out'] if out else []
            undo = [f'no neighbor 10.0.0.2 {out} out'] if out else []
            if out.startswith('prefix-list'):
                # A neighbour has one list.
                undo = [f'neighbor 10.0.0.2 prefix-list {base.LIST} out']
            self.frr.configure(*lines, *FAMILY, *of_peer)
            self.frr.vtysh('clear ip bgp * soft out')
            self.assert_passing(verdict, passing, word)
            self.frr.configure(*FAMILY, *undo)
            for line in lines:
                if line.startswith('ip '):
                    self.frr.configure(f'no {line}')
            for name in {line.split()[1] for line in lines
                         if line.startswith('route-map')}:
                self.frr.configure(f'no route-map {name}')
            self.frr.vtysh('clear ip bgp * soft out')
        self.assert_passing(doctor.OK, 2)


class NamesTest(unittest.TestCase):

    def test_all_checks_of_frr_are_here(self):
        self.assertEqual({*ALL, *OF_OVN, OF_POWER, OF_NEXT_HOPS, ADVICE,
                          *OF_IPV6, *OF_EVPN}, {
            check.name for check in examination.CHECKS
            if check.layer in ('FRR', 'BGP')})
