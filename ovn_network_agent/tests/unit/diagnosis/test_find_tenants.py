# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Networks of tenants, by one-shot questions."""

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import owners
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.diagnosis import subjects
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

HERE, AWAY = cloud.CHASSIS, cloud.OTHER
NET, OTHER, VM = '10.0.0.0/24', '10.0.1.0/24', '10.0.0.5'
DRIVERS = ['fip_route', 'veth_leak', 'tenant_network']
HOSTS = {'tenant_network__advertisement_method': 'host'}
Kind, Claim = subject.Kind, model.Claim


class TenantsTestCase(subjects.Subjects, clouds.CloudTestCase):

    options = {'drivers': DRIVERS}

    def setUp(self):
        super().setUp()
        self.cloud.add_switch()
        self.cloud.add_router('r1', chassis=HERE)
        self.net = self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')

    def withheld(self, address=NET, **options):
        return self.subject(address, **options).withheld


class TenantsTest(TenantsTestCase):

    def test_by_prefix_and_by_address(self):
        for asked, address in (NET, '10.0.0.1'), (VM, VM):
            found = self.subject(asked)
            self.assertEqual(
                (Kind.TENANT, True, cloud.HOSTNAME, address, asked, NET, 'net',
                 '198.51.100.1', 3, ''),
                (found.kind, found.here, found.owner, found.address,
                 found.called, found.prefix, found.tenant.network,
                 found.nexthop, found.segment.patch_port, found.withheld))
            self.assertEqual(NET, found.announcement.prefix)
            self.assertIn(NET, {each.src for each in
                                found.wanted_of(resources.Rule)})
            self.assertTrue(found.wanted_of(resources.DefaultRoute))
            self.assertEqual({4}, {each.family for each in
                                   found.wanted_of(resources.Flow)})
        for asked in '10.0.0.0/25', '10.0.9.5', '10.0.0.0/8':
            self.assertIs(Kind.NOBODY, self.kind(asked))
        self.assertIs(Kind.NOBODY, self.kind(NET, drivers=DRIVERS[:2]))

    def test_the_view_of_the_agent_has_the_same(self):
        self.cloud.add_nat('r1', '198.51.100.1', OTHER, 'snat')
        self.cloud.add_tenant('r1', 'more', '10.0.1.1/24')
        self.eyes = super().eyes(drivers=DRIVERS)
        prefixes, = self.eyes.look().tenants.values()
        for asked in NET, OTHER:
            self.assertEqual(prefixes[asked], self.subject(asked).tenant)
        self.assertIn('(SNAT)', self.withheld(OTHER))

    def test_elsewhere(self):
        self.cloud.move('lrp-r1', AWAY)
        found = self.subject(VM)
        self.assertEqual((False, cloud.OTHER_HOSTNAME, Kind.TENANT),
                         (found.here, found.owner, found.kind))

    def test_what_withholds_it(self):
        scope = '33333333-2222-4333-8444-555555555555'
        for options, text in (
                ({'tenant_network__address_scopes': [scope]},
                 'it has no address scope'),
                ({'announce__exclude_networks': ['net']}, 'exclude_networks'),
                (HOSTS, 'only addresses of machines')):
            self.assertIn(text, self.withheld(**options))

    def test_single_addresses(self):
        # On a compute node, which is no candidate.
        self.sb.transact(
            ovsdb.insert('Encap', 'encap', chassis_name='c', type='geneve',
                         ip='192.0.2.9'),
            ovsdb.insert('Chassis', name='c', hostname='compute',
                         encaps=['named-uuid', 'encap']))
        self.cloud.add_machine('vm-1', 'c', network=self.net,
                               mac=[f'fa:16:3e:00:00:aa {VM}'])
        found = self.subject(VM, **HOSTS)
        self.assertEqual((VM + '/32', ''), (found.announcement.prefix,
                                            found.withheld))
        self.assertIn('only addresses of machines',
                      self.withheld('10.0.0.6', **HOSTS))
        self.cloud.add_nat('r1', '198.51.100.7', VM)
        self.assertIn('floating IP 198.51.100.7', self.withheld(VM, **HOSTS))

    def test_an_overlap(self):
        """The agent alone knows who was first."""
        self.cloud.add_router('r2', ('198.51.100.2/24',), HERE)
        self.cloud.add_tenant('r2', 'theirs', '10.0.0.129/25')
        found = self.subject(NET)
        self.assertEqual((Claim.UNKNOWN, (
            '10.0.0.128/25 of router r2 (neutron-r2)',)), (
                found.tenant.claim, found.tenant.rivals))
        for state, claim in (('announced', Claim.FIRST),
                             ('omitted', Claim.REFUSED)):
            conf = self.configuration()
            found = self.find(conf, NET, {'router': found.router.uuid,
                                          'state': state})
            self.assertIs(claim, found.tenant.claim)
            self.assertEqual(claim is Claim.FIRST,
                             found.announcement is not None)

    def test_the_same_prefix_behind_many_routers(self):
        """The one that is announced comes first."""
        for name, number in ('r2', 2), ('r3', 3):
            self.cloud.add_router(name, (f'198.51.100.{number}/24',), HERE)
            self.cloud.add_tenant(name, name, '10.0.0.1/24')
            self.cloud.add_nat(name, f'198.51.100.{number}', NET, 'snat')
        found = self.subject(VM)
        self.assertEqual(('net', 2, ''), (
            found.tenant.network, len(found.also), found.withheld))

    def test_an_extra_route(self):
        self.cloud.add_static_route('r1', '10.7.0.0/24', '10.0.0.9')
        self.assertIs(Kind.NOBODY, self.kind('10.7.0.5'))
        found = self.subject('10.7.0.5', tenant_network__extra_routes=True)
        self.assertEqual(('10.7.0.0/24', 'net'), (found.prefix,
                                                  found.tenant.network))

    def test_a_machine_with_a_port(self):
        """With provider_port, too, the network of the tenant has it."""
        self.cloud.add_machine(
            'vm-1', HERE, network=self.net,
            mac=[f'fa:16:3e:00:00:aa {VM}'], external_ids=ovsdb.ovsdb_dict(
                {'neutron:cidrs': VM + '/24'}))
        drivers = [*DRIVERS, 'provider_port']
        self.assertIs(Kind.TENANT, self.kind(VM, drivers=drivers))


class VirtualIpsTest(TenantsTestCase):

    options = {'drivers': [*DRIVERS, 'load_balancer']}
    VIP = '10.0.0.200'

    def of_vip(self, **options):
        found = self.subject(self.VIP, **options)
        self.assertIs(Kind.TENANT, found.kind)
        return found

    def test_a_virtual_ip(self):
        self.cloud.add_balancer('r1', f'{self.VIP}:80', floating=False)
        # The network as a whole has it.
        self.assertEqual(NET, self.of_vip().announcement.prefix)
        found = self.of_vip(**HOSTS)
        self.assertEqual(
            (self.VIP + '/32', True, ''),
            (found.announcement.prefix, found.tenant.vip, found.withheld))
        self.assertIn(f'virtual IP {self.VIP} in {NET} of network net',
                      owners.judge_tenant(found).evidence)
        self.cloud.check_backends('r1', f'{self.VIP}:80',
                                  backends=('10.0.0.5:80',))
        self.cloud.report_backend('10.0.0.5', 'offline')
        self.assertEqual(selection.NO_BACKEND,
                         self.of_vip(**HOSTS).withheld)
        self.assertIn('only addresses of machines', self.of_vip(
            drivers=DRIVERS, **HOSTS).withheld)

    def test_behind_snat(self):
        self.cloud.add_balancer('r1', f'{self.VIP}:80', floating=False,
                                group=True)
        self.cloud.add_nat('r1', '198.51.100.1', NET, 'snat')
        self.assertIn('vips_behind_snat is false', self.of_vip().withheld)
        found = self.of_vip(load_balancer__vips_behind_snat=True)
        self.assertEqual((self.VIP + '/32', True), (
            found.announcement.prefix, found.tenant.alone))
        self.assertIn('(SNAT)', self.withheld(
            NET, load_balancer__vips_behind_snat=True))

    def test_on_the_provider_network_and_nowhere(self):
        self.cloud.add_balancer('r1', '198.51.100.20:80', '172.16.0.1:80',
                                floating=False)
        for address in ('198.51.100.20', '172.16.0.1'):
            self.assertIs(Kind.BALANCER, self.kind(address))
