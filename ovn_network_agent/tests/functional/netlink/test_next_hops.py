# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routes of IPv4 with a gateway of IPv6 (RTA_VIA), in the kernel."""

from ovn_network_agent import resources
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.tests.functional.netlink import base

FIP = '198.51.100.10/32'
FABRIC = '203.0.113.0/24'
_VIA = 'via inet6 fe80::1 dev br-ex'


class NextHopsTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.bridge_up()

    def test_a_route_and_a_look_up(self):
        self.ip(f'route add {FABRIC} {_VIA}')
        with connection.Connection() as kernel:
            found, = [each for each in routes.read(kernel)
                      if each.dst == FABRIC]
            asked = lookups.look_up(kernel, '203.0.113.10')
        self.assertEqual(('br-ex', 'fe80::1'), (found.dev, found.via))
        self.assertEqual(('br-ex', 'fe80::1'), (asked.dev, asked.via))
        self.assertIn(f'{FABRIC} {_VIA} table 254', asked.text())

    def test_such_a_route_in_the_place_of_ours_is_seen_and_mended(self):
        wanted = resources.KernelRoute(resources.MAIN_TABLE, FIP, 'br-ex')
        backend = route.RouteBackend(self.conf)
        self.assertEqual([wanted], self.create(backend, wanted))
        self.ip(f'route replace {FIP} {_VIA} proto 44')
        found, = backend.read(frozenset([wanted.ref]))
        self.assertEqual((wanted.ref, 'fe80::1'), (found.ref, found.via))
        self.assertEqual([wanted], self.change(
            backend, update=((found, wanted),)))
        self.assertNotIn('inet6', self.ip(f'route show {FIP}'))
