# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers that OVN routes, and what OVN advertises for them."""

from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.ovn import northd as programs
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.functional.ovn import view_base
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = views.HERE
ROUTER = {'name': 'neutron-r1'}
OWN, FIP, OTHER, SIX = ('198.51.100.1', '198.51.100.10', '198.51.100.11',
                        '2001:db8::10')
ALL = {OWN, FIP, OTHER, SIX}
BESIDE = '198.51.100.12'


class AdvertisedTestCase(view_base.ViewTestCase):

    def eyes(self, **options):
        return super().eyes(**{'announce__advertised_routes': True,
                               **options})

    def route(self, eyes):
        """(whether it is left to OVN, whether it is served, announced).

        OVN is to announce the addresses of a router that is left to it.
        """
        router = eyes.router('r1')
        left = router.routed_by_ovn
        return (left, bool(router.local_ports), {
            address for address, each in eyes.addresses('r1').items()
            if (each.answered, each.withheld) == (
                (False, selection.BY_OVN) if left else (True, ''))})

    def see(self, eyes, *announced, left=False):
        """Wait for what is announced."""
        wanted = (left, not left, set(announced))
        self.eventually(lambda: self.route(eyes) == wanted,
                        lambda: (self.route(eyes), wanted))

    def become(self, eyes, *announced, left=False):
        """Wait for what is announced, and see that all views agree."""
        self.see(eyes, *announced, left=left)
        self.synchronise(eyes)
        self.assertEqual(views.timeless(views.fresh(eyes)),
                         views.timeless(eyes.look()))
        self.assertEqual({left}, {
            port.routed_by_ovn for group in eyes.look().groups
            for port in group.ports})


class RowsTest(AdvertisedTestCase):
    """The rows are written by hand, so each OVN can run these tests."""

    schema_changes = {'sb': schemas.with_advertised}

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
        self.sb.transact(ovsdb.delete('Advertised_Route', {
            'ip_prefix': prefix}))

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


@programs.needs_northd
class NorthdTest(AdvertisedTestCase):
    """What ovn-northd of this machine writes, or cannot write."""

    def setUp(self):
        super().setUp()
        for table in ('Port_Binding', 'Datapath_Binding'):
            self.sb.transact(ovsdb.delete(table, {}))
        self.nb.transact(
            ovsdb.insert('Logical_Switch_Port', 'net', name='provnet-1',
                         type='localnet', addresses='unknown',
                         options=ovsdb.ovsdb_map(network_name='physnet1')),
            ovsdb.insert('Logical_Switch_Port', 'lsp', name='lsp-r1',
                         type='router', addresses='router',
                         options=ovsdb.ovsdb_dict({
                             'router-port': 'lrp-r1',
                             'nat-addresses': 'router'})),
            ovsdb.insert('Logical_Switch', name='neutron-net',
                         ports=ovsdb.ovsdb_set([['named-uuid', 'net'],
                                                ['named-uuid', 'lsp']])),
            ovsdb.insert('Gateway_Chassis', 'gc', name='gc',
                         chassis_name=HERE, priority=2),
            ovsdb.insert('Logical_Router_Port', 'lrp', name='lrp-r1',
                         mac='fa:16:3e:00:00:01', networks=OWN + '/24',
                         gateway_chassis=['named-uuid', 'gc']),
            ovsdb.insert('NAT', 'fip', type='dnat_and_snat',
                         external_ip=FIP, logical_ip='10.0.0.5'),
            ovsdb.insert('NAT', 'other', type='dnat_and_snat',
                         external_ip=OTHER, logical_ip='10.0.0.6'),
            ovsdb.insert('Logical_Router', name='neutron-r1',
                         ports=['named-uuid', 'lrp'],
                         options=ovsdb.ovsdb_dict({
                             'dynamic-routing': 'true'}),
                         nat=ovsdb.ovsdb_set([['named-uuid', 'fip'],
                                              ['named-uuid', 'other']])))
        programs.start(self)
        self.eventually(
            lambda: self.sb.rows('Port_Binding', where=ovsdb.clauses(
                {'logical_port': 'cr-lrp-r1'})), 'northd has been')
        self.cloud.move('lrp-r1', HERE)

    def test_what_the_router_redistributes(self):
        eyes = self.eyes()
        self.eventually(lambda: eyes.router('r1'), 'the router')
        if not self.has_table():
            self.see(eyes, OWN, FIP, OTHER, left=True)
            self.assertIn('25.03', eyes.router('r1').problems[0])
            return
        self.see(eyes)
        self.redistribute('nat')
        self.see(eyes, FIP, OTHER)
        self.cloud.remove_nat('r1', OTHER)
        self.see(eyes, FIP)
        self.redistribute('connected')
        # The network of the port covers its floating IPs.
        self.see(eyes, OWN, FIP)
        self.redistribute(None)
        self.see(eyes)

    def test_a_router_beside_it(self):
        """OVN also has the routes of the neighbours of a router."""
        fields = {'options': ovsdb.ovsdb_dict({'router-port': 'lrp-r2'})}
        self.nb.transact(
            ovsdb.insert('Logical_Switch_Port', 'lsp', name='lsp-r2',
                         type='router', addresses='router', **fields),
            ovsdb.mutate('Logical_Switch', {'name': 'neutron-net'}, 'ports',
                         'insert', ovsdb.ovsdb_set([['named-uuid', 'lsp']])),
            ovsdb.insert('Gateway_Chassis', 'gc', name='gc2',
                         chassis_name=HERE, priority=2),
            ovsdb.insert('Logical_Router_Port', 'lrp', name='lrp-r2',
                         mac='fa:16:3e:00:00:02',
                         networks='198.51.100.2/24',
                         gateway_chassis=['named-uuid', 'gc']),
            ovsdb.insert('NAT', 'fip', type='dnat_and_snat',
                         external_ip=BESIDE, logical_ip='10.0.0.7'),
            ovsdb.insert('Logical_Router', name='neutron-r2',
                         ports=['named-uuid', 'lrp'],
                         nat=['named-uuid', 'fip']))
        self.redistribute('nat')
        eyes = self.eyes()
        self.eventually(lambda: eyes.router('r1'), 'the router')
        if not self.has_table():
            self.see(eyes, OWN, FIP, OTHER, left=True)
            return
        self.see(eyes, FIP, OTHER)
        self.eventually(lambda: {FIP, OTHER, BESIDE} == {
            row['ip_prefix'] for row in self.sb.rows('Advertised_Route')},
            lambda: self.sb.rows('Advertised_Route'))
        # Each address is announced with the router that translates it.
        self.see(eyes, FIP, OTHER)

    def has_table(self):
        return 'Advertised_Route' in self.eyes().databases['sb']._replicated

    def redistribute(self, value):
        self.cloud.say('Logical_Router_Port', {'name': 'lrp-r1'},
                       options={'dynamic-routing-redistribute': value})
