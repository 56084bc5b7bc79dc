# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an address is, by one-shot questions, and what they read."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import finding
from ovn_network_agent.diagnosis.address import gathering
from ovn_network_agent.diagnosis.address import ovn
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.diagnosis import subjects
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

FIP = '198.51.100.10'
Kind, Inner = subject.Kind, northbound.InnerAddress


class KindsTest(subjects.Subjects, clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('one', chassis=cloud.CHASSIS)
        self.cloud.add_nat('one', FIP)
        self.cloud.add_nat('one', '198.51.100.11')
        self.cloud.add_nat('one', '198.51.100.99', type='snat',
                           logical_ip='10.0.0.0/24')

    def test_each_kind(self):
        self.cloud.add_balancer('one', '198.51.100.50:22')
        self.cloud.add_balancer('one', '198.51.100.52:22', group=True)
        self.cloud.add_router('group', ('198.51.100.3/24',), cloud.CHASSIS,
                              group='HA_Chassis_Group')
        for address, kind in ((FIP, Kind.FIP),
                              ('198.51.100.99', Kind.SNAT),
                              ('198.51.100.1', Kind.ROUTER),
                              ('198.51.100.50', Kind.BALANCER),
                              ('198.51.100.52', Kind.BALANCER),
                              ('198.51.100.3', Kind.ROUTER),
                              ('198.51.100.51', Kind.NOBODY),
                              ('198.51.100.0', Kind.NOBODY)):
            found = self.subject(address)
            self.assertEqual((kind, kind is not Kind.NOBODY),
                             (found.kind, found.here), address)

    def test_backends_of_a_virtual_ip(self):
        """Also of an address that has a NAT row, too."""
        self.cloud.add_balancer('one', f'{FIP}:80', floating=False)
        self.cloud.check_backends('one', f'{FIP}:80', '198.51.100.50:80',
                                  backends=('10.0.0.5:80',))
        for status, withheld in (('online', ''),
                                 ('offline', selection.NO_BACKEND)):
            self.cloud.report_backend('10.0.0.5', status)
            for address in FIP, '198.51.100.50':
                self.assertEqual(withheld, self.subject(
                    address, drivers=['fip_route', 'load_balancer']
                ).withheld, address)
        self.assertEqual('', self.subject(FIP).withheld)

    def test_a_distributed_load_balancer(self):
        self.cloud.add_balancer('one', '198.51.100.50:80', floating=False,
                                options={'distributed': 'true'})
        said, = self.subject('198.51.100.50').problems
        self.assertIn('198.51.100.50 of a load balancer is not announced, '
                      'because it is distributed', said)

    def test_a_distributed_floating_ip(self):
        self.cloud.change_nat(FIP, external_mac='fa:16:3e:00:00:77',
                              logical_port='port')
        found = self.subject(FIP)
        self.assertEqual((Kind.DISTRIBUTED, False, 'port', ''), (
            found.kind, found.here, found.machine.port, found.machine.host))
        self.cloud.add_machine('port', cloud.OTHER)
        self.assertEqual(cloud.OTHER_HOSTNAME, self.subject(FIP).machine.host)

    def test_the_machine_of_a_floating_ip_of_the_gateway(self):
        self.assertIsNone(self.subject(FIP).machine)
        self.cloud.change_nat(FIP, logical_port='port')
        for host in '', cloud.OTHER_HOSTNAME:
            found = self.subject(FIP)
            self.assertEqual((Kind.FIP, True, cloud.HOSTNAME, 'port', host), (
                found.kind, found.here, found.owner, found.machine.port,
                found.machine.host))
            self.cloud.add_machine('port', cloud.OTHER)

    def test_the_owner(self):
        found = self.subject(FIP)
        self.assertEqual((True, cloud.HOSTNAME, 'lrp-one', 'neutron-one'), (
            found.here, found.owner, found.port.lrp, found.router.name))
        self.assertEqual(('one', 'one (neutron-one)'), (
            found.router.called, found.router.both_names))
        for chassis, owner in ((cloud.OTHER, cloud.OTHER_HOSTNAME),
                               (None, '')):
            self.cloud.move('lrp-one', chassis)
            found = self.subject(FIP)
            self.assertEqual((False, owner), (found.here, found.owner))

    def test_two_routers_with_one_address(self):
        """The second one has a row that was left over."""
        self.cloud.change_nat(FIP, logical_port='port-1')
        self.cloud.add_router('two', ('198.51.100.2/24',), cloud.OTHER)
        self.cloud.add_nat('two', FIP, '10.0.0.66')
        found = self.subject(FIP)
        self.assertEqual('neutron-one', found.router.name)
        self.assertEqual([
            'floating IP of one (neutron-one), to 10.0.0.5, port port-1, on '
            f'{cloud.HOSTNAME}', 'floating IP of two (neutron-two), to '
            f'10.0.0.66, no port, on {cloud.OTHER_HOSTNAME}'],
            [each.text() for each in found.claims])

    def wanted(self, *kinds, **options):
        return self.subject(FIP, **options).wanted_of(*kinds)

    def test_only_what_concerns_the_address(self):
        for kind, value, wanted in (
                (resources.Announcement, 'prefix', {FIP + '/32'}),
                (resources.Flow, 'dst', {None, FIP + '/32'}),
                (resources.Rule, 'src', {'198.51.100.0/24', None}),
                (resources.PrefixListEntry, 'network', {'198.51.100.0/24'})):
            self.assertEqual(wanted, {
                getattr(each, value) for each in self.wanted(kind)})

    def withheld(self, **options):
        """Why the address is not announced, as the agent sees it, too."""
        found = self.subject(FIP, **options)
        self.assertEqual(not found.withheld, found.announcement is not None)
        eyes = self.eyes(**options)
        self.assertEqual(eyes.addresses('one')[FIP].withheld, found.withheld)
        eyes.stop()
        return found.withheld

    def test_what_withholds_it(self):
        self.cloud.add_switch(lrps=['lrp-one'])
        self.assertEqual('', self.withheld())
        self.assertEqual('[announce] exclude_networks has public',
                         self.withheld(announce__exclude_networks=['public']))
        for table, where, words in (
                ('NAT', {'external_ip': FIP}, 'NAT row '),
                ('Logical_Router', {'name': 'neutron-one'},
                 'router neutron-one'),
                ('Logical_Switch', {'name': 'neutron-public'},
                 'network neutron-public')):
            for value in ('false', None):
                self.cloud.say(table, where, external_ids={
                    ownership.EXT_ID_ANNOUNCE: value})
                self.assertIs(value is not None,
                              self.withheld().startswith(words))
        for value, reason in (('true', selection.BY_OVN), (None, '')):
            self.cloud.say('Logical_Router', {'name': 'neutron-one'},
                           options={'dynamic-routing': value})
            self.assertEqual(reason, self.withheld())

    def test_a_tag(self):
        tag = ownership.TAGS.start
        self.cloud.say('Logical_Router', {'name': 'neutron-one'},
                       external_ids={ownership.EXT_ID_TAG: str(tag)})
        found = self.subject(FIP)
        self.assertEqual(tag, found.announcement.tag)
        known = gathering.setup(self.configuration(), '')
        self.assertIn(f'(static route with tag {tag})',
                      ovn.wanted(facts.Facts(known, found)).evidence)

    def test_static_mac_bindings_are_read(self):
        self.nb.transact({'op': 'insert', 'table': 'Static_MAC_Binding',
                          'row': {'logical_port': 'lrp-one',
                                  'ip': '198.51.100.254',
                                  'mac': '0A:00:00:00:00:01'}})
        conf = self.configuration()
        self.assertEqual(
            (('lrp-one', '198.51.100.254', '0a:00:00:00:00:01'),),
            finding.find(conf, FIP, self.drivers(conf))[1])


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
        self.assertEqual(Inner('10.0.0.1/24'), self.inside())
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
            self.assertEqual(Inner('10.0.0.1/24', name), self.inside(address))
        self.assertEqual(Inner('2001:db8::1/64', 'fixed'),
                         self.inside('2001:db8::5'))

    def test_a_port_that_may_have_it(self):
        """With unknown addresses, for example without port security."""
        self.port('open', addresses='unknown')
        self.assertEqual(Inner('10.0.0.1/24', judged=False), self.inside())

    def test_an_address_elsewhere(self):
        self.assertEqual(Inner(), self.inside('192.0.2.1'))
        self.nb.transact(
            ovsdb.insert('Logical_Router_Static_Route', 'route',
                         ip_prefix='192.0.2.0/24', nexthop='10.0.0.254'),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-one'},
                         'static_routes', 'insert', ['named-uuid', 'route']))
        self.assertEqual(Inner('192.0.2.0/24', judged=False),
                         self.inside('192.0.2.1'))


class ReadingTest(subjects.Subjects, clouds.CloudTestCase):

    def test_what_ovn_advertises_is_announced(self):
        """OVN routes the router, with [announce] advertised_routes."""
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

    def test_other_addresses_are_not_read(self):
        self.cloud.add_router('one', chassis=cloud.CHASSIS)
        for number in range(10, 60):
            self.cloud.add_nat('one', f'198.51.100.{number}')
        found = northbound.read(self.configuration(), FIP)
        self.assertEqual(1, len(found['NAT']))
        self.assertEqual(model.Phase.RUNNING, self.subject(FIP).node.phase)
