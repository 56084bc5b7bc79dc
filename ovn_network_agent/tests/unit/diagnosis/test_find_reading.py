# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain reads of an address, and what it costs."""

from ovn_network_agent import model
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.diagnosis import subjects
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

FIP = '198.51.100.10'


class InsideTest(subjects.Subjects, clouds.CloudTestCase):
    """Which port has the inner address of a NAT row."""

    def setUp(self):
        super().setUp()
        self.router = self.cloud.add_router(
            'one', chassis=cloud.CHASSIS, networks=(
                '198.51.100.1/24', '10.0.0.1/24', '2001:db8::1/64'))
        self.switch = self.cloud.add_switch('inner', lrps=['lrp-one'])

    def inside(self, address='10.0.0.5'):
        return northbound.read_inner_address(self.configuration(), self.router,
                                             address)

    def port(self, name, **row):
        self.nb.transact(
            ovsdb.insert('Logical_Switch_Port', 'port', name=name, **row),
            ovsdb.mutate('Logical_Switch', {'name': 'neutron-inner'},
                         'ports', 'insert', ['named-uuid', 'port']))

    def test_a_port_that_has_it(self):
        mac = 'fa:16:3e:00:00:05'
        self.port('other', addresses=f'{mac} 10.0.0.6')
        self.assertEqual(northbound.InnerAddress('10.0.0.1/24'), self.inside())
        self.port('fixed', addresses=f'{mac} 10.0.0.5 2001:db8:0::5')
        self.port('dynamic', addresses='dynamic',
                  dynamic_addresses=f'{mac} 10.0.0.7')
        self.port('balancer', external_ids=ovsdb.ovsdb_dict(
            {'neutron:cidrs': '10.0.0.8/24'}))
        self.port('shared', options=ovsdb.ovsdb_dict(
            {'virtual-ip': '10.0.0.9'}), type='virtual')
        for address, name in (
                ('10.0.0.5', 'fixed'), ('10.0.0.6', 'other'),
                ('10.0.0.7', 'dynamic'), ('10.0.0.8', 'balancer'),
                ('10.0.0.9', 'shared')):
            self.assertEqual(northbound.InnerAddress('10.0.0.1/24', name),
                             self.inside(address))
        self.assertEqual(northbound.InnerAddress('2001:db8::1/64', 'fixed'),
                         self.inside('2001:db8::5'))

    def test_a_port_that_may_have_it(self):
        """With unknown addresses, for example without port security."""
        self.port('open', addresses='unknown')
        self.assertEqual(northbound.InnerAddress('10.0.0.1/24', judged=False),
                         self.inside())

    def test_an_address_elsewhere(self):
        self.assertEqual(northbound.InnerAddress(), self.inside('192.0.2.1'))
        self.nb.transact(
            ovsdb.insert('Logical_Router_Static_Route', 'route',
                         ip_prefix='192.0.2.0/24', nexthop='10.0.0.254'),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-one'},
                         'static_routes', 'insert', ['named-uuid', 'route']))
        self.assertEqual(northbound.InnerAddress('192.0.2.0/24', judged=False),
                         self.inside('192.0.2.1'))


class AdvertisedTest(subjects.Subjects, clouds.CloudTestCase):
    """A router that OVN routes, with [announce] advertised_routes."""

    def test_what_ovn_advertises_is_announced(self):
        self.cloud.add_router('one', chassis=cloud.CHASSIS)
        self.cloud.add_nat('one', FIP)
        self.cloud.say('Logical_Router', {'name': 'neutron-one'},
                       options={'dynamic-routing': 'true'})
        on = {'announce__advertised_routes': True}
        self.assertEqual(selection.BY_OVN, self.subject(FIP).withheld)
        found = self.subject(FIP, **on)
        self.assertEqual(selection.NOT_ADVERTISED, found.withheld)
        binding, = self.sb.rows('Port_Binding', where=ovsdb.clauses(
            {'logical_port': 'cr-lrp-one'}))
        self.sb.transact(ovsdb.insert(
            'Advertised_Route', datapath=binding['datapath'],
            logical_port=binding['_uuid'], ip_prefix=FIP))
        found = self.subject(FIP, **on)
        self.assertEqual('', found.withheld)
        self.assertIsNotNone(found.announcement)


class CostTest(subjects.Subjects, clouds.CloudTestCase):

    def test_other_addresses_are_not_read(self):
        self.cloud.add_router('one', chassis=cloud.CHASSIS)
        for number in range(10, 60):
            self.cloud.add_nat('one', f'198.51.100.{number}')
        found = northbound.read(self.configuration(), FIP)
        self.assertEqual(1, len(found['NAT']))
        self.assertEqual(model.Phase.RUNNING,
                         self.subject(FIP).node.phase)
