# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The settings of the original, taken over by the real programs."""

import os
import stat
import subprocess
import sys

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.cmd import base
from ovn_network_agent.tests.functional.cmd import running
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

GENERATOR = os.path.join(base.TOP, 'etc', 'oslo-config-generator',
                         'ovn-network-agent.conf')
ORIGINAL = '''
ovn_nb_remote: {nb}
ovn_sb_remote: "{sb}"
network_cidr:
  - 198.51.100.0/24
reconcile_interval: 1m30s
drain_settle_delay: 250ms
port_forwards:
  - vip: 192.0.2.10
    rules:
      - {{proto: tcp, port: "80", dest_addr: 10.0.0.1}}
'''
# What the node of the test lacks: a VRF, and a database at the usual place.
NODE = '''[DEFAULT]
drivers = fip_route
control_socket =
[ovs]
ovsdb_connection = {ovs}
'''


class Migration:
    """Runs the program; a mixin of :class:`base.ProgramTestCase`."""

    def original(self, text=None, name='config.yaml'):
        """A file of the original, its path."""
        path = os.path.join(self.directory, name)
        with open(path, 'w') as opened:
            opened.write(ORIGINAL.format(**base.REMOTES)
                         if text is None else text)
        return path

    def migrate(self, *args):
        """Run the program; the usual files of this machine do not count."""
        nothing = self.original('', 'nothing')
        return self.run_program('migrate', '--environment-file', nothing,
                                *args)


class MigrateTest(Migration, base.ProgramTestCase):

    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.directory, 'out')
        self.ini = os.path.join(self.out, 'ovn-network-agent.conf')
        self.rules = os.path.join(self.out, 'port-forwards.yaml')

    def content(self, path):
        with open(path) as opened:
            return opened.read()

    def test_written_and_valid(self):
        ended = self.migrate('--config', self.original(), '--output',
                             self.out, '--', '--log-level', 'debug')
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertEqual('', ended.stdout)
        for line in ('ovn_nb_remote = tcp:127.0.0.1:1',
                     'reconcile_interval = 90', 'log_level = debug',
                     f'rules_file = {self.rules}',
                     'vip_announce = with-gateway'):
            self.assertIn(f'{line}\n', self.content(self.ini))
        self.assertIn('port: 80\n', self.content(self.rules))
        for path in self.ini, self.rules:
            self.assertEqual(0o644, os.stat(path).st_mode & 0o777)
        checked = self.run_agent('--check-config', '--config-file', self.ini)
        self.assertEqual((0, 'configuration OK\n', ''), (
            checked.returncode, checked.stdout, checked.stderr))
        validator = os.path.join(os.path.dirname(sys.executable),
                                 'oslo-config-validator')
        checked = subprocess.run(
            [validator, '--config-file', GENERATOR, '--input-file',
             self.ini], env=self.env, capture_output=True, text=True)
        self.assertEqual(0, checked.returncode,
                         checked.stdout + checked.stderr)

    def test_nothing_is_replaced_unless_forced(self):
        config = self.original()
        os.mkdir(self.out)
        with open(self.rules, 'w') as opened:
            opened.write('mine')
            os.fchmod(opened.fileno(), 0o640)
        ended = self.migrate('--config', config, '--output', self.out)
        self.assertEqual(1, ended.returncode)
        self.assertIn(f'{self.rules} is there already', ended.stderr)
        self.assertEqual('mine', self.content(self.rules))
        self.assertFalse(os.path.exists(self.ini))
        ended = self.migrate('--config', config, '--output', self.out,
                             '--force')
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertNotEqual('mine', self.content(self.rules))
        self.assertEqual([0o640, 0o644], [
            stat.S_IMODE(os.stat(path).st_mode)
            for path in (self.rules, self.ini)])
        self.assertEqual({'ovn-network-agent.conf', 'port-forwards.yaml'},
                         {*os.listdir(self.out)})

    def test_what_the_agent_would_refuse(self):
        ended = self.migrate('--config', self.original(
            'ovn_nb_remote: tcp:192.0.2.1:6641\n'), '--output', self.out)
        self.assertEqual(3, ended.returncode, ended.stderr)
        self.assertIn('the agent would not start: [ovn] ovn_sb_remote is not '
                      'set', ended.stderr)
        self.assertTrue(os.path.exists(self.ini))

    def test_what_is_refused(self):
        """Bad input writes nothing."""
        for args, said in (
                (('--config', self.original('- x\n', 'bad')),
                 'holds no options'),
                (('--config', self.original('', 'empty')), 'no source'),
                (('--config', '/nowhere/x.yaml'), 'No such file'),
                (('--confg', 'x'), 'did you mean --config?'),
                (('--', '--brigde-dev=x'), 'did you mean --bridge-dev?')):
            ended = self.migrate('--output', self.out, *args)
            self.assertEqual(2, ended.returncode, ended.stderr)
            self.assertIn(said, ended.stderr)
            self.assertNotIn('Traceback', ended.stderr)
            self.assertFalse(os.path.exists(self.out))
        self.assertIn('exit status: 0: done', self.migrate('--help').stdout)

    def test_standard_output(self):
        """And a file that a flag names."""
        ended = self.migrate('--', f'--config={self.original()}',
                             '--bridge-dev=br-x')
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertIn('bridge_dev = br-x\n', ended.stdout)
        self.assertEqual(
            ['# /etc/ovn-network-agent/ovn-network-agent.conf',
             '# /etc/ovn-network-agent/port-forwards.yaml'],
            [line for line in ended.stdout.splitlines()
             if line.startswith('# /')])
        self.assertFalse(os.path.exists(self.out))


@ovsdb.needs_ovsdb
@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class StartTest(Migration, running.RunningTestCase):

    def test_the_agent_works_with_it(self):
        """A dry run against real databases, with a plan for the router."""
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        text = ORIGINAL.format(**self.remotes).partition('port_forwards')[0]
        ended = self.migrate('--config', self.original(text), '--output',
                             self.directory, '--', '--vrf-name=',
                             '--frr-prefix-list=',
                             '--bridge-dev=' + cloud.BRIDGE)
        self.assertEqual(0, ended.returncode, ended.stderr)
        with open(os.path.join(self.directory, 'node.conf'), 'w') as opened:
            opened.write(NODE.format(**self.remotes))
        self.write_vtysh()
        ended = self.run_agent(
            '--dry-run', '--config-file',
            os.path.join(self.directory, 'ovn-network-agent.conf'),
            '--config-file', opened.name, inside=self.inside)
        # Nobody can ask this FRR, so the plan is not complete.
        self.assertEqual(3, ended.returncode, ended.stderr)
        self.assertIn('default_route', ended.stdout)
        self.assertIn('198.51.100.1', ended.stdout)
