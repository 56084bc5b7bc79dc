# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""Doctor and a real FRR, of which one part after the other is broken."""

import unittest

from ovn_network_agent import privileged
from ovn_network_agent.diagnosis.node import registry
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.frr import base

FAMILY = ('router bgp 65001', 'address-family ipv4 unicast')
ALL = ('frr-daemons', 'frr-vrf', 'bgp-instance', 'bgp-redistribution',
       'bgp-filter', 'prefix-list', 'bgp-sessions')
# The neighbour sends nothing.
HEALTHY = {**dict.fromkeys(ALL, doctor.OK), 'bgp-sessions': doctor.WARN}


class FrrDoctorTest(doctor.Looks, base.FrrTestCase):

    def setUp(self):
        super().setUp()
        self.conf = configs.conf(
            bridge_dev=base.BRIDGE, frr__vrf_name='',
            ovn__ovn_nb_remote=['unix:/nowhere'],
            ovn__ovn_sb_remote=['unix:/nowhere'])
        for context in privileged.CONTEXTS:
            context.set_client_mode(False)
            self.addCleanup(context.set_client_mode, True)
        self.addCleanup(self.frr.restart_bgpd)
        self.frr.wait_for_session()

    def verdicts(self):
        return {name: verdict for name, (verdict, _why)
                in doctor.look(self.conf, *ALL).items()}

    def assert_broken(self, name, *unchecked):
        """Only one check fails; what depends on it is not made."""
        self.assertEqual(
            {**HEALTHY, name: doctor.BROKEN,
             **dict.fromkeys(unchecked, doctor.NOT_CHECKED)},
            self.verdicts())

    def test_healthy(self):
        self.assertEqual(HEALTHY, self.verdicts())

    def test_redistribution(self):
        self.frr.configure(*FAMILY, 'no redistribute static')
        self.assert_broken('bgp-redistribution')

    def test_a_route_map_that_does_not_exist(self):
        self.frr.configure(*FAMILY, 'redistribute static route-map NOWHERE')
        self.assert_broken('bgp-redistribution')
        self.assertIn('NOWHERE', self.looked('bgp-redistribution',
                                             doctor.BROKEN))
        self.frr.configure('route-map NOWHERE permit 10')
        self.addCleanup(self.frr.configure, 'no route-map NOWHERE')
        self.looked('bgp-redistribution', doctor.OK)

    def test_filter(self):
        self.frr.configure(
            *FAMILY, f'no neighbor 10.0.0.2 prefix-list {base.LIST} out')
        self.assert_broken('bgp-filter')

    def test_a_prefix_list_in_one_daemon(self):
        line = f'ip prefix-list {base.LIST} seq 7 permit 10.0.0.0/8'
        self.frr.configure_one('bgpd', line)
        self.addCleanup(self.frr.configure_one, 'bgpd', 'no ' + line)
        self.assert_broken('prefix-list')
        self.assertIn('only bgpd', self.looked('prefix-list', doctor.BROKEN))

    def test_a_prefix_list_in_both_or_in_zebra(self):
        line = f'ip prefix-list {base.LIST} seq 7 permit 10.0.0.0/8'
        self.frr.configure(line)
        self.assertIn('1 entries', self.looked('prefix-list', doctor.OK))
        self.addCleanup(self.frr.configure, 'no ' + line)
        self.frr.restart_bgpd()
        self.assertIn('only zebra', self.looked('prefix-list',
                                                doctor.BROKEN))

    def test_instance(self):
        self.frr.configure('no router bgp 65001')
        self.assert_broken('bgp-instance', 'bgp-redistribution',
                           'bgp-filter', 'bgp-sessions')

    def test_session(self):
        self.frr.configure('router bgp 65001', 'neighbor 10.0.0.2 shutdown')
        base.wait_until(
            lambda: self.verdicts()['bgp-sessions'] is doctor.BROKEN,
            'the session is down')
        self.assertIn('10.0.0.2', self.looked('bgp-sessions',
                                              doctor.BROKEN))

    def test_a_daemon_that_does_not_run(self):
        self.frr.kill('staticd')
        self.addCleanup(self.frr.start, 'staticd')
        self.assert_broken('frr-daemons', *ALL[1:])
        self.assertIn('staticd', self.looked('frr-daemons', doctor.BROKEN))
        # Only static announcements need staticd.
        self.conf.set_override('announce_method', 'kernel', 'fip_route')
        self.looked('frr-daemons', doctor.OK)

    def test_bfd_without_its_daemon(self):
        self.frr.configure('router bgp 65001', 'neighbor 10.0.0.2 bfd')
        self.assertIn('bfdd', self.looked('frr-daemons', doctor.BROKEN))

    def test_a_daemon_that_hangs_costs_its_own_checks(self):
        with self.wedged('bgpd'):
            found = doctor.look(self.conf, *ALL, 'rp-filter')
        self.assertEqual(doctor.NOT_CHECKED, found['bgp-sessions'][0])
        self.assertEqual(doctor.OK, found['rp-filter'][0], found)

    def test_version(self):
        self.assertIn('FRR ', doctor.look(self.conf, 'versions')[
            'versions'][1])


class NamesTest(unittest.TestCase):

    def test_all_checks_of_frr_are_here(self):
        self.assertEqual(set(ALL), {
            check.name for check in registry.CHECKS
            if check.layer in ('FRR', 'BGP')})
