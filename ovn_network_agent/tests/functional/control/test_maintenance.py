# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Drain and undrain: what is written, what is refused, and why."""

import uuid

from ovn_network_agent.drivers import provider_port
from ovn_network_agent.drivers import tenant_network
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

NEUTRON = '4fce1b7a-8c1f-4e0e-9a53-25d3ac0f2a11'


class MachinesTest(base.ControlTestCase):
    """A node with a machine on a provider network, which no drain moves."""

    drivers = {**base.ControlTestCase.drivers,
               'provider_port': provider_port.ProviderPortDriver}
    STAY = 'address of machines on provider networks'

    def begin(self, *drivers):
        address = '198.51.100.30'
        self.cloud.add_machine(
            'vm-1', base.HERE, network=self.cloud.network,
            mac=[f'fa:16:3e:00:00:aa {address}'],
            external_ids=ovsdb.ovsdb_dict({'neutron:cidrs': address + '/24'}))
        self.cloud.add_router('r1', chassis=base.HERE)
        self.ready('lrp-r1', drivers=[*drivers, 'provider_port'])
        self.eventually(lambda: address + '/32' in self.announced(), 'there')

    def test_the_machines_stay(self):
        self.begin(*base.DRIVERS)
        said = self.call('drain')
        self.assertIn(f'stays here: 1 {self.STAY}', said)
        self.assertIn('live migration', said)
        self.assertEqual('all', self.wished())
        self.call('undrain')
        self.assertNotIn(self.STAY, self.call('drain', '--router', 'r1'))

    def test_a_node_without_gateways(self):
        self.begin('fip_route', 'veth_leak')
        self.assertIn(f'has no effect; 1 {self.STAY}', self.refused('drain'))


class TenantsTest(base.ControlTestCase):
    """A node with networks of tenants, which move with their gateway."""

    drivers = {**base.ControlTestCase.drivers,
               'tenant_network': tenant_network.TenantNetworkDriver}

    def nothing_stays(self, method, prefix):
        self.cloud.add_router('r1', chassis=base.HERE)
        network = self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        self.cloud.add_machine('vm-1', base.HERE, network=network,
                               mac=['fa:16:3e:00:00:aa 10.0.0.5'])
        self.ready('lrp-r1', drivers=[*base.DRIVERS, 'tenant_network'],
                   tenant_network__advertisement_method=method)
        self.eventually(lambda: prefix in self.announced(), 'there')
        self.assertNotIn('stays here', self.call('drain'))
        self.assertEqual('all', self.wished())

    def test_subnets(self):
        self.nothing_stays('subnet', '10.0.0.0/24')

    def test_addresses_of_machines(self):
        self.nothing_stays('host', '10.0.0.5/32')


class MaintenanceTest(base.ControlTestCase):

    def setUp(self):
        super().setUp()
        self.uuid = self.cloud.add_router('r1', chassis=base.HERE)
        self.other = self.cloud.add_router('r2', chassis=base.THERE)
        self.groups = ('lrp-r1', 'lrp-r2')

    def sole(self, name):
        """Take the other candidate from a group."""
        row, = self.nb.rows('Gateway_Chassis', '_uuid', where=ovsdb.clauses(
            {'name': f'{name}_{base.THERE}'}))
        self.nb.transact(ovsdb.mutate(
            'Logical_Router_Port', {'name': name}, 'gateway_chassis',
            'delete', row['_uuid']))

    def test_the_whole_node_and_back(self):
        """A start takes long, so this is one test."""
        self.ready(*self.groups)
        before, = self.ovs.rows('Open_vSwitch', 'external_ids')
        mark = str(uuid.uuid4())
        self.ovs.transact(ovsdb.mutate(
            'Open_vSwitch', {}, 'external_ids', 'insert',
            ovsdb.ovsdb_dict({'else': mark})))
        self.assertIn('drain of all routers: written', self.call('drain'))
        self.assertEqual('all', self.wished())
        self.eventually(lambda: self.status()['drains'] == ['all'], 'seen')
        self.assertEqual('all', self.group('lrp-r1')['wish'])
        self.assertIn('nothing to change', self.call('drain'))
        # It is part of that already, and stays so.
        self.assertIn('nothing to change',
                      self.call('drain', '--router', 'r1'))
        self.assertIn('"undrain" without --router',
                      self.refused('undrain', '--router', 'r1'))
        self.assertEqual('all', self.wished())
        self.assertIn('written', self.call('undrain'))
        self.assertIsNone(self.wished())
        self.assertIn('nothing to change', self.call('undrain'))
        self.eventually(lambda: self.status()['drains'] == [], 'seen')
        self.assertEqual('', self.group('lrp-r1')['wish'])
        # What others keep in that row stays.
        after, = self.ovs.rows('Open_vSwitch', 'external_ids')
        self.assertEqual({**dict(before['external_ids'][1]), 'else': mark},
                         dict(after['external_ids'][1]))
        self._several_routers()
        self._without_the_local_database()

    def _several_routers(self):
        self.call('drain', '--router', 'r1', '--router', 'r2')
        self.assertEqual({self.uuid, self.other},
                         set(self.wished().split(',')))
        self.eventually(lambda: len(self.status()['drains']) == 2, 'seen')
        self.call('undrain', '--router', 'r1')
        self.assertEqual(self.other, self.wished())
        self.eventually(
            lambda: self.group('lrp-r2')['wish'] == 'router' and
            self.group('lrp-r1')['wish'] == '', 'seen')

    def _without_the_local_database(self):
        """One that hangs, for which nobody else waits."""
        self.ovs.pause()
        try:
            text = self.refused('drain')
            self.assertEqual('running', self.status()['phase'])
        finally:
            self.ovs.resume()
        self.assertIn('did not answer within 2 s', text)

    def test_names_of_routers(self):
        """Names of tenants that are like the UUID of another decide nothing.
        """
        self.nb.transact(ovsdb.update(
            'Logical_Router', {'name': 'neutron-r1'},
            name='neutron-' + NEUTRON), *(ovsdb.insert(
                'Logical_Router', name=f'neutron-{number}',
                external_ids=ovsdb.ovsdb_dict({'neutron:router_name': name}))
                for number, name in enumerate((
                    self.uuid, NEUTRON, f'neutron-{NEUTRON}', 'last'))))
        self.ready(*self.groups)
        self.eventually(lambda: 'no gateway port' in self.refused(
            'drain', '--router', 'last'), 'seen')
        for name in ('r1', NEUTRON, 'neutron-' + NEUTRON, self.uuid):
            self.call('drain', '--router', name)
            self.assertEqual(self.uuid, self.wished(), name)
            self.call('undrain', '--router', name)
            self.assertIsNone(self.wished(), name)
        for command in ('drain', 'undrain'):
            self.assertIn('no router "r3"', self.refused(
                command, '--router', 'r3'))
        # An ambiguous one.
        self.nb.transact(ovsdb.insert(
            'Logical_Router', name='neutron-double',
            external_ids=ovsdb.ovsdb_dict({'neutron:router_name': 'r1'})))
        self.eventually(
            lambda: 'is the name of 2 routers' in self.refused(
                'undrain', '--router', 'r1'), 'seen')
        self.assertIn(self.uuid, self.refused('drain', '--router', 'r1'))
        self.assertIn('no gateway port that this chassis', self.refused(
            'drain', '--router', 'neutron-double'))
        # A router that has been deleted.
        self.call('drain', '--router', self.other)
        self.eventually(lambda: self.status()['drains'], 'seen')
        self.cloud.remove_router('r2')
        self.eventually(lambda: 'no router' in self.refused(
            'drain', '--router', self.other), 'seen')
        self.call('undrain', '--router', self.other)
        self.assertIsNone(self.wished())

    def test_the_last_ready_candidate(self):
        self.ready(*self.groups)
        self.priority('lrp-r1', base.THERE, 0)
        for argv in (('drain',), ('drain', '--router', 'r1')):
            self.eventually(
                lambda argv=argv: self._refused_for(argv, 'lrp-r1'), 'seen')
        self.assertIsNone(self.wished())
        self.call('drain', '--router', 'r2')
        done = self.call('drain', '--force')
        self.assertEqual('all', self.wished())
        self.assertIn('forced: router r1', done)
        # Nobody is asked again for what is wished already.
        self.eventually(lambda: self.status()['drains'] == ['all'], 'seen')
        self.assertIn('nothing to change', self.call('drain'))
        self.call('undrain')
        self.sb.transact(ovsdb.delete('Chassis', {'name': base.THERE}))
        self.eventually(lambda: 'has no chassis in OVN SB' in self.refused(
            'drain'), 'seen')
        self.assertIsNone(self.wished())

    def _refused_for(self, argv, group):
        try:
            self.call(*argv)
        except base.client.Refused as e:
            self.assertIn('none of its other candidates is ready '
                          '(gw2.example.org has priority 0)', str(e))
            self.assertIn(group, str(e))
            self.assertIn(f'router r1 ({self.uuid})', str(e))
            self.assertIn('--force', str(e))
            return True
        # The agent had not seen it yet.
        self.call('undrain')
        self.eventually(lambda: not self.status()['drains'], 'undone')
        return False

    def test_a_group_that_nobody_else_is_in_stays(self):
        self.sole('lrp-r1')
        self.ready(*self.groups)
        text = self.call('drain')
        self.assertEqual('all', self.wished())
        self.assertIn(f'stays here: router r1 ({self.uuid}): this chassis is '
                      'its only candidate (lrp-r1)', text)
        self.assertNotIn('r2', text)
        self.call('undrain')
        self.eventually(lambda: not self.status()['drains'], 'undone')
        # By itself that is all there is to do, and it cannot be done.
        self.assertIn('only candidate',
                      self.refused('drain', '--router', 'r1'))
        self.assertIsNone(self.wished())

    def test_without_ovn(self):
        # Nobody could be told of a clean-up.
        self.ready(*self.groups, cleanup_on_shutdown=False)
        self.nb.kill()
        self.eventually(lambda: not self.status()['databases']['nb'][
            'connected'], 'lost')
        self.assertIn('it is unknown which candidates could',
                      self.refused('drain'))
        self.assertIsNone(self.wished())
        self.call('drain', '--force')
        self.assertEqual('all', self.wished())
        self.call('undrain')
        self.assertIsNone(self.wished())

    def test_before_ovn_was_seen(self):
        self.nb.kill()
        self.agent(cleanup_on_shutdown=False)
        self.eventually(self.phase, 'it answers')
        state = self.status()
        self.assertEqual('restoring', state['phase'])
        self.assertEqual([], state['groups'])
        self.assertIn('OVN has not been seen yet', self.refused('drain'))
        self.assertIn('OVN_Northbound is not', self.refused(
            'drain', '--router', 'r1'))
        self.assertIn('restoring', self.call('status', '--verbose'))

    def test_dry_run_writes_nothing(self):
        self.ready(*self.groups, dry_run=True)
        for command in ('drain', 'undrain'):
            self.assertIn('dry run', self.refused(command, '--router', 'r1'))
        self.assertIsNone(self.wished())

    def test_without_the_driver_nothing_would_come_of_it(self):
        self.ready(*self.groups, drivers=['fip_route'])
        self.assertIn('gateway_drain', self.refused('drain'))
        self.assertIsNone(self.wished())
        # What was wished before it was taken out can be taken back.
        self.call('undrain')
