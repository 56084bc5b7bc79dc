# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Virtual IPs in networks of tenants, in the view."""

import random

from ovn_network_agent import model
from ovn_network_agent.model import selection
from ovn_network_agent.tests.unit.ovn import clouds
from ovn_network_agent.tests.unit.ovn import test_view_tenants as tenants

ANNOUNCE, HERE = tenants.ANNOUNCE, clouds.HERE
NET, VIP, SECOND = '10.0.0.0/24', '10.0.0.200/32', '10.0.0.201/32'
SIX = '2001:db8:1::200/128'
HOSTS = {'tenant_network__advertisement_method': 'host'}
BEHIND = {'load_balancer__vips_behind_snat': True}
Claim = model.Claim


class TenantVipsTestCase(tenants.TenantsTestCase):
    """A router here, with a network of a tenant."""

    like = staticmethod(tenants.unclaimed)

    def setUp(self):
        super().setUp()
        self.datapath = self.cloud.add_tenant('r1', 'net', '10.0.0.1/24',
                                              '2001:db8:1::1/64')

    def eyes(self, drivers=('tenant_network', 'load_balancer'), **options):
        return super().eyes(drivers, **options)

    def balance(self, *vips, router='r1', **kwargs):
        self.cloud.add_balancer(router, *vips, floating=False, **kwargs)

    def translate(self, router='r1', network=NET):
        self.cloud.add_nat(router, '198.51.100.1', network, 'snat')


class AmongHostsTest(TenantVipsTestCase):
    """In networks whose single addresses are announced."""

    def test_every_vip_of_a_row(self):
        """Several ports, without a port, of both families, in a group."""
        eyes = self.eyes(**HOSTS, tenant_network__expose_ipv6_gua=True)
        self.become(eyes)
        self.balance('10.0.0.200:80', '10.0.0.200:443', '10.0.0.201',
                     '[2001:db8:1::200]:80', '198.51.100.20:80',
                     '172.16.0.1:80', options={'neighbor_responder': 'none'})
        found = self.become(eyes, VIP, SECOND, SIX)
        self.assertEqual((NET, 'net', '198.51.100.1', False), (
            found[VIP].subnet, found[VIP].network, found[VIP].via,
            found[VIP].alone))
        self.cloud.change_balancers('r1', '10.0.0.201:80')
        self.assertIs(found[SECOND], self.become(eyes, SECOND)[SECOND])
        self.cloud.remove_balancers('r1')
        self.become(eyes)
        self.balance('10.0.0.200:80', group=True)
        self.become(eyes, VIP)
        # A whole subnet has its virtual IPs.
        self.become(self.eyes(tenant_network__expose_ipv6_gua=True), NET,
                    '2001:db8:1::/64')
        self.become(self.eyes(['tenant_network'], **HOSTS))

    def test_health_checks_and_words(self):
        self.balance('10.0.0.200:80')
        self.cloud.check_backends('r1', '10.0.0.200:80',
                                  backends=('10.0.0.5:80',))
        eyes = self.eyes(**HOSTS)
        self.become(eyes, VIP)
        for status, reason in (('offline', selection.NO_BACKEND),
                               ('online', '')):
            self.cloud.report_backend('10.0.0.5', status)
            self.assertEqual(reason, self.become(eyes, *(
                [] if reason else [VIP]))[VIP].withheld)
        row = 'Load_Balancer', {'name': 'pf-r1'}
        self.cloud.say(*row, external_ids={ANNOUNCE: 'false'})
        self.assertIn(f'{ANNOUNCE}=false', self.become(eyes)[VIP].withheld)
        self.cloud.say(*row, external_ids={ANNOUNCE: 'true'})
        self.become(eyes, VIP)
        self.become(self.eyes(
            **HOSTS, announce__exclude_cidrs=['10.0.0.200/32']), VIP)
        self.cloud.say(*row, options={'distributed': 'true'})
        self.assertIn('it is distributed', self.become(eyes)[VIP].withheld)

    def test_a_machine_with_the_address(self):
        """The virtual IP has it, and both are named."""
        self.cloud.add_machine('vm', HERE, network=self.datapath,
                               mac=['fa:16:3e:00:00:09 10.0.0.200'])
        eyes = self.eyes(**HOSTS)
        self.become(eyes, VIP)
        self.assertEqual((), eyes.look().problems)
        self.balance('10.0.0.200:80', options={'distributed': 'true'})
        self.become(eyes)
        problem, = eyes.look().problems
        self.assertIn('10.0.0.200 is a virtual IP of a load balancer, and of '
                      'a machine', problem)


class AloneTest(TenantVipsTestCase):
    """In networks that a router translates."""

    def setUp(self):
        super().setUp()
        self.translate()
        self.balance('10.0.0.200:80')

    def test_by_option(self):
        self.assertEqual(
            'its router translates 10.0.0.0/24 (SNAT), and [load_balancer] '
            'vips_behind_snat is false',
            self.become(self.eyes())[VIP].withheld)
        for options in ({}, HOSTS):
            eyes = self.eyes(**BEHIND, **options)
            found = self.become(eyes, VIP)[VIP]
            self.assertEqual((NET, True), (found.subnet, found.alone))
        self.cloud.move('lrp-r1', clouds.AWAY)
        self.assertFalse(any(each.port.local
                             for each in self.found(eyes).values()))
        group, = eyes.look().groups
        self.assertEqual(((NET,), ()), (group.ports[0].balanced,
                                        group.ports[0].routed))
        self.assertTrue(eyes.view.cross_check.elsewhere(VIP))

    def test_scopes_and_words(self):
        found = self.become(self.eyes(
            **BEHIND, tenant_network__address_scopes=[tenants.SCOPE]))
        self.assertIn('no address scope', found[VIP].withheld)
        for prefix, wanted in ((VIP, [VIP]), (SECOND, [])):
            self.become(self.eyes(**BEHIND, announce__include_cidrs=[prefix]),
                        *wanted)

    def test_an_announced_network_of_another_router(self):
        """It has the address, whoever was first."""
        eyes = self.eyes(**BEHIND)
        self.become(eyes, VIP)
        self.cloud.add_router('r2', chassis=HERE)
        self.cloud.add_tenant('r2', 'theirs', '10.0.0.129/25')
        self.assertEqual('it is in 10.0.0.128/25 of router r2 (neutron-r2)',
                         self.become(eyes, '10.0.0.128/25')[VIP].withheld)
        self.translate('r2', '10.0.0.128/25')
        self.become(eyes, VIP)

    def test_a_provider_network_has_the_address(self):
        self.cloud.add_router('r2', networks=['10.0.0.193/26'])
        self.assertIn('it is in 10.0.0.192/26 of router r2',
                      self.become(self.eyes(**BEHIND))[VIP].withheld)

    def test_the_same_virtual_ip_of_another_router(self):
        """The first one stays; others of the same network do not matter."""
        eyes = self.eyes(**BEHIND)
        self.become(eyes, VIP)
        self.cloud.add_router('r2', chassis=HERE)
        self.translate('r2')
        self.cloud.add_tenant('r2', 'theirs', '10.0.0.1/24')
        self.balance('10.0.0.200:80', '10.0.0.201:80', router='r2')
        self.assertEqual({
            ('r1', VIP): (Claim.FIRST, (f'{VIP} of router r2 (neutron-r2)',)),
            ('r2', VIP): (Claim.REFUSED,
                          (f'{VIP} of router r1 (neutron-r1)',)),
            ('r2', SECOND): (Claim.UNCONTESTED, ())}, {
                (each.called.partition(' ')[0], each.prefix): (
                    each.claim, each.rivals)
                for known in self.as_new(eyes, self.like).tenants.values()
                for each in known.values() if each.alone})

    def test_malformed_ones_cost_only_themselves(self):
        self.cloud.change_balancers('r1', '10.0.0.200', '10.0.0.300:80',
                                    'web', '^vip:80', '10.0.0.201:x')
        eyes = self.eyes(**BEHIND)
        self.become(eyes, VIP, SECOND)
        self.assertEqual(
            ["VIP '10.0.0.300:80'", "VIP '^vip:80'", "VIP 'web'"],
            sorted(problem.partition(': ')[2].partition(' is')[0]
                   for each in eyes.look().routers
                   for problem in each.problems))

    def test_many_in_one_row(self):
        """They are all announced, and the row is named."""
        many = [f'10.1.{n // 250}.{n % 250 + 1}' for n in range(10000)]
        self.cloud.add_tenant('r1', 'wide', '10.1.255.254/16')
        self.translate(network='10.1.0.0/16')
        self.cloud.change_balancers('r1', *(f'{each}:80' for each in many))
        eyes = self.eyes(**BEHIND)
        self.become(eyes, *(f'{each}/32' for each in many))
        problem, = eyes.router('r1').problems
        self.assertIn('it has 10000 VIPs', problem)

    def test_a_random_history(self):
        """The view is always the one that somebody new would have."""
        chance = random.Random(11)
        eyes = self.eyes(**BEHIND, tenant_network__expose_ipv6_gua=True)
        self.cloud.add_router('r2', chassis=HERE)
        self.cloud.add_tenant('r2', 'theirs', '10.0.0.1/24')
        for _step in range(40):
            router = chance.choice(('r1', 'r2'))
            chance.choice((
                lambda: self.cloud.remove_balancers(router),
                lambda: self.balance(*chance.sample((
                    '10.0.0.200:80', '10.0.0.200:443', '10.0.0.201',
                    '[2001:db8:1::200]:80'), 2), router=router,
                    group=chance.random() < .5),
                lambda: self.cloud.remove_nat(router, '198.51.100.1'),
                lambda: self.translate(router)))()
            self.as_new(eyes, self.like)
