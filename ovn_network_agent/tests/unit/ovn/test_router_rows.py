# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend northbound: the rows of this chassis."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.tests.functional.backends import northbound_rows
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.ovn import clouds

HERE, MAC = northbound_rows.HERE, northbound_rows.MAC
OTHER_MAC, GATEWAY = northbound_rows.OTHER_MAC, northbound_rows.GATEWAY
OURS, THEIRS = northbound_rows.OURS, northbound_rows.THEIRS


class WriteTest(northbound_rows.Rows, clouds.CloudTestCase):

    def test_each_difference_is_found(self):
        """Drift right after an answer that nothing has changed."""
        wanted = {self.route(), self.binding()}
        for table, row in (
                ('Logical_Router_Static_Route', {'nexthop': '198.51.100.7'}),
                ('Logical_Router_Static_Route', {'external_ids': {}}),
                ('Static_MAC_Binding', {'mac': OTHER_MAC})):
            self.create(*wanted)
            self.read_until(*wanted)
            _found, mark = self.backend.reread(frozenset, None)
            self.assertEqual((None, mark),
                             self.backend.reread(frozenset, mark))
            self.nb.update(table, {}, **row)
            found, _mark = self.backend.reread(frozenset, mark)
            self.assertNotEqual(wanted, set(found))
            self.nb.update('Logical_Router', {}, static_routes=[])
            self.nb.delete('Static_MAC_Binding')
            self.read_until()

    def test_what_another_agent_takes_over_is_no_drift(self):
        """And what somebody removes is drift."""
        wanted = self.route(), self.binding()
        refs = [each.ref for each in wanted]
        self.create(*wanted)
        self.read_until(*wanted)
        self.assertEqual(set(), self.backend.taken_over(refs))
        other = self.agent(cloud.OTHER_OWNER)
        theirs = self.route(owner=cloud.OTHER_OWNER)
        self.create(theirs, self.binding(OTHER_MAC), backend=other)
        self.read_until(known=refs)
        self.assertEqual(set(refs), self.backend.taken_over(refs))
        self.assertEqual({refs[0]}, self.backend.taken_over(refs[:1]))
        self.delete(theirs, self.binding(OTHER_MAC), backend=other)
        self.read_until(backend=other, known=refs)
        self.assertEqual(set(), self.backend.taken_over(refs))

    def test_both_families_and_a_half_of_a_network(self):
        """Each has a row of its own, which alone goes with it."""
        gateway = 'fe80::a9fe:a9fe'
        four, six = self.route(), self.route(nexthop=gateway, prefix='::/0')
        half = resources.OnLinkRoute(self.router, 'lrp-r1', gateway, six.owner,
                                     prefix='2001:db8::/65')
        binding = self.binding(ip=gateway)
        self.assertEqual({}, self.create(four, six, half, binding))
        self.read_until(four, six, half, binding)
        self.assertEqual(
            {('0.0.0.0/0', GATEWAY), ('::/0', gateway),
             ('2001:db8::/65', gateway)},
            {(row['ip_prefix'], row['nexthop']) for row
             in self.nb.rows('Logical_Router_Static_Route')})
        before = self.nb.content()
        self.assertEqual({}, self.create(four, six, half, binding))
        self.assertEqual(before, self.nb.content())
        self.assertEqual({}, self.delete(six))
        self.read_until(four, half, binding)
        self.assertEqual({}, self.delete(half, binding))
        self.read_until(four)

    def test_a_gateway_of_somebody_is_one_of_its_family(self):
        self.foreign('2001:db8::1', prefix='::/0')
        six = self.route(nexthop='fe80::a9fe:a9fe', prefix='::/0')
        self.assertEqual({}, self.create(self.route()))
        self.assertIn('not ours', self.create(six)[six.ref])

    def test_nothing_in_it_looks_like_neutrons(self):
        # Its database sync deletes rows with such keys.
        self.create(self.route())
        for key in self.routes()[0][3]:
            self.assertFalse(key.startswith('neutron'))

    def test_a_second_time_writes_nothing(self):
        for change in self.create, self.delete:
            change(self.binding(), self.route())
            before = self.nb.content()
            self.assertEqual({}, change(self.binding(), self.route()))
            self.assertEqual(before, self.nb.content())

    def uuids(self):
        return [self.nb.rows(table, '_uuid') for table in (
            'Logical_Router_Static_Route', 'Static_MAC_Binding')]

    def test_an_update_is_made_in_place(self):
        self.create(self.route(nexthop='198.51.100.253', lrp='lrp-old'),
                    self.binding(OTHER_MAC))
        rows = self.uuids()
        self.assertEqual({}, self.backend.apply(backends.Delta(update=(
            (self.route(nexthop='198.51.100.253'), self.route()),
            (self.binding(OTHER_MAC), self.binding())))))
        self.assertEqual([('neutron-r1', GATEWAY, 'lrp-r1', OURS)],
                         self.routes())
        self.assertEqual({('lrp-r1', GATEWAY): MAC}, self.bindings())
        self.assertEqual(rows, self.uuids())

    def test_a_binding_that_does_not_override_is_mended(self):
        self.create(self.route(), self.binding())
        before = self.nb.rows('Static_MAC_Binding')[0]['_uuid']
        self.nb.update('Static_MAC_Binding', {}, override_dynamic_mac=False)
        self.read_until(self.route(), self.binding(''))
        self.delete(self.binding(OTHER_MAC))
        self.assertEqual(1, len(self.bindings()))
        self.assertEqual({}, self.backend.apply(backends.Delta(
            update=((self.binding(''), self.binding()),))))
        self.read_until(self.route(), self.binding())
        row, = self.nb.rows('Static_MAC_Binding')
        self.assertEqual((before, MAC, True), (
            row['_uuid'], row['mac'], row['override_dynamic_mac']))
        # It goes as well as it is.
        self.nb.update('Static_MAC_Binding', {}, override_dynamic_mac=False)
        self.read_until(self.route(), self.binding(''))
        self.delete(self.binding(''))
        self.assertEqual({}, self.bindings())

    def test_a_take_over_is_made_in_place(self):
        self.foreign(GATEWAY, output_port='lrp-r1',
                     external_ids={**THEIRS, 'note': 'kept'})
        self.nb.insert('Static_MAC_Binding', logical_port='lrp-r1',
                       ip=GATEWAY, mac=OTHER_MAC, override_dynamic_mac=True)
        rows = self.uuids()
        self.assertEqual([], self.backend.read(frozenset(
            {self.route().ref, self.binding().ref})))
        self.assertEqual({}, self.create(self.binding(), self.route()))
        self.assertEqual(rows, self.uuids())
        self.assertEqual([('neutron-r1', GATEWAY, 'lrp-r1',
                           {**OURS, 'note': 'kept'})], self.routes())
        self.assertEqual({('lrp-r1', GATEWAY): MAC}, self.bindings())


class RaceTest(northbound_rows.Rows, clouds.CloudTestCase):
    """Somebody writes after the decision and before the server hears of it."""

    def test_a_router_is_deleted(self):
        wanted = self.route()
        base.meanwhile(self.backend,
                       lambda: self.cloud.remove_router('r1'))
        for _attempt in range(2):
            self.assertEqual({wanted.ref: 'the router is gone'},
                             self.create(wanted))
        self.assertEqual({}, self.delete(wanted))
        self.assertEqual([], self.nb.rows('Logical_Router_Static_Route'))

    def test_a_foreign_route_comes(self):
        base.meanwhile(self.backend,
                       lambda: self.cloud.add_static_route('r1'))
        self.assertEqual([self.route().ref], [*self.create(self.route())])
        self.assertEqual([{}], [ids for *_, ids in self.routes()])


class OlderNorthboundTest(northbound_rows.Rows, clouds.CloudTestCase):

    schema_changes = {'nb': schemas.without('Static_MAC_Binding')}

    def test_without_the_table_of_bindings(self):
        failures = self.create(self.binding(), self.route())
        self.assertEqual([self.binding().ref], list(failures))
        self.assertIn('Static_MAC_Binding', failures[self.binding().ref])
        self.assertEqual([('neutron-r1', GATEWAY, 'lrp-r1', OURS)],
                         self.routes())
        self.read_until(self.route())
        self.assertEqual({}, self.delete(self.binding(), self.route()))
        self.assertEqual([], self.routes())


class HostnameTest(northbound_rows.Rows, clouds.CloudTestCase):

    def test_without_a_host_name_nothing_is_ours(self):
        self.foreign(GATEWAY, external_ids={
            **OURS, ownership.EXT_ID_CHASSIS: ''})
        nameless = router_rows.NorthboundBackend(world.conf())
        nameless.attach(backends.Context(self.eyes_.databases))
        self.assertEqual([], nameless.read(frozenset()))
