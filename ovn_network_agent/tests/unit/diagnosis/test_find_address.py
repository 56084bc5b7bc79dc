# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an address is, by one-shot questions."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import finding
from ovn_network_agent.diagnosis.address import gathering
from ovn_network_agent.diagnosis.address import ovn
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.diagnosis import subjects
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.unit.ovn import clouds

FIP = '198.51.100.10'
Kind = subject.Kind


class KindsTest(subjects.Subjects, clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('one', chassis=cloud.CHASSIS)
        self.cloud.add_nat('one', FIP)
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
        found = self.subject(FIP)
        self.assertEqual((Kind.FIP, True, cloud.HOSTNAME, 'port', ''), (
            found.kind, found.here, found.owner, found.machine.port,
            found.machine.host))
        self.cloud.add_machine('port', cloud.OTHER)
        found = self.subject(FIP)
        self.assertEqual((True, cloud.HOSTNAME, cloud.OTHER_HOSTNAME), (
            found.here, found.owner, found.machine.host))

    def test_the_owner(self):
        found = self.subject(FIP)
        self.assertEqual((True, cloud.HOSTNAME, 'lrp-one', 'neutron-one'), (
            found.here, found.owner, found.port.lrp, found.router.name))
        self.assertEqual(('one', 'one (neutron-one)'), (
            found.router.called, found.router.both_names))
        self.cloud.move('lrp-one', cloud.OTHER)
        found = self.subject(FIP)
        self.assertEqual((False, cloud.OTHER_HOSTNAME),
                         (found.here, found.owner))
        self.cloud.move('lrp-one', None)
        self.assertEqual((False, ''), (self.subject(FIP).here,
                                       self.subject(FIP).owner))

    def two_routers(self):
        """A second router has a row that was left over."""
        self.cloud.change_nat(FIP, logical_port='port-1')
        self.cloud.add_router('two', ('198.51.100.2/24',), cloud.OTHER)
        self.cloud.add_nat('two', FIP, '10.0.0.66')

    def test_two_routers_with_one_address(self):
        self.two_routers()
        found = self.subject(FIP)
        self.assertEqual('neutron-one', found.router.name)
        self.assertEqual([
            'floating IP of one (neutron-one), to 10.0.0.5, port port-1, on '
            f'{cloud.HOSTNAME}', 'floating IP of two (neutron-two), to '
            f'10.0.0.66, no port, on {cloud.OTHER_HOSTNAME}'],
            [each.text() for each in found.claims])



class WantedTest(subjects.Subjects, clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('one', chassis=cloud.CHASSIS)
        self.cloud.add_nat('one', FIP)
        self.cloud.add_nat('one', '198.51.100.11')

    def wanted(self, *kinds, **options):
        return self.subject(FIP, **options).wanted_of(*kinds)

    def test_only_what_concerns_the_address(self):
        self.assertEqual(
            [FIP + '/32'], [each.prefix for each in self.wanted(
                resources.Announcement)])
        self.assertEqual(
            {None, FIP + '/32'}, {each.dst for each in self.wanted(
                resources.Flow)})
        self.assertEqual(
            {'198.51.100.0/24', None}, {each.src for each in self.wanted(
                resources.Rule)})
        self.assertEqual(
            ['198.51.100.0/24'], [each.network for each in self.wanted(
                resources.PrefixListEntry)])

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
