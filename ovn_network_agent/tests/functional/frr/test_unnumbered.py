# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What FRR says of announcements over BGP unnumbered (RFC 8950).

The privileged side, the observers and the readers of explain and doctor read
it; the neighbour is a real one, with routes in its kernel.
"""


import unittest

from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node.bgp import sessions
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.frr import setup
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import unnumbered
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches.frr import frr_fitness
from ovn_network_agent.watches.frr import frr_verification

FIPS = {4: '198.51.100.10/32', 6: '2001:db8:100::10/128'}
NETWORKS = {4: '198.51.100.0/24', 6: '2001:db8:100::/64'}
PEER = unnumbered.UPLINK
UP = {PEER: 'Established'}
DAEMONS = ['zebra', 'bgpd', 'staticd']
INSTANCE = 'router bgp 65001'


def of(version, *lines):
    """Lines of FRR in a family of the instance."""
    return (INSTANCE, f'address-family ipv{version:d} unicast', *lines)


class UnnumberedTest(base.FrrTestCase):

    make = unnumbered.Unnumbered

    def setUp(self):
        super().setUp()
        self.addCleanup(self.frr.restart_bgpd)
        self.frr.wait_for_session()
        for version, fip in FIPS.items():
            words, length = setup.WORDS[version], fip.partition('/')[2]
            self.frr.configure(
                f'{words} prefix-list {base.LIST} seq 900 permit '
                f'{NETWORKS[version]} ge {length} le {length}',
                f'{words} route {fip} {base.BRIDGE}')
        self.wait_announced(*FIPS.values())

    def wait_announced(self, *prefixes):
        """Until the neighbour has just these prefixes."""
        base.wait_until(
            lambda: self.frr.learned() | self.frr.learned6() ==
            set(prefixes), lambda: f'{self.frr.learned()} '
            f'{self.frr.learned6()} and not {prefixes}')

    def paths(self):
        return {version: frr.read_path('', fip)
                for version, fip in FIPS.items()}

    def test_fitness(self):
        observer = frr_fitness.Fitness(worlds.conf(
            drivers=['gateway_drain'], frr__vrf_name=''), stable=0)
        observer.check()
        self.assertEqual('', observer.judgement.lack)
        self.frr.configure(INSTANCE, f'neighbor {PEER} shutdown')
        self.assertIn('no BGP neighbour', base.wait_until(
            lambda: observer.check() and observer.judgement.lack,
            'unfit'))

    def test_fitness_with_ipv6_alone(self):
        self.frr.configure(*of(4, f'no neighbor {PEER} activate'))
        base.wait_until(
            lambda: bgp.read_sessions('', DAEMONS, 6)[1] == UP, 'a session')
        self.assertEqual({}, bgp.read_sessions('', DAEMONS)[1])
        self.assertEqual(UP, bgp.read_surroundings('', True)['neighbours'])
        observer = frr_fitness.Fitness(worlds.conf(
            drivers=['gateway_drain'], frr__vrf_name=''), stable=0)
        self.frr.configure(INSTANCE, f'neighbor {PEER} shutdown')
        self.assertIn('no BGP neighbour', base.wait_until(
            lambda: observer.check() and observer.judgement.lack,
            'unfit'))

    # -- explain ----------------------------------------------------------

    def in_its_kernel(self, kernel):
        """The routes of the neighbour to both, [] while one is missing."""
        found = [route for route in routes.read(kernel)
                 if route.dst in FIPS.values()]
        return found if len(found) == len(FIPS) else []

    def test_next_hops_of_ipv6(self):
        """At the neighbour, in the proof, in sessions, and in explain."""
        with (namespaces.entered(self.frr.neighbour.namespace.path),
              connection.Connection() as kernel):
            found = base.wait_until(lambda: self.in_its_kernel(kernel),
                                    'both are in the kernel')
            asked = lookups.look_up(kernel, '198.51.100.10')
        self.assertIn('198.51.100.10/32 via inet6 fe80::', asked.text())
        for route in found:
            self.assertEqual(PEER, route.dev)
            self.assertRegex(route.via, '^fe80::')
        self.assertEqual(set(FIPS.values()), frr_verification.advertised(
            '', FIPS.values()))
        self.assertEqual(UP, bgp.read_surroundings('', True)['neighbours'])
        for version in FIPS:
            self.assertEqual([[], UP, []],
                             bgp.read_sessions('', DAEMONS, version))
        for version, fip in FIPS.items():
            self.assertEqual([('static', True, True, base.BRIDGE)],
                             list(frr.read_zebra('', fip)))
            self.assertEqual((True, True, (PEER,)), frr.read_path('', fip))
            neighbour, = frr.read_neighbours('', version)
            self.assertEqual((PEER, 'Established', '65001'), (
                neighbour.name, neighbour.state, neighbour.asn))
            self.assertEqual(
                (f'prefix-list {base.LIST}',),
                frr.read_filters('', neighbour, version).filters)
            length = int(fip.partition('/')[2])
            self.assertEqual({daemon: [
                (900, 'permit', NETWORKS[version], length, length)]
                for daemon in ('zebra', 'bgpd')}, {
                daemon: [tuple(each) for each in found] for daemon, found
                in frr.read_lists(base.LIST, version).items()})

    def test_each_break_of_ipv6_is_of_ipv6_alone(self):
        self.frr.configure(*of(6, 'no redistribute static'))
        base.wait_until(lambda: self.paths() == {
            4: (True, True, (PEER,)), 6: (False, False, ())},
            lambda: self.paths())
        found = {version: frr.read_setup('', base.LIST, version)
                 for version in FIPS}
        self.assertEqual({4: ('static',), 6: ()}, {
            version: one.redistributes for version, one in found.items()})
        self.frr.configure(*of(6, 'redistribute static'),
                           f'ipv6 prefix-list {base.LIST} seq 5 deny '
                           f'{FIPS[6]}')
        base.wait_until(lambda: self.paths() == {
            4: (True, True, (PEER,)), 6: (True, True, ())},
            lambda: self.paths())
        self.wait_announced(FIPS[4])
        self._the_faults_of_each_family()

    # -- doctor -----------------------------------------------------------

    def faults(self, version):
        found = setup.Setup(*bgp.read_setup('', base.LIST, version))
        return [part for part, _text in setup.faults(
            found, '', 'static', base.LIST)]

    def _the_faults_of_each_family(self):
        self.assertEqual([[], []], [self.faults(each) for each in FIPS])
        for line, back, part in (
                ('no redistribute static', 'redistribute static',
                 setup.REDISTRIBUTION),
                (f'no neighbor {PEER} prefix-list {base.LIST} out',
                 f'neighbor {PEER} prefix-list {base.LIST} out',
                 setup.FILTER)):
            for version in FIPS:
                self.frr.configure(*of(version, line))
                self.assertEqual({version: [part], 10 - version: []}, {
                    each: self.faults(each) for each in FIPS})
                self.frr.configure(*of(version, back))

    def test_what_keeps_an_address_back(self):
        """And the neighbour has learned just what is said to pass."""
        self.assertEqual([doctor.OK], [one.verdict for one in self.judged()])
        line = f'ipv6 prefix-list {base.LIST} seq 5 deny {FIPS[6]}'
        self.frr.configure(line)
        self.wait_announced(FIPS[4])
        said, = self.judged()
        self.assertEqual(doctor.BROKEN, said.verdict)
        self.assertIn(f'"no {line}"', said.remedy)
        self.frr.configure(f'no {line}')
        self.wait_announced(*FIPS.values())
        self.frr.configure(
            'ipv6 prefix-list OTHER seq 5 permit 2001:db8:100::99/128',
            'route-map OUT permit 10',
            'match ipv6 address prefix-list OTHER',
            *of(6, f'neighbor {PEER} route-map OUT out'))
        self.addCleanup(self.frr.configure, 'no route-map OUT',
                        'no ipv6 prefix-list OTHER')
        self.wait_announced(FIPS[4])
        said, = self.judged()
        self.assertIn('route-map OUT has no entry', said.evidence)

    def judged(self):
        read = frr.read_outbound('', base.LIST, 6)
        return list(sessions.judge_outbound(sessions.Outbound(
            (ip_text.address(FIPS[6].partition('/')[0]),), base.LIST, tuple(
                (each.name, tuple(tuple(text.split(' ', 1))
                                  for text in each.filters))
                for each in read.neighbours), read.filters, 6)))


if __name__ == '__main__':
    unittest.main()
