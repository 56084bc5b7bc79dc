# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Announcements over a numbered session of IPv6 with RFC 8950."""

from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.frr import setup
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import extended
from ovn_network_agent.watches.frr import frr_verification

FIPS = {4: '198.51.100.10/32', 6: '2001:db8:100::10/128'}
UP = {extended.THEIRS: 'Established'}
DAEMONS = ['zebra', 'bgpd', 'staticd']


class ExtendedTest(base.FrrTestCase):

    make = extended.Extended

    def setUp(self):
        super().setUp()
        self.addCleanup(self.frr.restart_bgpd)
        self.frr.wait_for_session()
        for version, fip in FIPS.items():
            words, length = setup.WORDS[version], fip.partition('/')[2]
            network = {4: '198.51.100.0/24', 6: '2001:db8:100::/64'}[version]
            self.frr.configure(
                f'{words} prefix-list {base.LIST} seq 900 permit {network} '
                f'ge {length} le {length}', f'{words} route {fip} '
                f'{base.BRIDGE}')
        self.wait_learned(*FIPS.values())

    def wait_learned(self, *prefixes):
        base.wait_until(
            lambda: self.frr.learned() | self.frr.learned6() ==
            set(prefixes), lambda: f'{self.frr.learned()} '
            f'{self.frr.learned6()} and not {prefixes}')

    def in_its_kernel(self):
        """The routes of the neighbour to both, list of Route."""
        with (namespaces.entered(self.frr.neighbour.namespace.path),
              connection.Connection() as kernel):
            return [route for route in routes.read(kernel)
                    if route.dst in FIPS.values()]

    def wait_forwards(self, *prefixes):
        """Until the neighbour forwards just these; gives its routes."""
        return base.wait_until(
            lambda: {route.dst for route in self.in_its_kernel()} ==
            set(prefixes) and self.in_its_kernel(),
            lambda: f'{self.in_its_kernel()} and not {prefixes}')

    def test_with_and_without_the_capability(self):
        """The agent reads what it reads over any session."""
        for route in self.wait_forwards(*FIPS.values()):
            self.assertRegex(route.via, f'^(fe80::|{extended.OURS}$)')
        self.assertEqual(set(FIPS.values()), frr_verification.advertised(
            '', FIPS.values()))
        for version, fip in FIPS.items():
            self.assertEqual([[], UP, []],
                             bgp.read_sessions('', DAEMONS, version))
            self.assertEqual((True, True, (extended.THEIRS,)),
                             frr.read_path('', fip))
            self.assertEqual([], list(setup.faults(setup.Setup(
                *bgp.read_setup('', base.LIST, version)), '', 'static',
                base.LIST)))
        # IPv4 gets a next hop that nobody can use, and IPv6 goes on.
        self.frr.configure('router bgp 65001', f'no {extended.CAPABILITY}')
        self.wait_forwards(FIPS[6])
        # The neighbour has both routes in BGP all the same.
        self.wait_learned(*FIPS.values())
        self.frr.configure('router bgp 65001', extended.CAPABILITY)
        self.wait_forwards(*FIPS.values())
