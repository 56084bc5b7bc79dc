# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routes, rows of others and rows with mistakes, in the view."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import view_base
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = views.HERE


class RowsTest(view_base.ViewTestCase):

    def test_whoever_takes_the_address_of_a_virtual_gateway(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', chassis=cloud.OTHER,
                              networks=['203.0.113.1/24'])
        eyes = self.eyes()

        def used():
            return eyes.router('r1').ports[0].nexthop_used

        self.assertFalse(used())
        self.cloud.add_nat('r2', '198.51.100.254')
        self.eventually(used, 'a floating IP')
        self.cloud.change_nat('198.51.100.254', external_ip='198.51.100.9')
        self.eventually(lambda: not used(), 'it moved')
        self.nb.transact(ovsdb.update(
            'Logical_Router_Port', {'name': 'lrp-r2'},
            networks=ovsdb.ovsdb_set(['198.51.100.254/24'])))
        self.eventually(used, 'a router')
        self.cloud.remove_router('r2')
        self.eventually(lambda: not used(), 'it is gone')

    def test_rows_of_egress_addresses(self):
        """An egress address is announced, the address of a machine is not.

        Nor is a machine a network of tenants, whose packets are dropped.
        """
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.1', '10.0.0.0/24', 'snat')
        eyes = self.eyes()
        before = eyes.router('r1')

        def announced():
            return {each.address for each in eyes.addresses('r1').values()}
        marks = {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
                 ownership.EXT_ID_EGRESS: 'shop'}
        for external, machine, more in (
                ('198.51.100.50', '10.0.0.5', {}),
                ('10.0.0.6', '10.0.0.6', {
                    ownership.EXT_ID_EGRESS_ADDRESS: '203.0.113.50',
                    ownership.EXT_ID_EGRESS_CHASSIS: HERE})):
            self.nb.transact(
                ovsdb.insert('NAT', 'nat', type='snat', external_ip=external,
                             logical_ip=machine,
                             external_ids=ovsdb.ovsdb_dict({**marks, **more})),
                ovsdb.mutate('Logical_Router', {'name': 'neutron-r1'}, 'nat',
                             'insert', ['named-uuid', 'nat']))
        self.eventually(lambda: '198.51.100.50' in announced(), announced)
        # OVN takes the machine's address for one outside, too.
        self.cloud.set_nat_addresses(
            'lrp-r1', 'fa:16:3e:00:00:01 10.0.0.6 198.51.100.60 '
            'is_chassis_resident("cr-lrp-r1")')
        self.eventually(lambda: '198.51.100.60' in announced(), announced)
        self.assertEqual({'198.51.100.1', '198.51.100.50', '198.51.100.60'},
                         announced())
        self.assertEqual(before, eyes.router('r1'))
        # A floating IP lets packets in.
        for kind, is_announced in (('dnat_and_snat', True), ('snat', False)):
            self.nb.transact(ovsdb.update(
                'NAT', {'external_ip': '10.0.0.6'}, type=kind))
            self.eventually(lambda wanted=is_announced: wanted is (
                '10.0.0.6' in announced()), announced)
        # Somebody takes the marks away; the next row tells when it is seen.
        self.nb.transact(
            ovsdb.update('NAT', {'external_ip': '10.0.0.6'},
                         external_ids=ovsdb.ovsdb_dict({})),
            ovsdb.update('NAT', {'external_ip': '198.51.100.50'},
                         external_ip='198.51.100.51'))
        self.eventually(lambda: '198.51.100.51' in announced(), announced)
        self.assertEqual({'198.51.100.1', '198.51.100.51', '198.51.100.60'},
                         announced())
        self.assertEqual(before, eyes.router('r1'))
        self.cloud.remove_nat('r1', '10.0.0.6')
        self.cloud.remove_nat('r1', '198.51.100.51')
        self.eventually(lambda: '198.51.100.51' not in announced(), announced)
        self.assertNotIn('10.0.0.6', announced())

    def test_a_malformed_nat_row_costs_only_itself(self):
        """Trap T19."""
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.cloud.add_nat('r1', 'not-an-ip')
        self.cloud.add_nat('r1', '2001:db8::10')
        eyes = self.eyes()
        self.assertEqual({'198.51.100.10', '2001:db8::10'}, eyes.fips('r1'))
        self.assertIn("'not-an-ip'", eyes.router('r1').problems[0])
        self.cloud.change_nat('not-an-ip', external_ip='198.51.100.11')
        self.becomes(eyes, lambda r: not r.problems, 'repaired')
        self.assertEqual({'198.51.100.10', '198.51.100.11', '2001:db8::10'},
                         eyes.fips('r1'))
        self.cloud.change_nat('198.51.100.10', external_ip='')
        self.becomes(eyes, lambda r: r.problems, 'broken again')
        self.assertEqual({'198.51.100.11', '2001:db8::10'}, eyes.fips('r1'))

    def test_a_network_that_is_everything_costs_only_itself(self):
        """Trap T19: its rules would take the whole node along."""
        self.cloud.add_router('r1', chassis=HERE, networks=[
            '198.51.100.1/24', '203.0.113.1/0', '2001:db8::1/0'])
        router = self.eyes().router('r1')
        self.assertEqual(('198.51.100.1/24',), router.ports[0].networks)
        self.assertEqual(2, len(router.problems))
        self.assertIn("'203.0.113.1/0' is everything",
                      ' '.join(router.problems))

    def test_the_mac_of_a_port_in_upper_case(self):
        """OVN takes it as it is; flows are compared in lower case."""
        self.cloud.add_router('r1', chassis=HERE)
        self.nb.transact(ovsdb.update(
            'Logical_Router_Port', {'name': 'lrp-r1'},
            mac='FA:16:3E:00:00:0A'))
        self.assertEqual('fa:16:3e:00:00:0a',
                         self.eyes().router('r1').ports[0].mac)

    def test_default_routes(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes()
        self.cloud.add_static_route('r1', '203.0.113.0/24')
        self.cloud.add_static_route('r1', '0.0.0.0/0', '198.51.100.2',
                                    route_table='other')
        self.cloud.add_static_route('r1', '0.0.0.0/0', '198.51.100.3',
                                    policy='src-ip')
        self.cloud.add_static_route('r1', '0.0.0.0/0', '198.51.100.4',
                                    policy='dst-ip', output_port='lrp-r1')
        router = self.becomes(eyes, lambda r: r.default_routes, 'a route')
        self.assertEqual((model.NbDefaultRoute(
            '198.51.100.4', 'lrp-r1', False),), router.default_routes)

    def test_a_route_that_becomes_the_default_route(self):
        # It comes into the replica, of which it was no part, without a
        # change of its router.
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_static_route('r1', '203.0.113.0/24')
        eyes = self.eyes()
        self.assertEqual((), eyes.router('r1').default_routes)
        self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {}, ip_prefix='0.0.0.0/0'))
        self.becomes(eyes, lambda r: r.default_routes, 'it is one')
        self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {}, ip_prefix='203.0.113.0/24'))
        self.becomes(eyes, lambda r: not r.default_routes, 'it is none')
