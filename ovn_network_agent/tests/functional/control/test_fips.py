# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses of a running agent, over its socket."""

import json

from ovn_network_agent import resources
from ovn_network_agent.drivers import provider_port
from ovn_network_agent.drivers import tenant_network
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

FIPS = ['198.51.100.10', '198.51.100.11']


class AddressesTestCase(base.CtlTestCase):

    def fips(self, *argv):
        """The answer, by address."""
        found = json.loads(self.call('fips', *argv))
        return {each['address']: each for each in found['addresses']}

    def states(self, *argv):
        return {address: each['state']
                for address, each in self.fips(*argv).items()}


class FipsTest(AddressesTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=base.HERE)
        for address in FIPS:
            self.cloud.add_nat('r1', address)
        self.cloud.add_router('r2', ['198.51.100.2/24'], chassis=base.THERE)
        self.cloud.add_nat('r2', '198.51.100.20')

    def test_from_the_view_to_the_terminal(self):
        """A start takes long, so this is one test."""
        self.ready('lrp-r1', 'lrp-r2')
        self.eventually(lambda: set(self.states().values()) == {
            'announced'}, 'announced')
        self.assertLessEqual(set(FIPS), self.fips().keys())
        self.assertNotIn('198.51.100.20', self.fips())
        shown = self.ends(0, self.ctl('fips', '--router', 'r1')).stdout
        self.assertIn('ROUTER', shown.splitlines()[0])
        line = next(line for line in shown.splitlines()
                    if line.startswith(FIPS[0] + ' '))
        self.assertEqual(['fip', 'r1'], line.split()[1:3])
        self.assertIn('announced', line)
        self.assertNotIn('\x1b', shown)
        started = self.begun('fips', '--json', '--watch', '0.05')
        for _time in range(3):
            self.assertIn('addresses', json.loads(
                started.stdout.readline()))
        self._what_is_refused()
        self._what_cannot_be_made()

    def _what_is_refused(self):
        self.assertIn('no router "r9"', self.refused(
            'fips', '--router', 'r9'))
        self.assertIn('does not appear', self.refused('fips', 'nonsense'))
        ended = self.ends(1, self.ctl('fips', '203.0.113.9', '--json'))
        self.assertEqual(['203.0.113.9'],
                         json.loads(ended.stdout)['unknown'])
        self.assertIn('has nothing to do with it', ended.stderr)
        self.ends(2, self.ctl('fips', '--state', 'nonsense'))

    def _what_cannot_be_made(self):
        self.world.refuses[resources.Ref(
            'kernel_route', (254, '198.51.100.12/32'))] = 'no space'
        self.cloud.add_nat('r1', '198.51.100.12')
        self.eventually(
            lambda: self.states().get('198.51.100.12') == 'failed', 'failed')
        self.assertEqual(['198.51.100.12'],
                         list(self.fips('--state', 'failed')))
        shown = self.ends(0, self.ctl('fips', '198.51.100.12')).stdout
        self.assertIn('no space', shown)
        self.assertIn('waits', shown)
        one = self.fips('198.51.100.12')['198.51.100.12']
        self.assertEqual('r1', one['router_name'])
        self.assertIn('refused', {
            row['state'] for row in one['resources']})

    def test_names_of_tenants_and_chassis_obey_nobody(self):
        name = 'r1\ndegraded: no\x1b[2J\u202etxt'
        self.nb.transact(ovsdb.update(
            'Logical_Router', {'name': 'neutron-r1'},
            external_ids=ovsdb.ovsdb_dict({'neutron:router_name': name})))
        self.sb.transact(ovsdb.update('Chassis', {'name': base.THERE},
                                      hostname='there\nhere\x07'))
        self.ready('lrp-r1', 'lrp-r2')
        self.eventually(lambda: set(self.states().values()) == {
            'announced'}, 'announced')
        shown = ''.join(self.ends(0, self.ctl(*command)).stdout
                        for command in (['status', '--verbose'], ['fips']))
        self.assertEqual([], [line for line in shown.splitlines()
                              if not line.isprintable()])
        self.assertEqual(1, shown.splitlines().count('degraded: no'))
        self.assertIn('r1\\ndegraded: no\\x1b[2J\\u202etxt', shown)
        self.assertIn('there\\nhere\\x07', shown)

    def test_without_ovn(self):
        """Also while the agent waits for its first view."""
        self.nb.pause()
        self.addCleanup(self.nb.resume)
        self.agent()
        self.eventually(self.phase, 'an answer')
        self.assertEqual({}, self.fips())


class MachinesTest(AddressesTestCase):

    drivers = {**base.CtlTestCase.drivers,
               'provider_port': provider_port.ProviderPortDriver}
    VM = '198.51.100.30'

    def setUp(self):
        super().setUp()
        self.cloud.add_switch()
        self.cloud.add_machine(
            'vm-1', base.HERE, network=self.cloud.network,
            mac=[f'fa:16:3e:00:00:aa {self.VM}'],
            external_ids=ovsdb.ovsdb_dict({'neutron:cidrs': self.VM + '/24'}))
        self.agent(drivers=[*base.DRIVERS, 'provider_port'])
        self.eventually(self.phase, 'an answer')
        self.eventually(lambda: self.states().get(self.VM) == 'announced',
                        'announced')

    def test_from_the_view_to_the_terminal(self):
        """And the plan: what is missing, and what cannot be announced."""
        shown = self.ends(0, self.ctl('addresses', self.VM)).stdout
        self.assertEqual(
            [self.VM, 'port', '-', 'vm-1', 'public', '(physnet1)',
             'announced'], shown.splitlines()[1].split()[:7])
        self.cloud.add_machine('vm-2', base.HERE, network=self.cloud.network,
                               mac=['fa:16:3e:00:00:bb 203.0.113.9'])
        self.eventually(lambda: self.states().get('203.0.113.9') == 'omitted',
                        'in no subnet')
        self.world.objects.pop(resources.Ref(
            'announcement', ('vrf-provider', self.VM + '/32')))
        plan = self.ends(2, self.ctl('plan')).stdout
        self.assertIn(f'+ announcement vrf=vrf-provider prefix={self.VM}',
                      plan)
        self.assertIn('! network public: 1 of the addresses of machines '
                      '(203.0.113.9) in no subnet', plan)


class TenantPrefixesTest(AddressesTestCase):

    drivers = {**base.CtlTestCase.drivers,
               'tenant_network': tenant_network.TenantNetworkDriver}
    NET, TRANSLATED = '10.0.0.0/24', '10.0.1.0/24'

    def setUp(self):
        super().setUp()
        self.cloud.add_switch()
        self.cloud.add_router('r1', chassis=base.HERE)
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        self.cloud.add_tenant('r1', 'more', '10.0.1.1/24')
        self.cloud.add_nat('r1', '198.51.100.1', self.TRANSLATED, 'snat')
        self.agent(drivers=[*base.DRIVERS, 'tenant_network'])
        self.eventually(self.phase, 'an answer')
        self.eventually(lambda: self.states().get(self.NET) == 'announced',
                        'announced')

    def test_from_the_view_to_the_terminal(self):
        """By an address in it, too."""
        for wanted in self.NET, '10.0.0.7':
            shown = self.ends(0, self.ctl('addresses', wanted)).stdout
            self.assertEqual(
                [self.NET, 'tenant', 'r1', 'lrp-r1', 'net', '(physnet1)',
                 'announced'], shown.splitlines()[1].split()[:7])
        self.assertEqual([self.TRANSLATED], [*self.fips(self.TRANSLATED)])
        self.assertIn('(SNAT)', self.fips()[self.TRANSLATED]['why'])
        self.ends(1, self.ctl('addresses', '10.0.0.0/25'))
        self.assertIn('has host bits set', self.refused('fips', '10.0.0.1/24'))
        self.world.objects.pop(resources.Ref(
            'announcement', ('vrf-provider', self.NET)))
        plan = self.ends(2, self.ctl('plan')).stdout
        self.assertIn(f'+ announcement vrf=vrf-provider prefix={self.NET}',
                      plan)


class ManyTest(base.CtlTestCase):

    def test_a_thousand_addresses(self):
        fips = [f'198.51.{100 + number // 250}.{number % 250 + 2}'
                for number in range(1000)]
        self.cloud.add_router('r1', ['198.51.0.1/16'], chassis=base.HERE)
        self.cloud.add_nats('r1', fips)
        self.ready('lrp-r1')

        def all_announced():
            found = json.loads(self.call('fips'))['addresses']
            return len(found) >= 1000 and {
                each['state'] for each in found} == {'announced'}
        self.eventually(all_announced, 'announced')
