# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Doctor and real databases of OVN, of which one part is wrong."""

import os
import socket

import fixtures
from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.conf.options import ovs as options
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

_DATABASES = ('nb-database', 'sb-database', 'ovs-database')
_OPTIONS = 'ovn-cms-options'


class OvnDoctorTest(doctor.Looks, base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        self.in_this_process()
        self.conf = self.of_databases(frr__vrf_name='')

    def local(self, **external_ids):
        """Other external_ids of the local database; None takes one away."""
        row, = self.ovs.rows('Open_vSwitch', 'external_ids')
        now = {**dict(row['external_ids'][1]), **{
            key.replace('_', '-'): value
            for key, value in external_ids.items()}}
        self.ovs.transact(ovsdb.update('Open_vSwitch', {}, external_ids=(
            ovsdb.ovsdb_dict({key: value for key, value in now.items()
                              if value is not None}))))

    def test_a_database_that_is_down_costs_its_own_checks(self):
        self.looked('nb-database', doctor.OK)
        self.nb.kill()
        found = doctor.look(self.conf, *_DATABASES, 'bridge-mappings',
                            'gateway-priorities')
        self.assertEqual(
            {'nb-database': doctor.BROKEN, 'sb-database': doctor.OK,
             'ovs-database': doctor.OK, 'bridge-mappings': doctor.OK,
             'gateway-priorities': doctor.NOT_CHECKED},
            {name: verdict for name, (verdict, _why) in found.items()})

    def test_an_address_of_two_routers(self):
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.cloud.add_nat('r1', '198.51.100.10', '10.0.0.0/24', type='snat')
        self.cloud.add_nat('r1', 'no address')
        for name in ('r2', 'r3'):
            self.cloud.add_router(name, (f'192.0.2.{name[1]}/24',))
            # Of a network that this node does not serve.
            self.cloud.add_nat(name, '203.0.113.77')
        self.looked('duplicate-addresses', doctor.OK)
        self.cloud.add_nat('r2', '198.51.100.10', '10.0.0.66')
        self.assertIn('198.51.100.10 is an address of the routers r1, r2:',
                      self.looked('duplicate-addresses', doctor.WARN))
        self.cloud.remove_nat('r2', '198.51.100.10')
        self.looked('duplicate-addresses', doctor.OK)
        self.cloud.add_nat('r2', '198.51.100.1')
        self.assertIn('198.51.100.1 is', self.looked('duplicate-addresses',
                                                     doctor.WARN))

    def test_the_mappings_of_this_chassis_come_first(self):
        own = f'ovn-bridge-mappings-{cloud.CHASSIS}'
        self.local(**{own: 'physnet1:br-other'})
        self.assertIn(f'{own} names physnet1:br-other', self.looked(
            'bridge-mappings', doctor.BROKEN))
        self.local(**{own: f'physnet1:{cloud.BRIDGE}',
                      'ovn_bridge_mappings': 'physnet1:br-other'})
        self.looked('bridge-mappings', doctor.OK)

    def test_enable_chassis_as_gw(self):
        self.looked('gateway-chassis', doctor.BROKEN)
        self.local(**{_OPTIONS: 'x, enable-chassis-as-gw'})
        self.looked('gateway-chassis', doctor.OK)
        # What is for this chassis alone comes first, as for ovn-controller.
        self.local(**{f'{_OPTIONS}-{cloud.CHASSIS}': 'x'})
        self.looked('gateway-chassis', doctor.BROKEN)

    def test_a_compute_node(self):
        """With distributed floating IPs, the view needs the machines here.
        """
        self.conf.set_override('drivers', ['fip_route', 'veth_leak'])
        self.cloud.add_router('one', chassis=cloud.OTHER)
        self.cloud.add_nat('one', '198.51.100.10', logical_port='vm-1',
                           external_mac='fa:16:3e:00:00:aa')
        self.cloud.add_machine('vm-1', cloud.CHASSIS)
        self.assertIn('a compute node', self.looked('gateway-chassis',
                                                    doctor.OK))
        self.looked('ipv6-routers', doctor.OK)

    def test_the_nodes_that_the_checks_for_ipv6_concern(self):
        """Those with a provider network or a managed VIP of IPv6."""
        self.assertFalse(self.has_ipv6())
        self.cloud.add_router('one', chassis=cloud.OTHER)
        self.assertFalse(self.has_ipv6())
        self.cloud.add_router('two', ('198.51.100.2/24',
                                      '2001:db8:100::2/64'),
                              chassis=cloud.OTHER, mac='fa:16:3e:00:00:02')
        # Another chassis has the router, and this one could take it over.
        self.assertTrue(self.has_ipv6())
        self.conf.set_override('network_cidr', ['198.51.100.0/24'])
        self.assertFalse(self.has_ipv6())
        rules = self.create_tempfiles([('rules', """port_forwards:
- vip: 2001:db8::53
  manage_vip: true
  rules: [{proto: tcp, port: 80, dest_addr: fd00::5}]
""")], ext='.yaml')[0]
        self.conf.set_override('rules_file', rules, 'port_forward')
        self.assertTrue(self.has_ipv6())

    def has_ipv6(self):
        found = sources.Sources(self.conf, [])
        try:
            return check.has_ipv6(found)
        finally:
            found.close()

    def test_without_a_controller(self):
        """Nobody answers, and the chassis is then not looked at."""
        self.conf.set_override('ovn_rundir', '/nowhere', 'ovs')
        found = doctor.look(self.conf, 'ovn-controller', 'chassis')
        self.assertEqual(
            [doctor.BROKEN, doctor.NOT_CHECKED],
            [verdict for verdict, _why in found.values()], found)

    def test_a_controller_that_hangs(self):
        """Its socket takes the question, and no answer comes."""
        rundir = self.useFixture(fixtures.TempDir()).path
        # The privileged side has a configuration of its own.
        cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
        cfg.CONF.set_override('ovn_rundir', rundir, options.GROUP)
        self.addCleanup(cfg.CONF.clear_override, 'ovn_rundir',
                        options.GROUP)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.join(rundir, 'ovn-controller.1.ctl'))
            listening.listen()
            self.assertIn('does not answer', self.looked('ovn-controller',
                                                         doctor.BROKEN))

    def test_a_zone_that_ovn_uses(self):
        self.conf.set_override('rules_file', self.rules(), 'port_forward')
        self.looked('ct-zone', doctor.OK)
        self.ovs.transact(ovsdb.update(
            'Bridge', {'name': cloud.BRIDGE}, external_ids=ovsdb.ovsdb_dict(
                {'ct-zone-r1_dnat': '64000'})))
        self.assertIn('r1_dnat', self.looked('ct-zone', doctor.BROKEN))

    def rules(self):
        path = self.create_tempfiles([('rules', '''port_forwards:
- vip: 192.0.2.53
  rules: [{proto: tcp, port: 80, dest_addr: 10.0.0.5}]
''')], ext='.yaml')[0]
        return path

    def verdicts(self, name):
        """What a check says; its dependency, ovn-controller, is not here."""
        check, = (one for one in examination.CHECKS if one.name == name)
        found = sources.Sources(self.conf, [])
        try:
            return [(said.verdict, said.evidence)
                    for said in check.judge(check.read(found))]
        finally:
            found.close()

    def test_the_name_of_the_chassis(self):
        self.assertEqual(
            [(doctor.OK, f'{cloud.CHASSIS}, host name {cloud.HOSTNAME}')],
            self.verdicts('chassis'))
        self.sb.transact(ovsdb.delete('Chassis', {'name': cloud.CHASSIS}))
        self.assertEqual(doctor.BROKEN, self.verdicts('chassis')[0][0])
        self.local(**{'system-id': None})
        self.assertIn('system-id', self.verdicts('chassis')[0][1])


class WithheldTest(doctor.Looks, base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        self.in_this_process()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.cloud.add_nat('r1', '2001:db8::10')

    def look(self, verdict, *parts, **options):
        self.conf = self.of_databases(frr__vrf_name='', **{
            'announce__' + name: value for name, value in options.items()})
        found = self.looked('withheld-addresses', verdict)
        for part in parts:
            self.assertIn(part, found)

    def test_what_is_counted(self):
        self.look(doctor.OK, 'none of 2 addresses')
        self.cloud.say('NAT', {'external_ip': '198.51.100.10'}, external_ids={
            ownership.EXT_ID_ANNOUNCE: 'false'})
        self.look(doctor.OK, '1 of 2 addresses', '(1: NAT row ')
        self.look(doctor.WARN, '2 of 2 addresses',
                  '1: [announce] exclude_routers has r1',
                  exclude_routers=['r1'])
        self.cloud.say('Logical_Router', {'name': 'neutron-r1'},
                       options={'dynamic-routing': 'true'})
        self.look(doctor.WARN, '2 of 2 addresses', '2: ' + selection.BY_OVN)

    def test_names_that_ovn_does_not_know(self):
        self.cloud.add_switch()
        self.look(doctor.OK, include_routers=['r1'],
                  include_networks=['neutron-public'])
        self.look(doctor.WARN, 'exclude_routers has r2, and OVN has no such '
                  'router', exclude_routers=['r2'])
        self.look(doctor.WARN, 'exclude_networks has publik, and OVN has no '
                  'such network', exclude_networks=['publik'])
