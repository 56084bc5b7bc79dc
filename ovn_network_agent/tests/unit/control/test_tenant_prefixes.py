# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Prefixes of tenants among the addresses of the node."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.control.reports import addresses
from ovn_network_agent.engine import passes
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.control import test_addresses

NET = '10.0.0.0/24'
Claim = model.Claim


class TenantPrefixesTest(test_addresses.AddressesTestCase):

    def setUp(self):
        super().setUp()
        self.made.drivers.append(worlds.driver('tenant_network',
                                               self.made.conf))
        self.made.start()

    def rows(self, *prefixes, router=None):
        """The rows of tenants after a pass, a list."""
        router = router or cloud.router()
        view = dataclasses.replace(cloud.snapshot(router), tenants={
            router.uuid: {each.prefix: each for each in prefixes}})
        self.made.reconciler.run(passes.Pass(view))
        return [row for row in addresses.Addresses(
            view, self.made.reconciler.table(), (), self.names,
            self.made.conf).build(detailed=True)
            if row['kind'] in ('tenant', 'vip', 'other')]

    def one(self, *args, **values):
        """(state, reason) of one prefix."""
        row, = self.rows(cloud.tenant(*args, **values))
        return row['state'], row['why']

    def test_announced(self):
        row, one = self.rows(cloud.tenant(tag=4400001), cloud.tenant(
            '10.0.1.5/32', '10.0.1.0/24'))
        self.assertEqual(
            (NET, ['tenant'], test_addresses.R1, 'web', 'net', 'lrp-1',
             'physnet1', 0, 'br-ex', 4400001, 'announced', ''),
            tuple(row[key] for key in (
                'address', 'kinds', 'router', 'router_name', 'network',
                'port', 'physical_network', 'vlan', 'device', 'tag', 'state',
                'why')))
        self.assertLessEqual({'announcement', 'kernel_route', 'neighbour'},
                             {each['kind'] for each in row['resources']})
        self.assertEqual(('10.0.1.5', 'announced'),
                         (one['address'], one['state']))

    def test_a_virtual_ip(self):
        """It is there once, although its router has a load balancer."""
        row, = self.rows(
            cloud.tenant('10.0.1.5/32', '10.0.1.0/24', vip=True),
            router=cloud.router(balanced=(model.BalancedAddress('10.0.1.5'),)))
        self.assertEqual(
            ('10.0.1.5', 'vip', ['vip', 'tenant'], 'net', 'announced'),
            tuple(row[key] for key in ('address', 'kind', 'kinds', 'network',
                                       'state')))

    def test_withheld(self):
        self.assertEqual(('omitted', 'by hand'), self.one(withheld='by hand'))

    def test_overlaps(self):
        """The same prefix of another router may be announced."""
        rival = {'rivals': (f'{NET} of router r2',)}
        state, why = self.one(**rival, claim=Claim.FIRST)
        self.assertEqual('announced', state)
        self.assertIn(f'overlaps with {NET} of router r2; it stays', why)
        state, why = self.one(**rival, claim=Claim.UNKNOWN)
        self.assertEqual('held', state)
        self.assertIn('does not know who had it first', why)
        for values in {**rival, 'claim': Claim.REFUSED}, {'claimed': 'r2'}:
            state, why = self.one(**values)
            self.assertEqual('omitted', state)
            self.assertIn('r2; it is not announced', why)

    def test_the_gateway_is_in_no_network(self):
        self.made.set('network_cidr', ['192.0.2.0/24'], None)
        self.assertEqual(
            ('omitted', 'it has its gateway 198.51.100.1 in no network of '
             '[DEFAULT] network_cidr; it is not announced for this router'),
            self.one())

    def test_the_network_is_gone(self):
        """Its announcement is seen until it is withdrawn."""
        self.one()
        self.made.world.refuses[resources.Ref(
            'announcement', ('vrf-provider', NET))] = 'no answer'
        row, = self.rows()
        self.assertEqual((NET, 'other', 'failed'), (
            row['address'], row['kind'], row['state']))

    def test_handed_over(self):
        port = cloud.port(local=False, chassis=cloud.OTHER,
                           handover=model.Handover.ANNOUNCE)
        self.assertEqual(
            ('announced', 'handed over to gw2; announced until its proof'),
            self.one(port=port))

    def test_the_segment_is_lost(self):
        self.assertEqual(('failed', 'its network has no localnet port in SB'),
                         self.one(port=cloud.port(segment=None)))
