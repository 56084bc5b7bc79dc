# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routes, rows of others and rows with mistakes, in the view."""

from ovn_network_agent import model
from ovn_network_agent.tests.unit.ovn import clouds
from ovn_network_agent.tests.unit.ovn import egress

HERE = clouds.HERE


class RowsTest(clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)

    def test_whoever_takes_the_address_of_a_virtual_gateway(self):
        self.cloud.add_router('r2', chassis=clouds.AWAY,
                              networks=['203.0.113.1/24'])
        eyes = self.eyes()
        # A floating IP comes and moves, a router comes and goes.
        for happens, used in (
                (lambda: None, False),
                (lambda: self.cloud.add_nat('r2', '198.51.100.254'), True),
                (lambda: self.cloud.change_nat(
                    '198.51.100.254', external_ip='198.51.100.9'), False),
                (lambda: self.nb.update(
                    'Logical_Router_Port', {'name': 'lrp-r2'},
                    networks=['198.51.100.254/24']), True),
                (lambda: self.cloud.remove_router('r2'), False)):
            happens()
            self.assertIs(used, eyes.router('r1').ports[0].nexthop_used)

    def test_rows_of_egress_addresses(self):
        """An egress address is announced, the address of a machine is not.

        Nor is a machine a network of tenants, whose packets are dropped.
        """
        own, machine = '198.51.100.1', '10.0.0.6'
        one, two, more = (f'198.51.100.{n}' for n in (50, 51, 60))
        self.cloud.add_nat('r1', own, '10.0.0.0/24', 'snat')
        eyes = self.eyes()
        before = eyes.router('r1')

        def becomes(*announced):
            self.assertEqual(set(announced), eyes.addresses('r1').keys())
        self.cloud.add_nat('r1', one, '10.0.0.5', 'snat')
        self.cloud.add_nat('r1', machine, machine, 'snat')
        for address, marks in (
                (one, egress.marks('shop')),
                (machine, egress.marks('shop', '203.0.113.50', HERE))):
            self.nb.update('NAT', {'external_ip': address}, external_ids=marks)
        becomes(own, one)
        # OVN takes the machine's address for one outside, too.
        self.cloud.set_nat_addresses(
            'lrp-r1', f'fa:16:3e:00:00:01 {machine} {more} '
            'is_chassis_resident("cr-lrp-r1")')
        becomes(own, one, more)
        self.assertEqual(before, eyes.router('r1'))
        # A floating IP lets packets in.
        self.cloud.change_nat(machine, type='dnat_and_snat')
        becomes(own, one, more, machine)
        self.cloud.change_nat(machine, type='snat')
        becomes(own, one, more)
        # Somebody takes the marks away.
        self.nb.update('NAT', {'external_ip': machine}, external_ids={})
        self.cloud.change_nat(one, external_ip=two)
        becomes(own, two, more)
        self.assertEqual(before, eyes.router('r1'))
        self.cloud.remove_nat('r1', machine)
        self.cloud.remove_nat('r1', two)
        becomes(own, more)

    def test_a_malformed_nat_row_costs_only_itself(self):
        """Trap T19."""
        one, two, six = '198.51.100.10', '198.51.100.11', '2001:db8::10'
        for address in (one, 'not-an-ip', six):
            self.cloud.add_nat('r1', address)
        eyes = self.eyes()
        for old, new, fips, problem in (
                (one, one, {one, six}, "'not-an-ip'"),
                ('not-an-ip', two, {one, two, six}, ''),
                (one, '', {two, six}, "''")):
            self.cloud.change_nat(old, external_ip=new)
            self.assertEqual(fips, eyes.fips('r1'))
            problems = eyes.router('r1').problems
            self.assertEqual(bool(problem), bool(problems))
            self.assertIn(problem, ''.join(problems))

    def test_a_network_that_is_everything_costs_only_itself(self):
        """Trap T19: its rules would take the whole node along."""
        self.nb.update('Logical_Router_Port', {}, networks=[
            '198.51.100.1/24', '203.0.113.1/0', '2001:db8::1/0'])
        router = self.eyes().router('r1')
        self.assertEqual(('198.51.100.1/24',), router.ports[0].networks)
        self.assertEqual(2, len(router.problems))
        self.assertIn("'203.0.113.1/0' is everything",
                      ' '.join(router.problems))

    def test_the_mac_of_a_port_in_upper_case(self):
        """OVN takes it as it is; flows are compared in lower case."""
        self.nb.update('Logical_Router_Port', {}, mac='FA:16:3E:00:00:0A')
        self.assertEqual('fa:16:3e:00:00:0a',
                         self.eyes().router('r1').ports[0].mac)

    def test_default_routes(self):
        eyes = self.eyes()
        for last, prefix, more in (
                (9, '203.0.113.0/24', {}),
                (2, '0.0.0.0/0', {'route_table': 'other'}),
                (3, '0.0.0.0/0', {'policy': 'src-ip'}),
                (4, '0.0.0.0/0', {'policy': 'dst-ip',
                                  'output_port': 'lrp-r1'})):
            self.cloud.add_static_route('r1', prefix, f'198.51.100.{last}',
                                        **more)
        self.assertEqual((model.NbDefaultRoute(
            '198.51.100.4', 'lrp-r1', False),),
            eyes.router('r1').default_routes)

    def test_a_route_that_becomes_the_default_route(self):
        # It comes into the replica, of which it was no part, without a
        # change of its router.
        self.cloud.add_static_route('r1', '203.0.113.0/24')
        eyes = self.eyes()
        for prefix, there in (('203.0.113.0/24', 0), ('0.0.0.0/0', 1),
                              ('203.0.113.0/24', 0)):
            self.nb.update('Logical_Router_Static_Route', {}, ip_prefix=prefix)
            self.assertEqual(there, len(eyes.router('r1').default_routes))
            self.assertEqual(there, len(eyes.rows(
                'nb', 'Logical_Router_Static_Route')))
