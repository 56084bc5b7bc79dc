# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tags of routes: what drivers want for the addresses of a tagged port."""

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.drivers import fip_routes

FIP, OWN = '198.51.100.10', '198.51.100.1'
TAG = 4400001


class TagsTest(fip_routes.FipRouteTestCase):

    def tags(self, **values):
        """Tag of each announced prefix, for the ways to announce."""
        for options in ({}, {'frr__vrf_name': ''}):
            found = {each.prefix: each.tag for each in self.kind(
                resources.Announcement, world.router(**values), **options)}
            kernel = {each.dst: each.metric for each in self.kind(
                resources.AnnouncedRoute, world.router(**values),
                fip_route__announce_method='kernel', **options)}
            self.assertEqual(found, kernel)
            self.assertTrue(found)
            yield found

    def test_each_address_of_the_port_has_it(self):
        own, others = ({FIP + '/32': TAG, OWN + '/32': TAG},
                       {'203.0.113.10/32': TAG + 1, '203.0.113.1/32': TAG + 1})
        away = {'tag': TAG, 'local': False, 'chassis': 'other'}
        for what, wanted, values in (
                ('one port', own, {'fips': [FIP],
                                   'ports': (world.port(tag=TAG),)}),
                ('two ports', own | others, {
                    'fips': [FIP, '203.0.113.10'], 'ports': (
                        world.port(tag=TAG), world.port(
                            2, networks=('203.0.113.1/24',), tag=TAG + 1))}),
                ('a distributed floating IP', {FIP + '/32': TAG}, {
                    'ports': (world.port(**away, hosting=True),),
                    'nats': (world.fip(
                        FIP, distributed_mac='fa:16:3e:00:00:09',
                        resident=True),)}),
                ('a port that is handed over', own, {
                    'fips': [FIP], 'ports': (world.port(
                        **away, relay=7,
                        handover=model.Handover.ANNOUNCE),)})):
            for tags in self.tags(**values):
                self.assertEqual(wanted, tags, what)

    def test_other_routes_have_none(self):
        router = world.router(fips=[FIP], ports=(world.port(tag=TAG),))
        routes = self.kind(resources.KernelRoute, router)
        self.assertTrue(routes)
        for each in routes:
            self.assertIsNone(each.metric)
