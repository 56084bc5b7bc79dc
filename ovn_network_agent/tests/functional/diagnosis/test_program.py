# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The program: explain without an agent, from real databases."""

import json
import os
import re
import shlex
import subprocess
import sys

import fixtures

import ovn_network_agent
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud

FIP = '198.51.100.10'
TOP = os.path.dirname(os.path.dirname(ovn_network_agent.__file__))
_LIMIT = 60


class ExplainTest(base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path
        self.config = os.path.join(self.directory, 'agent.conf')
        with open(self.config, 'w') as opened:
            opened.write(
                f'[DEFAULT]\ncontrol_socket = {self.directory}/ctl\n'
                f'bridge_dev = {cloud.BRIDGE}\n'
                f'[ovn]\novn_nb_remote = {self.nb.remote}\n'
                f'ovn_sb_remote = {self.sb.remote}\n'
                f'[ovs]\novsdb_connection = {self.ovs.remote}\n'
                f'ovs_rundir = {self.directory}\n'
                f'[frr]\nfrr_run_dir = {self.directory}/frr\n')
        self.cloud.add_router('one', chassis=cloud.CHASSIS)
        self.cloud.add_nat('one', FIP)

    def run_program(self, *arguments):
        """The ended program, a CompletedProcess."""
        env = {name: value for name, value in os.environ.items()
               if not name.startswith('OS_')}
        return subprocess.run(
            [sys.executable, '-W', 'error::ResourceWarning', '-m',
             'ovn_network_agent.cmd.ctl', '--config-file', self.config,
             'explain', *arguments], env={**env, 'PYTHONPATH': TOP},
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_LIMIT)

    def explain(self, address):
        """(exit status, what is said, a dict)."""
        ended = self.run_program(address, '--json')
        self.assertEqual('', ended.stderr)
        return ended.returncode, json.loads(ended.stdout)

    def verdicts(self, said):
        return {one['check']: one['verdict'] for one in said['findings']}

    def test_here(self):
        """What OVN has is fine; the node has nothing of it.

        Nothing is written.
        """
        before = [server.content() for server in self.servers.values()]
        status, said = self.explain(FIP)
        self.assertEqual(
            before, [server.content() for server in self.servers.values()])
        found = self.verdicts(said)
        self.assertEqual((1, 'broken'), (status, said['outcome']), said)
        for check in ('nat-row', 'router', 'gateway-port', 'segment',
                      'wanted'):
            self.assertEqual('OK', found[check], said)
        # Nobody has prepared this node.
        for check in ('default-route', 'bridge-device', 'veth-pair',
                      'policy-rules'):
            self.assertEqual('BROKEN', found[check], said)
        for check in ('hairpin-flow', 'frr-route', 'redistribute'):
            self.assertEqual('NOT CHECKED', found[check], said)
        self.assertEqual('WARN', found['agent'])

    def test_a_distributed_floating_ip(self):
        """The node of the machine has it; on no node, the remedy is typed.
        """
        self.cloud.change_nat(FIP, external_mac='fa:16:3e:00:00:77',
                              logical_port='port')
        self.cloud.add_machine('port', cloud.OTHER)
        for chassis in (cloud.CHASSIS, cloud.OTHER):
            self.cloud.move('lrp-one', chassis)
            status, said = self.explain(FIP)
            self.assertEqual((5, 'elsewhere', 'distributed floating IP'), (
                status, said['outcome'], said['kind']), said)
            port, = [one for one in said['findings']
                     if one['check'] == 'gateway-port']
            self.assertIn(f'is on {cloud.OTHER_HOSTNAME}', port['evidence'])
        self.cloud.move_machine('port', None)
        status, said = self.explain(FIP)
        broken, = [one for one in said['findings']
                   if one['verdict'] == 'BROKEN']
        self.assertEqual((1, 'gateway-port'), (status, broken['check']), said)
        command, = re.findall('"(ovn-nbctl [^"]+)"', broken['remedy'])
        program, *words = shlex.split(command)
        subprocess.run([program, f'--db={self.nb.remote}', *words],
                       check=True, timeout=_LIMIT)
        status, said = self.explain(FIP)
        self.assertEqual((5, 'floating IP'), (status, said['kind']), said)

    def test_elsewhere_and_nobody(self):
        self.cloud.move('lrp-one', cloud.OTHER)
        status, said = self.explain(FIP)
        self.assertEqual((5, 'elsewhere'), (status, said['outcome']))
        self.assertIn(cloud.OTHER_HOSTNAME, said['findings'][-1]['evidence'])
        self.assertEqual(f'{cloud.OTHER_HOSTNAME} has the address: ask there.',
                         self.run_program(FIP).stdout.splitlines()[-1])
        status, said = self.explain('198.51.100.77')
        self.assertEqual((6, 'nobody'), (status, said['outcome']))

    def test_no_address(self):
        ended = self.run_program('198.51.100.300')
        self.assertEqual(2, ended.returncode)
        self.assertIn("'198.51.100.300' is not an IP address", ended.stderr)
