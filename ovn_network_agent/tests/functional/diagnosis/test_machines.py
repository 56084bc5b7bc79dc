# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of machines and networks of tenants, on real databases."""

from ovn_network_agent import ownership
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.diagnosis.node import gateways
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.bgp import announced
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world

HERE, AWAY = cloud.CHASSIS, cloud.OTHER
VM, SIX = '198.51.100.30', '2001:db8::30'
MAC = 'fa:16:3e:00:00:aa'
DRIVERS = ['provider_port', 'veth_leak']


class DoctorTestCase(doctor.Looks, base.OvsdbTestCase):

    drivers = DRIVERS

    def setUp(self):
        super().setUp()
        self.in_this_process()
        self.conf = self.of_databases(
            frr__vrf_name='', drivers=self.drivers)
        self.cloud.add_switch()

    def looked(self, name, verdict):
        """As in the base class, with the drivers loaded."""
        said = self.said(name)
        self.assertEqual({verdict}, {each.verdict for each in said}, said)
        return '; '.join(each.evidence for each in said)

    def said(self, name):
        """The findings of a check."""
        return self.asked(lambda found: examination.Examination(
            examination.CHECKS, found).run(examination.select(
                examination.CHECKS, [name])))

    def asked(self, question):
        """What a function of the sources gives."""
        found = sources.Sources(self.conf, [])
        found.drivers = tuple(world.driver(name, self.conf)
                              for name in self.conf.drivers)
        try:
            return question(found)
        finally:
            found.close()


class DoctorTest(DoctorTestCase):
    """A node with machines, and without gateways."""

    def add(self, port, address, network=None, **external_ids):
        self.cloud.add_machine(
            port, HERE, mac=[f'{MAC} {address}'],
            network=network or self.cloud.network,
            external_ids=ovsdb.ovsdb_dict({
                'neutron:cidrs': f'{address}/{64 if ":" in address else 24}',
                **external_ids}))

    def test_addresses_are_counted(self):
        self.assertIn('0 addresses', self.looked('provider-machines',
                                                 doctor.OK))
        self.add('vm-1', VM)
        self.add('vm-2', '198.51.100.31', **{
            'ovn-network-agent:announce': 'false'})
        self.assertIn('1 address of a machine', self.looked(
            'provider-machines', doctor.OK))
        self.assertIn('1 of 2 addresses', self.looked('withheld-addresses',
                                                      doctor.OK))
        self.assertEqual([VM], list(map(str, self.asked(
            lambda found: found.announceable(4)))))
        segment, = self.asked(lambda found: found.segments())
        self.assertEqual(3, segment.patch_port)
        self.assertFalse(self.asked(check.has_ipv6))
        self.add('vm-3', SIX)
        self.assertTrue(self.asked(check.has_ipv6))
        self.assertEqual(('public',), self.asked(gateways.read_ipv6).owners)

    def test_of_a_vni(self):
        """They are in no table that other checks look at."""
        self.cloud.say('Logical_Switch', {'name': 'neutron-public'},
                       external_ids={ownership.EXT_ID_VNI: '1001'})
        self.conf.set_override('drivers', ['evpn', 'veth_leak'])
        self.add('vm-1', VM, **{
            ownership.EXT_ID_TAG: '4400001'})
        self.add('vm-2', SIX)
        self.assertIn('2 addresses', self.looked('provider-machines',
                                                 doctor.OK))
        self.assertEqual((), self.asked(
            lambda found: found.announceable(4)))
        self.assertFalse(self.asked(check.has_ipv6))
        tagged = [each for known in self.asked(
            lambda found: found.snapshot()).machines.values()
            for each in known.values() if each.tag]
        self.assertEqual([VM], [each.address for each in tagged])
        self.assertEqual((), self.asked(announced.read_tags).addresses)
        # The kernel forwards their packets all the same.
        self.assertEqual(('public',), self.asked(gateways.read_ipv6).owners)

    def test_what_cannot_be_announced(self):
        self.add('vm-1', VM)
        self.cloud.add_machine('vm-2', HERE, mac=[f'{MAC} 203.0.113.9'],
                               network=self.cloud.network)
        self.assertIn('in no subnet', self.looked('provider-machines',
                                                  doctor.WARN))
        self.cloud.move_machine('vm-2', AWAY)
        self.add('vm-3', VM)
        self.assertIn(f'{VM} (port vm-', self.looked('provider-machines',
                                                     doctor.WARN))
        # The network has no patch port.
        row, = self.ovs.rows('Port', '_uuid')
        self.ovs.transact(ovsdb.update(
            'Port', {'_uuid': row['_uuid']},
            external_ids=ovsdb.ovsdb_dict({})))
        self.assertIn('has no patch port', '; '.join(
            each.evidence for each in self.said('provider-machines')
            if each.verdict is doctor.BROKEN))
        self.conf.set_override('drivers', ['fip_route', 'veth_leak'])
        self.looked('provider-machines', doctor.NOT_CHECKED)


class TenantsTest(DoctorTestCase):

    drivers = ['fip_route', 'veth_leak', 'tenant_network']

    def test_what_is_withheld_and_what_overlaps(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        self.cloud.add_tenant('r1', 'more', '10.0.1.1/24')
        self.cloud.add_nat('r1', '198.51.100.1', '10.0.1.0/24', 'snat')
        self.assertIn('1 prefix of a tenant', self.looked(
            'tenant-networks', doctor.OK))
        said = self.looked('withheld-addresses', doctor.OK)
        self.assertIn('1 of 3 addresses', said)
        self.assertIn('(SNAT)', said)
        self.cloud.add_router('r2', ('198.51.100.2/24',), HERE)
        self.cloud.add_tenant('r2', 'theirs', '10.0.0.129/25')
        self.assertIn('10.0.0.0/24 of network net (router r1 (neutron-r1)): '
                      'overlaps with 10.0.0.128/25 of router r2',
                      self.looked('tenant-networks', doctor.WARN))
        self.conf.set_override('drivers', self.drivers[:2])
        self.looked('tenant-networks', doctor.NOT_CHECKED)
