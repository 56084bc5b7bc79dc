# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Load balancers of real databases in the view."""

from ovn_network_agent import model
from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.ovn import view_base
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = views.HERE


class BalancersTest(view_base.ViewTestCase):

    def test_load_balancers_of_a_router(self):
        """Port forwarding of Neutron has no NAT row, and is told anyhow."""
        eyes = self.eyes()

        def seen():
            return {(each.address, 'fip' in each.kinds, each.unanswered)
                    for each in eyes.addresses('r1').values()
                    if each.kinds != ('router',) and each.answered}

        def becomes(*wanted):
            self.eventually(lambda: seen() == set(wanted), seen)

        self.cloud.add_router('r1', chassis=HERE, networks=[
            '198.51.100.1/24', '2001:db8::1/64'])
        self.cloud.add_router('r2', chassis=HERE, mac='fa:16:3e:00:00:02')
        self.eventually(lambda: eyes.router('r1'), 'the router')
        becomes()
        one, two, three = ((f'198.51.100.{n}', True, '')
                           for n in (20, 21, 22))
        self.cloud.add_balancer('r1', '198.51.100.20:22', '198.51.100.20:80')
        becomes(one)
        self.cloud.add_balancer('r1', '198.51.100.21:22', group=True)
        becomes(one, two)
        # A change of a row changes addresses of the routers that have it,
        # and nothing else.
        routers, others = eyes.look().routers, eyes.addresses('r2')
        self.cloud.change_balancers('r1', '198.51.100.22:22')
        becomes(three)
        for one, other in zip(routers, eyes.look().routers, strict=True):
            self.assertIs(one, other)
        self.assertIs(others, eyes.addresses('r2'))
        self.cloud.remove_balancers('r1')
        becomes()
        self.cloud.add_balancer(
            'r1', '10.0.0.9', '[2001:db8::9]:80', '2001:db8::10',
            floating=False)
        becomes(('10.0.0.9', False, ''), ('2001:db8::9', False, ''),
                ('2001:db8::10', False, ''))
        # OVN has no flow for an address of IPv6 in no network of the port.
        self.cloud.change_balancers('r1', '[2001:db8:1::9]:80')
        becomes()
        self.assertEqual(
            model.BalancedAddress('2001:db8:1::9'),
            eyes.sources('r1', '2001:db8:1::9').balanced)

    def test_the_address_of_a_nat_row_of_another_router(self):
        """Decision record 0039; whichever row comes last."""
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('far', networks=['203.0.113.1/24'],
                              network=self.cloud.add_network())
        eyes = self.eyes()

        def reasons():
            return {each.address: each.unanswered
                    for each in eyes.addresses('r1').values()
                    if eyes.sources('r1', each.address).balanced}

        other = self.cloud.add_router('r3', chassis=HERE,
                                      mac='fa:16:3e:00:00:03')
        for group in (False, True):
            for name in ('far', 'r1'):
                # Of another network, and of the router itself.
                self.cloud.add_nat(name, '198.51.100.20')
            self.cloud.add_balancer('r1', '198.51.100.20:80', group=group)
            self.eventually(lambda: reasons() == {'198.51.100.20': ''},
                            reasons)
            self.cloud.add_nat('r3', '198.51.100.20')
            reason = f'it is the address of a NAT row of router {other}'
            self.eventually(lambda s=reason: reasons() == {'198.51.100.20': s},
                            reasons)
            self.cloud.change_nat('198.51.100.20',
                                  external_ip='198.51.100.21')
            self.eventually(lambda: reasons() == {'198.51.100.20': ''},
                            reasons)
            self.cloud.remove_balancers('r1')

    def test_load_balancers_that_cannot_be_announced(self):
        self.cloud.add_router('r1', chassis=HERE)
        for options, vips in (
                ({'template': 'true'}, ['^vip:^port', '198.51.100.20:1']),
                ({'neighbor_responder': 'none'}, ['198.51.100.21:1']),
                ({'distributed': 'true'}, ['198.51.100.22:1', 'fe80::1%x'])):
            self.cloud.add_balancer('r1', *vips, options=options)
        eyes = self.eyes()
        router = eyes.router('r1')
        seen = [eyes.addresses('r1')[address]
                for address in sorted(eyes.fips('r1'))]
        self.assertEqual([True, False, False],
                         [each.answered for each in seen])
        self.assertEqual(
            {'198.51.100.20': '',
             '198.51.100.21': 'its option neighbor_responder is none',
             '198.51.100.22': 'it is distributed, and the chassis of its '
                              'backends answer'},
            {each.address: each.unanswered for each in seen})
        self.assertEqual(2, len(router.problems))
        for text, problem in zip((
                "VIP '^vip:^port' is not announced, because it is a template",
                "VIP 'fe80::1%x' is not announced, because it is no IP "
                'address'), sorted(
                    router.problems, key=lambda p: 'fe80' in p), strict=True):
            self.assertIn(text, problem)

    def test_health_checks(self):
        """A VIP is withheld while none of its backends is online."""
        one, two = '10.0.0.5', '10.0.0.6'
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_balancer('r1', '198.51.100.20:80', floating=False)
        self.cloud.check_backends('r1', '198.51.100.20:80',
                                  backends=(f'{one}:80', f'{two}:80'))
        eyes = self.eyes(drivers=['fip_route', 'load_balancer'])

        def withheld(address='198.51.100.20', by=eyes):
            return by.addresses('r1')[address].withheld
        self.assertEqual('', withheld())
        self.cloud.report_backend(one, 'offline')
        self.cloud.report_backend(two, 'online')
        self.synchronise(eyes)
        self.assertEqual('', withheld())
        self.cloud.report_backend(two, 'error')
        self.eventually(withheld, 'no backend is left')
        self.assertEqual(selection.NO_BACKEND, withheld())
        self.assertEqual(views.timeless(views.fresh(eyes)),
                         views.timeless(eyes.look()))
        for options in ({}, {
                'drivers': ['fip_route', 'load_balancer'],
                'load_balancer__withdraw_without_backends': False}):
            self.assertEqual('', withheld(by=self.eyes(**options)))
        # The same address with another protocol, and no check.
        self.cloud.add_balancer('r1', '198.51.100.20:53', floating=False,
                                group=True)
        self.eventually(lambda: not withheld(), 'another port is served')
        self.cloud.remove_balancers('r1')
        self.eventually(lambda: '198.51.100.20' not in eyes.addresses('r1'),
                        'gone')

    def test_off_costs_no_row(self):
        """Without the driver, OVN sends nothing about health checks."""
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_balancer('r1', '198.51.100.20:80', floating=False)
        self.cloud.check_backends('r1', '198.51.100.20:80',
                                  backends=('10.0.0.5:80',))
        for drivers, there in ((['fip_route'], False),
                               (['fip_route', 'load_balancer'], True)):
            databases = self.eyes(drivers=drivers).databases
            with databases['nb'].rows() as nb, databases['sb'].rows() as sb:
                self.assertEqual(there, 'Service_Monitor' in sb)
                self.assertEqual(there, 'Load_Balancer_Health_Check' in nb)
                self.assertEqual(there, 'health_check' in next(
                    iter(nb['Load_Balancer'].values()))._data)

    def test_health_checks_of_ipv6_and_of_addresses_of_routers(self):
        self.cloud.add_router('r1', chassis=HERE, networks=[
            '198.51.100.1/24', '2001:db8::1/64'])
        self.cloud.add_balancer('r1', '198.51.100.1:80')
        self.cloud.check_backends(
            'r1', '[2001:db8::20]:80', '198.51.100.1:80',
            backends=('[fd00::5]:80',))
        self.cloud.report_backend('fd00::5', 'offline')
        eyes = self.eyes(drivers=['fip_route', 'load_balancer'])
        self.assertEqual(
            {'2001:db8::20': selection.NO_BACKEND, '198.51.100.1': '',
             '2001:db8::1': ''},
            {each.address: each.withheld
             for each in eyes.addresses('r1').values()})

    def test_another_tenants_backend_with_the_same_address(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_balancer('r1', '198.51.100.20:80', floating=False)
        self.cloud.check_backends('r1', '198.51.100.20:80',
                                  backends=('10.0.0.5:80',))
        self.cloud.report_backend('10.0.0.5', 'offline')
        self.sb.transact(ovsdb.insert(
            'Service_Monitor', ip='10.0.0.5', port=80, protocol='tcp',
            logical_port='another', status='online'))
        eyes = self.eyes(drivers=['fip_route', 'load_balancer'])
        self.assertEqual(selection.NO_BACKEND, eyes.addresses('r1')[
            '198.51.100.20'].withheld)

    def used(self, eyes):
        """Whether the address of the virtual gateway of r1 is in use."""
        return eyes.router('r1').ports[0].nexthop_used

    def test_a_tenants_own_network_does_not_count(self):
        """It may have any addresses, those of the provider network, too."""
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', networks=['203.0.113.1/24'],
                              network=self.cloud.add_network())
        self.cloud.add_port('r2', 'own', ['198.51.100.254/24'],
                            network=self.cloud.add_network())
        self.cloud.add_nat('r2', '198.51.100.254')
        for group in (False, True):
            self.cloud.add_balancer('r2', '198.51.100.254:80', group=group,
                                    floating=False)
        eyes = self.eyes()
        self.assertFalse(self.used(eyes))
        # Later ones do not count, either.
        self.cloud.change_balancers('r2', '198.51.100.254:81')
        self.cloud.change_nat('198.51.100.254', logical_ip='10.0.0.9')
        self.cloud.add_nat('r1', '198.51.100.10')
        self.eventually(lambda: eyes.fips('r1'), 'all of that is known')
        self.assertFalse(self.used(eyes))

    def test_a_load_balancer_that_comes_to_the_provider_network(self):
        """Whichever of router, port, group and balancer comes last."""
        self.cloud.add_router('r1', chassis=HERE)
        for number, group in enumerate((False, True)):
            name = f'lb{number}'
            self.cloud.add_router(name, networks=['203.0.113.1/24'],
                                  network=self.cloud.add_network())
            self.cloud.add_balancer(name, '198.51.100.254:80', group=group)
            eyes = self.eyes()
            self.assertFalse(self.used(eyes))
            self.cloud.add_port(name, name + 'b', ['198.51.100.2/24'])
            self.eventually(lambda: self.used(eyes),
                            'it is attached')
            self.cloud.remove_balancers(name)
            self.eventually(lambda: not self.used(eyes), 'it is gone')
            self.cloud.add_balancer(name, '198.51.100.254:81', group=group)
            self.eventually(lambda: self.used(eyes),
                            'another one')
            self.cloud.remove_balancers(name)
            self.eventually(lambda: not self.used(eyes), 'it is gone, too')
