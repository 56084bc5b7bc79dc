# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Load balancers in the view."""

from ovn_network_agent import model
from ovn_network_agent.model import selection
from ovn_network_agent.tests.unit.ovn import clouds

HERE = clouds.HERE
VIP = '198.51.100.20'
CHECKS = ['fip_route', 'load_balancer']


class BalancersTest(clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE, networks=[
            '198.51.100.1/24', '2001:db8::1/64'])

    def balance(self, vip, backends, address='', status=''):
        """A load balancer with health checks of its backends."""
        self.cloud.add_balancer('r1', vip, floating=False)
        self.cloud.check_backends('r1', vip, backends=backends)
        if address:
            self.cloud.report_backend(address, status)

    def withheld(self, eyes):
        return eyes.addresses('r1')[VIP].withheld

    def test_load_balancers_of_a_router(self):
        """Port forwarding of Neutron has no NAT row, and is told anyhow."""
        self.cloud.add_router('r2', chassis=HERE, mac='fa:16:3e:00:00:02')
        eyes = self.eyes()

        def becomes(*wanted, fip=True):
            self.assertEqual({(each, fip, '') for each in wanted}, {
                (each.address, 'fip' in each.kinds, each.unanswered)
                for each in eyes.addresses('r1').values()
                if each.kinds != ('router',) and each.answered})
        becomes()
        self.cloud.add_balancer('r1', f'{VIP}:22', f'{VIP}:80')
        becomes(VIP)
        self.cloud.add_balancer('r1', '198.51.100.21:22', group=True)
        becomes(VIP, '198.51.100.21')
        # A change of a row changes addresses of the routers that have it,
        # and nothing else.
        routers, others = eyes.look().routers, eyes.addresses('r2')
        self.cloud.change_balancers('r1', '198.51.100.22:22')
        becomes('198.51.100.22')
        for one, other in zip(routers, eyes.look().routers, strict=True):
            self.assertIs(one, other)
        self.assertIs(others, eyes.addresses('r2'))
        self.cloud.remove_balancers('r1')
        becomes()
        self.cloud.add_balancer('r1', '10.0.0.9', '[2001:db8::9]:80',
                                '2001:db8::10', floating=False)
        becomes('10.0.0.9', '2001:db8::9', '2001:db8::10', fip=False)
        # OVN has no flow for an address of IPv6 in no network of the port.
        self.cloud.change_balancers('r1', '[2001:db8:1::9]:80')
        becomes()
        self.assertEqual(model.BalancedAddress('2001:db8:1::9'),
                         eyes.sources('r1', '2001:db8:1::9').balanced)

    def test_the_address_of_a_nat_row_of_another_router(self):
        """Decision record 0039; whichever row comes last."""
        self.cloud.add_router('far', networks=['203.0.113.1/24'],
                              network=self.cloud.add_network())
        other = self.cloud.add_router('r3', chassis=HERE,
                                      mac='fa:16:3e:00:00:03')
        eyes = self.eyes()

        def becomes(reason):
            self.assertEqual({VIP: reason}, {
                each.address: each.unanswered
                for each in eyes.addresses('r1').values()
                if eyes.sources('r1', each.address).balanced})
        for group in (False, True):
            for name in ('far', 'r1'):
                # Of another network, and of the router itself.
                self.cloud.add_nat(name, VIP)
            self.cloud.add_balancer('r1', f'{VIP}:80', group=group)
            becomes('')
            self.cloud.add_nat('r3', VIP)
            becomes(f'it is the address of a NAT row of router {other}')
            self.cloud.change_nat(VIP, external_ip='198.51.100.21')
            becomes('')
            self.cloud.remove_balancers('r1')

    def test_load_balancers_that_cannot_be_announced(self):
        for options, vips in (
                ({'template': 'true'}, ['^vip:^port', f'{VIP}:1']),
                ({'neighbor_responder': 'none'}, ['198.51.100.21:1']),
                ({'distributed': 'true'}, ['198.51.100.22:1', 'fe80::1%x'])):
            self.cloud.add_balancer('r1', *vips, options=options)
        eyes = self.eyes()
        self.assertEqual(
            {VIP: (True, ''),
             '198.51.100.21': (False, 'its option neighbor_responder is none'),
             '198.51.100.22': (False, 'it is distributed, and the chassis of '
                                      'its backends answer')},
            {address: (eyes.addresses('r1')[address].answered,
                       eyes.addresses('r1')[address].unanswered)
             for address in eyes.fips('r1')})
        template, malformed = sorted(eyes.router('r1').problems,
                                     key=lambda problem: 'fe80' in problem)
        self.assertIn("VIP '^vip:^port' is not announced, because it is a "
                      'template', template)
        self.assertIn("VIP 'fe80::1%x' is not announced, because it is no IP "
                      'address', malformed)

    def test_health_checks(self):
        """A VIP is withheld while none of its backends is online."""
        one, two = '10.0.0.5', '10.0.0.6'
        self.balance(f'{VIP}:80', (f'{one}:80', f'{two}:80'))
        eyes = self.eyes(drivers=CHECKS)
        for address, status, reason in (
                (one, '', ''), (one, 'offline', ''), (two, 'online', ''),
                (two, 'error', selection.NO_BACKEND)):
            if status:
                self.cloud.report_backend(address, status)
            self.assertEqual(reason, self.withheld(eyes))
            self.as_new(eyes)
        for options in ({}, {
                'drivers': CHECKS,
                'load_balancer__withdraw_without_backends': False}):
            self.assertEqual('', self.withheld(self.eyes(**options)))
        # The same address with another protocol, and no check.
        self.cloud.add_balancer('r1', f'{VIP}:53', floating=False, group=True)
        self.assertEqual('', self.withheld(eyes))
        self.cloud.remove_balancers('r1')
        self.assertNotIn(VIP, eyes.addresses('r1'))

    def test_off_costs_no_row(self):
        """Without the driver, OVN sends nothing about health checks."""
        self.balance(f'{VIP}:80', ('10.0.0.5:80',))
        for drivers in (['fip_route'], CHECKS):
            eyes = self.eyes(drivers=drivers)
            with (eyes.databases['nb'].rows() as nb,
                  eyes.databases['sb'].rows() as sb):
                there = ('Service_Monitor' in sb,
                         'Load_Balancer_Health_Check' in nb, 'health_check' in
                         next(iter(nb['Load_Balancer'].values()))._data)
            self.assertEqual((drivers == CHECKS,) * 3, there)

    def test_health_checks_of_ipv6_and_of_addresses_of_routers(self):
        self.cloud.add_balancer('r1', '198.51.100.1:80')
        self.cloud.check_backends('r1', '[2001:db8::20]:80', '198.51.100.1:80',
                                  backends=('[fd00::5]:80',))
        self.cloud.report_backend('fd00::5', 'offline')
        eyes = self.eyes(drivers=CHECKS)
        self.assertEqual(
            {'2001:db8::20': selection.NO_BACKEND, '198.51.100.1': '',
             '2001:db8::1': ''},
            {each.address: each.withheld
             for each in eyes.addresses('r1').values()})

    def test_another_tenants_backend_with_the_same_address(self):
        self.balance(f'{VIP}:80', ('10.0.0.5:80',), '10.0.0.5', 'offline')
        self.sb.insert('Service_Monitor', ip='10.0.0.5', port=80,
                       protocol='tcp', logical_port='another', status='online')
        self.assertEqual(selection.NO_BACKEND,
                         self.withheld(self.eyes(drivers=CHECKS)))

    def is_used(self, eyes, used):
        """Whether the address of the virtual gateway of r1 is in use."""
        self.assertIs(used, eyes.router('r1').ports[0].nexthop_used)

    def test_a_tenants_own_network_does_not_count(self):
        """It may have any addresses, those of the provider network, too."""
        self.cloud.add_router('r2', networks=['203.0.113.1/24'],
                              network=self.cloud.add_network())
        self.cloud.add_port('r2', 'own', ['198.51.100.254/24'],
                            network=self.cloud.add_network())
        self.cloud.add_nat('r2', '198.51.100.254')
        for group in (False, True):
            self.cloud.add_balancer('r2', '198.51.100.254:80', group=group,
                                    floating=False)
        eyes = self.eyes()
        self.is_used(eyes, False)
        # Later ones do not count, either.
        self.cloud.change_balancers('r2', '198.51.100.254:81')
        self.cloud.change_nat('198.51.100.254', logical_ip='10.0.0.9')
        self.cloud.add_nat('r1', '198.51.100.10')
        self.is_used(eyes, False)

    def test_a_load_balancer_that_comes_to_the_provider_network(self):
        """Whichever of router, port, group and balancer comes last."""
        for name, group in (('lb0', False), ('lb1', True)):
            self.cloud.add_router(name, networks=['203.0.113.1/24'],
                                  network=self.cloud.add_network())
            self.cloud.add_balancer(name, '198.51.100.254:80', group=group)
            eyes = self.eyes()
            self.is_used(eyes, False)
            self.cloud.add_port(name, name + 'b', ['198.51.100.2/24'])
            for _twice in range(2):
                self.is_used(eyes, True)
                self.cloud.remove_balancers(name)
                self.is_used(eyes, False)
                self.cloud.add_balancer(name, '198.51.100.254:81', group=group)
            self.cloud.remove_balancers(name)
