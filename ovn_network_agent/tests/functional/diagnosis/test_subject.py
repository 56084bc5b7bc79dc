# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an address is, from one-shot questions to real databases."""

import re
import shlex
import subprocess

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import ovn
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.tests.functional.diagnosis import subjects
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud

FIP = '198.51.100.10'


class SubjectTestCase(subjects.Subjects, base.OvsdbTestCase):
    """With real servers."""


class RemedyTest(SubjectTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('one', chassis=cloud.CHASSIS)
        self.cloud.add_nat('one', FIP)
        self.cloud.add_nat('one', '198.51.100.99', type='snat',
                           logical_ip='10.0.0.0/24')

    def follow(self, remedy):
        """Run the command of a remedy."""
        command, = re.findall('"(ovn-nbctl [^"]+)"', remedy)
        program, *words = shlex.split(command)
        subprocess.run([program, f'--db={self.nb.remote}', *words],
                       check=True, timeout=60)

    def test_the_command_removes_the_row_without_a_port(self):
        self.cloud.change_nat(FIP, logical_port='port-1')
        self.cloud.add_router('two', ('198.51.100.2/24',), cloud.OTHER)
        self.cloud.add_nat('two', FIP, '10.0.0.66')
        self.follow(verdicts.several_claims(self.subject(FIP)).remedy)
        left, = self.subject(FIP).claims
        self.assertEqual('port-1', left.port)

    def test_a_router_that_ovn_routes(self):
        self.cloud.say('Logical_Router', {'name': 'neutron-one'},
                       options={'dynamic-routing': 'true'})
        self.follow(ovn.wanted(
            facts.Facts(None, self.subject(FIP))).remedy)
        self.assertEqual('', self.subject(FIP).withheld)

    def test_the_router_is_that_of_the_agent(self):
        """The same value as from the agent's replica, but for other NAT."""
        seen = self.eyes().router('one')
        found = self.subject(FIP).router
        self.assertEqual(seen.ports, found.ports)
        self.assertEqual(seen.default_routes, found.default_routes)
        self.assertEqual((1, frozenset()), (len(seen.tenants), found.tenants))


class UnreadTest(SubjectTestCase):

    def test_a_server_that_is_gone(self):
        conf = self.configuration()
        self.nb.kill()
        error = self.assertRaises(readers.Unread, northbound.read, conf, FIP)
        self.assertIn('OVN_Northbound', str(error))

    def test_the_next_member_answers(self):
        conf = self.configuration()
        conf.set_override('ovn_nb_remote', [
            'unix:/nowhere/nb.sock', self.nb.remote], group='ovn')
        self.cloud.add_router('one')
        self.cloud.add_nat('one', FIP)
        found = northbound.read(conf, FIP)
        self.assertEqual(1, len(found['Logical_Router']))

    def test_a_database_of_an_old_ovn(self):
        conf = self.configuration()
        self.nb.convert(lambda tables: tables.pop('Static_MAC_Binding'))
        self.cloud.add_router('one')
        self.cloud.add_nat('one', FIP)
        self.assertNotIn('Static_MAC_Binding',
                         northbound.read(conf, FIP))
