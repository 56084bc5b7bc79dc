# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routes to networks of tenants, in the kernel, within the limits."""

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.functional.netlink import base

MAIN = resources.MAIN_TABLE
NET, VIA = '10.0.0.0/24', '198.51.100.1'
SIX, VIA6 = '2001:db8:1::/64', '2001:db8::1'


def routed(dst=NET, via=VIA, metric=None):
    return resources.AnnouncedRoute(MAIN, dst, 'br-ex', via, metric)


class TenantRouteTest(base.KernelTestCase):

    driver_devices = ()

    def setUp(self):
        super().setUp()
        self.bridge_up()

    def configure(self, vrf_name='', drivers=('fip_route', 'tenant_network')):
        conf = configs.conf(
            ovn__ovn_nb_remote=['unix:/nowhere'],
            ovn__ovn_sb_remote=['unix:/nowhere'], frr__vrf_name=vrf_name,
            drivers=list(drivers))
        self.fix_limits(conf)
        self.backend = route.RouteBackend(conf)
        return conf

    def test_the_gateway_needs_no_route_of_its_own(self):
        """No address of br-ex is in the provider network."""
        self.assertEqual(set(self.create(self.backend, routed())),
                         {routed()})
        shown, = self.shown(f'-N route show {NET}')
        self.assertEqual((VIA, 'br-ex', '44', ['onlink']), (
            shown['gateway'], shown['dev'], shown['protocol'],
            shown['flags']))
        self.create(self.backend, routed())
        moved = routed(via='198.51.100.2')
        self.assertEqual([moved], self.change(
            self.backend, update=((routed(), moved),)))
        self.assertEqual(1, len(self.shown(f'route show {NET}')))
        self.assertEqual([], self.change(self.backend, delete=(moved,)))

    def test_ipv6_one_address_and_a_tag(self):
        wanted = (routed(SIX, VIA6), routed('10.0.0.5/32'),
                  routed('10.1.0.0/24', metric=4400001))
        self.assertEqual(set(wanted), {*self.create(self.backend, *wanted)})
        for each in wanted:
            family = '-6' if ':' in each.dst else '-4'
            shown, = self.shown(f'{family} route show {each.dst}')
            self.assertIn('onlink', shown['flags'])
        again = routed('10.1.0.0/24', metric=4400002)
        self.assertEqual({again, *wanted[:2]}, {*self.change(
            self.backend, create=wanted[:2], update=((wanted[2], again),))})
        self.assertEqual([], self.change(
            self.backend, delete=(again, *wanted[:2])))

    def refused(self, *items):
        return [each.dst for each in items if each.ref in self.backend.apply(
            backends.Delta(create=items))]

    def test_what_the_root_side_refuses(self):
        bad = (routed('0.0.0.0/1'), routed('0.0.0.0/0'),
               routed('224.0.0.0/24'), routed('::/8', VIA6),
               resources.KernelRoute(77, NET, 'br-ex', VIA),
               resources.KernelRoute(MAIN, NET, 'lo', VIA))
        self.assertEqual([each.dst for each in bad], self.refused(*bad))
        self.configure(drivers=('fip_route',))
        self.assertEqual([NET], self.refused(routed()))
