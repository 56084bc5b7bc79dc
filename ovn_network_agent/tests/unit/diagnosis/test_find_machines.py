# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses of machines, by one-shot questions."""

from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import gathering
from ovn_network_agent.diagnosis.address import ovn
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.tests.functional.diagnosis import subjects
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

HERE, AWAY = cloud.CHASSIS, cloud.OTHER
VM, SIX = '198.51.100.30', '2001:db8::30'
MAC = 'fa:16:3e:00:00:aa'
Kind = subject.Kind
DRIVERS = ['provider_port', 'veth_leak']


class MachinesTest(subjects.Subjects, clouds.CloudTestCase):

    options = {'drivers': DRIVERS}

    def setUp(self):
        super().setUp()
        self.cloud.add_switch()

    def add(self, port='vm-1', chassis=HERE, address=VM, kind='', **row):
        self.cloud.add_machine(port, chassis, kind, **{
            'mac': [f'{MAC} {address}'], 'network': self.cloud.network,
            'external_ids': ovsdb.ovsdb_dict({
                'neutron:cidrs': f'{address}/{64 if ":" in address else 24}'}),
            **row})

    def left_out(self, address=VM, **options):
        """Why an address is not announced."""
        found = self.subject(address, **options)
        self.assertFalse(found.here)
        return found.binding.left_out[0]

    def test_here(self):
        self.add()
        self.add('vm-2', address=SIX)
        for address in VM, SIX:
            found = self.subject(address)
            self.assertEqual(
                (Kind.MACHINE, True, cloud.HOSTNAME, 'public', MAC, 3, ''),
                (found.kind, found.here, found.owner, found.binding.network,
                 found.mac, found.segment.patch_port, found.withheld))
            self.assertEqual(found.prefix, found.announcement.prefix)
        self.assertEqual({4}, {each.family for each in self.subject(
            VM).wanted_of(resources.Flow)})

    def test_the_view_of_the_agent_has_the_same(self):
        self.add()
        self.cloud.add_router('one', chassis=HERE)
        seen = self.eyes(drivers=['provider_port']).look()
        machines, = seen.machines.values()
        self.assertEqual(machines[VM], self.subject(VM).found)

    def test_elsewhere_and_on_its_way(self):
        self.add(chassis=AWAY,
                 additional_chassis=self.cloud._chassis(HERE))
        found = self.subject(VM)
        self.assertEqual(
            (False, cloud.OTHER_HOSTNAME, (cloud.HOSTNAME,), None),
            (found.here, found.owner, found.binding.further,
             found.binding.left_out))
        self.cloud.move_machine('vm-1', HERE, up=False)
        found = self.subject(VM)
        self.assertEqual((False, True, False), (
            found.here, found.binding.here, found.binding.up))
        self.cloud.move_machine('vm-1', None)
        self.assertEqual('', self.subject(VM).owner)

    def test_kinds_of_ports_that_are_left_out(self):
        self.add(kind='external')
        self.add('vm-2', address='198.51.100.31', kind='localport')
        self.add('vm-3', address='198.51.100.32',
                 network=self.cloud.add_network())
        for address, why in ((VM, 'SR-IOV'), ('198.51.100.31', 'metadata'),
                             ('198.51.100.32', 'no localnet port')):
            self.assertIn(why, self.left_out(address))

    def test_a_virtual_port(self):
        self.add(address='198.51.100.31')
        self.add('vip', kind='virtual', mac=[f'fa:16:3e:00:00:bb {VM}'],
                 virtual_parent='vm-1')
        found = self.subject(VM)
        self.assertEqual((True, 'vm-1', MAC), (
            found.here, found.binding.parent, found.mac))
        self.cloud.move_machine('vip', None,
                                virtual_parent=ovsdb.ovsdb_set(()))
        found = self.subject(VM)
        self.assertEqual((False, '', ''), (found.here, found.owner,
                                           found.mac))

    def test_networks_that_are_chosen(self):
        self.add()
        self.assertTrue(self.subject(
            VM, provider_port__networks=['public']).here)
        self.assertIn('[provider_port] networks', self.left_out(
            provider_port__networks=['other']))

    def test_an_allowed_address_pair(self):
        self.add(address='198.51.100.31', port_security=ovsdb.ovsdb_set([
            f'{MAC} 198.51.100.31 {VM}']))
        self.assertIn('allowed_address_pairs', self.left_out())
        self.assertTrue(self.subject(
            VM, provider_port__allowed_address_pairs=True).here)

    def test_several_ports(self):
        """The one that is announced here, and what has the address, too."""
        self.add('vm-0', AWAY)
        self.add('vm-1', HERE)
        self.add('vm-2', HERE, network=self.cloud.add_network())
        found = self.subject(VM)
        self.assertEqual(('vm-1', ['vm-0']), (
            found.binding.name, [each.name for each in found.also]))

    def test_a_router_comes_first(self):
        self.add()
        self.cloud.add_router('one', chassis=HERE)
        self.cloud.add_nat('one', VM)
        self.assertIs(Kind.FIP, self.kind(VM))

    def test_without_the_driver(self):
        self.add()
        self.assertIs(Kind.NOBODY, self.kind(VM, drivers=['fip_route']))

    def test_what_the_driver_says(self):
        self.add(external_ids=ovsdb.ovsdb_dict({}))
        conf = self.configuration()
        found = self.subject(VM)
        self.assertIn('in no subnet', ovn.wanted(facts.Facts(
            gathering.setup(conf, '192.0.2.1'), found)).evidence)
