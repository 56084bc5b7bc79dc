# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Checks of what OVN says about routes: tags, and Advertised_Route."""

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.frr import base as frr
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

TAG = ownership.TAGS.start + 7
FAMILY, FAMILY6 = (('router bgp 65001', f'address-family ipv{version} unicast')
                   for version in (4, 6))


class TagsTest(doctor.Looks, base.OvsdbTestCase, frr.FrrTestCase):
    """The databases and FRR are real."""

    def setUp(self):
        super().setUp()
        self.in_this_process()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.cloud.add_nat('r1', '198.51.100.10')

    def look(self, verdict, *parts, **options):
        self.conf = self.of_databases(frr__vrf_name='', **options)
        found = self.looked('route-tags', verdict)
        for part in parts:
            self.assertIn(part, found)

    def test_tags(self):
        self.look(doctor.OK, 'no route has a tag')
        self.cloud.say('Logical_Router', {'name': 'neutron-r1'}, external_ids={
            ownership.EXT_ID_TAG: str(TAG)})
        self.look(doctor.WARN, f'{TAG} (2 addresses)', 'without a route map')
        self.frr.configure('route-map TAGGED permit 10', *FAMILY,
                           'redistribute static route-map TAGGED')
        self.addCleanup(self.frr.restart_bgpd)
        self.look(doctor.OK, f'tags of static routes: {TAG} (2 addresses)')
        self.look(doctor.WARN, 'kernel routes without a route map',
                  fip_route__announce_method='kernel')

    def test_each_family_needs_its_own_route_map(self):
        """Only the addresses of a family without a map are named."""
        self.cloud.add_router('r2', ('2001:db8:100::1/64',), cloud.CHASSIS,
                              mac='fa:16:3e:00:00:02')
        self.cloud.add_nat('r2', '2001:db8:100::10')
        tags = [f'r1:{TAG}', f'r2:{TAG + 1}']
        self.addCleanup(self.frr.restart_bgpd)
        self.frr.configure('route-map TAGGED permit 10')

        def look(verdict, part, absent=''):
            self.look(verdict, part, announce__router_tags=tags)
            if absent:
                self.assertNotIn(absent, self.looked('route-tags', verdict))
        four, six = f'{TAG} (2 addresses)', f'{TAG + 1} (2 addresses)'
        look(doctor.WARN, f'{four}, {six}')
        self.frr.configure(*FAMILY, 'redistribute static route-map TAGGED')
        look(doctor.WARN, six, four)
        self.frr.configure(*FAMILY, 'no redistribute static',
                           'redistribute static', *FAMILY6,
                           'redistribute static route-map TAGGED')
        look(doctor.WARN, four, six)
        self.frr.configure(*FAMILY, 'redistribute static route-map TAGGED')
        look(doctor.OK, f'{four}, {six}')


class NamesTest(doctor.Looks, base.OvsdbTestCase):

    def test_names_that_ovn_does_not_know(self):
        self.in_this_process()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.conf = self.of_databases(frr__vrf_name='', announce__router_tags=[
            f'r1:{TAG}', f'r9:{TAG}'], announce__network_tags=[f'net:{TAG}'])
        found = self.looked('withheld-addresses', doctor.WARN)
        self.assertIn('router_tags has r9, and OVN has no such router', found)
        self.assertIn('network_tags has net, and OVN has no such network',
                      found)
        self.assertNotIn('has r1,', found)


class AdvertisedTest(doctor.Looks, base.OvsdbTestCase):

    schema_changes = {'sb': schemas.with_advertised}

    def look(self, verdict, part, on=True):
        self.conf = self.of_databases(frr__vrf_name='',
                                      announce__advertised_routes=on)
        self.assertIn(part, self.looked('advertised-routes', verdict))

    def test_routes(self):
        self.in_this_process()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.look(doctor.OK, 'is off', on=False)
        self.look(doctor.OK, '0 routes for 0 routers')
        self.cloud.say('Logical_Router', {'name': 'neutron-r1'},
                       options={'dynamic-routing': 'true'})
        self.look(doctor.WARN, 'nothing for 1 router')
        binding, = self.sb.rows('Port_Binding', where=ovsdb.clauses(
            {'logical_port': 'cr-lrp-r1'}))
        self.sb.transact(ovsdb.insert(
            'Advertised_Route', datapath=binding['datapath'],
            logical_port=binding['_uuid'], ip_prefix='198.51.100.1'))
        self.look(doctor.OK, '1 route for 1 router')


class MissingTest(doctor.Looks, base.OvsdbTestCase):

    schema_changes = {'sb': schemas.without('Advertised_Route')}

    def test_without_the_table(self):
        self.in_this_process()
        self.conf = self.of_databases(frr__vrf_name='',
                                      announce__advertised_routes=True)
        self.assertIn('no table Advertised_Route',
                      self.looked('advertised-routes', doctor.WARN))
