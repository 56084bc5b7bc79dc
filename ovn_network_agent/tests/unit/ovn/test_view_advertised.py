# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers that OVN routes, and what OVN advertises for them."""

from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

HERE = clouds.HERE
ROUTER = {'name': 'neutron-r1'}
OWN, FIP, OTHER, SIX = ('198.51.100.1', '198.51.100.10', '198.51.100.11',
                        '2001:db8::10')
ALL = {OWN, FIP, OTHER, SIX}


class AdvertisedTestCase(clouds.CloudTestCase):

    def eyes(self, **options):
        return super().eyes(**{'announce__advertised_routes': True, **options})

    def become(self, eyes, *announced, left=False):
        """Compare what is announced, by OVN if the router is left to it."""
        router = eyes.router('r1')
        self.assertEqual((left, not left, set(announced)), (
            router.routed_by_ovn, bool(router.local_ports), {
                address for address, each in eyes.addresses('r1').items()
                if (each.answered, each.withheld) == (
                    (False, selection.BY_OVN) if left else (True, ''))}))
        self.assertEqual({left}, {
            port.routed_by_ovn for group in self.as_new(eyes).groups
            for port in group.ports})


class RowsTest(AdvertisedTestCase):
    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        for address in (FIP, OTHER, SIX):
            self.cloud.add_nat('r1', address)
        self.dynamic('true')

    def dynamic(self, value):
        self.cloud.say('Logical_Router', ROUTER,
                       options={'dynamic-routing': value})

    def advertise(self, *prefixes):
        binding, = self.sb.rows('Port_Binding', where=ovsdb.clauses(
            {'logical_port': 'cr-lrp-r1'}))
        self.sb.transact(*(ovsdb.insert(
            'Advertised_Route', datapath=binding['datapath'],
            logical_port=binding['_uuid'], ip_prefix=prefix)
            for prefix in prefixes))

    def forget(self, prefix):
        self.sb.delete('Advertised_Route', ip_prefix=prefix)

    def test_off_by_default(self):
        self.advertise(FIP)
        eyes = self.eyes(announce__advertised_routes=False)
        self.become(eyes, *ALL, left=True)
        self.assertNotIn('Advertised_Route', eyes.databases['sb']._columns)

    def test_the_rows_decide(self):
        eyes = self.eyes()
        self.become(eyes)
        self.assertEqual(
            dict.fromkeys(ALL, selection.NOT_ADVERTISED),
            {address: each.withheld for address, each
             in eyes.addresses('r1').items()})
        # As ovn-northd writes it, and as a route.
        self.advertise(FIP, SIX + '/128')
        self.become(eyes, FIP, SIX)
        self.advertise(OWN + '/32')
        self.become(eyes, FIP, SIX, OWN)
        self.forget(FIP)
        self.become(eyes, SIX, OWN)
        # A connected network covers its addresses.
        self.advertise('198.51.100.0/24')
        self.become(eyes, *ALL)
        self.forget('198.51.100.0/24')
        self.become(eyes, SIX, OWN)

    def test_a_row_that_cannot_be_read(self):
        eyes = self.eyes()
        self.advertise('nonsense', '198.51.100.10/24', 'fe80::%x/64', FIP)
        self.become(eyes, FIP)

    def test_another_router_does_not_count(self):
        self.cloud.add_router('r2', ['198.51.100.2/24'], HERE,
                              mac='fa:16:3e:00:00:02')
        eyes = self.eyes()
        other, addresses = eyes.router('r2'), eyes.addresses('r2')
        self.advertise(FIP)
        self.become(eyes, FIP)
        self.assertEqual((['198.51.100.2'], '', False), (
            list(addresses), addresses['198.51.100.2'].withheld,
            other.routed_by_ovn))
        self.assertIs(other, eyes.router('r2'))
        self.assertIs(addresses, eyes.addresses('r2'))

    def test_a_router_that_ovn_does_not_route(self):
        eyes = self.eyes()
        self.advertise(FIP)
        self.become(eyes, FIP)
        self.dynamic('false')
        self.become(eyes, *ALL)

    def test_words_and_options_count_as_for_other_routers(self):
        eyes = self.eyes(announce__exclude_cidrs=[FIP + '/32'])
        self.advertise(FIP, OTHER)
        self.become(eyes, OTHER)
        for value, announced in (('true', ALL), ('false', ()),
                                 (None, {OTHER})):
            self.cloud.say('Logical_Router', ROUTER, external_ids={
                'ovn-network-agent:announce': value})
            self.become(eyes, *announced)


class MissingTest(AdvertisedTestCase):
    """SB of an OVN before 25.03."""

    schema_changes = {'sb': schemas.without('Advertised_Route')}

    def test_it_changes_nothing_and_says_so(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes()
        self.assertEqual((), eyes.router('r1').problems)
        self.cloud.say('Logical_Router', ROUTER,
                       options={'dynamic-routing': 'true'})
        self.become(eyes, OWN, left=True)
        problem, = eyes.router('r1').problems
        for part in ('neutron-r1', '[announce] advertised_routes',
                     'no table Advertised_Route', '25.03'):
            self.assertIn(part, problem)
