# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Reload by command and by SIGHUP, of a whole agent."""

import json
import os
import signal

import fixtures

from ovn_network_agent.tests import configs
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.cmd import running
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb


class ReloadTest(base.CtlTestCase):
    """The command, with files of its own."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=base.HERE)
        self.path = os.path.join(
            self.useFixture(fixtures.TempDir()).path, 'agent.conf')

    def write(self, text='', more=''):
        nb, sb, ovs = self.remotes().values()
        with open(self.path, 'w') as opened:
            opened.write(
                f'[DEFAULT]\nbridge_dev = {cloud.BRIDGE}\n'
                f'drivers = fip_route,veth_leak,gateway_drain\n'
                f'control_socket = {self.socket}\n{text}'
                '[gateway_drain]\ndrain_on_shutdown = false\n'
                f'[ovn]\novn_nb_remote = {nb}\novn_sb_remote = {sb}\n'
                f'[ovs]\novsdb_connection = {ovs}\n{more}')

    def running(self):
        self.write()
        return self.ready('lrp-r1',
                          conf=configs.loaded('--config-file', self.path))

    def test_what_has_changed_and_what_waits(self):
        self.running()
        self.assertEqual('reload: no change\n',
                         self.ends(0, self.ctl('reload', '--wait')).stdout)
        self.write('reconcile_interval = 7\n', '[frr]\nvrf_name = vrf-2\n')
        self.assertEqual(
            'reload: changed\n'
            '  [DEFAULT] reconcile_interval: 60 -> 7\n'
            'waits for a restart: [frr] vrf_name: vrf-provider -> vrf-2 (the '
            'privileged side keeps to the values with which it was started)'
            '\n', self.ends(0, self.ctl('reload', '--wait')).stdout)
        found = json.loads(self.ends(
            0, self.ctl('reload', '--wait', '--json')).stdout)
        self.assertEqual(([], ['vrf_name'], [], True), (
            found['changed'], [c['option'] for c in found['waiting']],
            found['refused'], found['in_force']))
        # It is no reason for a degraded state, and status has it.
        said = self.call('status', '--verbose')
        self.assertIn('waits for a restart: [frr] vrf_name', said)
        self.assertEqual('vrf_name',
                         self.status()['reload']['waiting'][0]['option'])
        self.ends(0, self.ctl('health'))

    def test_a_mistake_changes_nothing_and_is_named(self):
        agent = self.running()
        self.write('reconcile_interval = 7\n',
                   '[fip_route]\nannounce_method = magic\n')
        ended = self.ends(1, self.ctl('reload', '--wait'))
        self.assertIn('refused, nothing has changed', ended.stdout)
        self.assertIn('announce_method', ended.stdout)
        self.assertEqual(60, agent._conf.reconcile_interval)
        self.eventually(lambda: any('announce_method' in reason for reason
                                    in self.status()['degraded']), 'degraded')
        self.assertIn('announce_method', self.ends(
            1, self.ctl('health')).stdout)
        self.write('reconcile_interval = 7\n')
        self.ends(0, self.ctl('reload', '--wait'))
        self.ends(0, self.ctl('health'))
        self.stop(agent)
        self.assertIn('the agent stops', self.ends(
            1, self.ctl('reload')).stderr)

    def test_usage_and_no_agent(self):
        self.ends(2, self.ctl('reload', '--nonsense'))
        self.ends(4, self.ctl('reload'))


@ovsdb.needs_ovsdb
@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class SignalTest(running.RunningTestCase):
    """SIGHUP to the program, with all that it takes."""

    def setUp(self):
        super().setUp()
        self.socket = os.path.join(self.directory, 'control.ctl')
        self.other = os.path.join(self.directory, 'other.log')

    def write(self, default='', more=''):
        """The configuration with these lines; gives its path."""
        path = self.config(
            f'[frr]\nvrf_name =\nfrr_prefix_list =\n{more}', self.remotes,
            drivers='fip_route', control_socket=self.socket,
            shutdown_timeout=3, **dict(
                line.split(' = ') for line in default.splitlines()))
        return path

    def last(self):
        """The last reload in the status, None before the first one."""
        return self.status(self.socket).get('reload')

    def logs(self):
        """The log of the start, and that of another file."""
        if not os.path.exists(self.other):
            return self.log()
        with open(self.other) as opened:
            return self.log() + opened.read()

    def hup(self):
        """SIGHUP, and the command, which waits for both; its exit status."""
        before = self.logs().count('Caught SIGHUP')
        self.agent.send_signal(signal.SIGHUP)
        self.eventually(
            lambda: self.logs().count('Caught SIGHUP') > before)
        # The answer comes after that of the signal.
        return self.run_program('ctl', '--socket', self.socket, 'reload',
                                '--json').returncode

    def test_signals(self):
        self.write_vtysh()
        self.start(self.write())
        self.eventually(lambda: self.status(self.socket))
        self.assertIsNone(self.last())
        # All of it, or nothing.
        self.write('reconcile_interval = 9\nlog_level = loud')
        self.assertEqual(1, self.hup())
        self.assertIn('log_level', ' '.join(self.last()['refused']))
        self.assertNotIn('reconcile_interval: 60 -> 9', self.log())
        # An option that waits lets the others pass.
        self.write('reconcile_interval = 9\nbridge_ip = 169.254.99.1')
        self.assertEqual(0, self.hup())
        self.assertEqual([], self.last()['refused'])
        self.assertIn('changed: [DEFAULT] reconcile_interval: 60 -> 9',
                      self.log())
        self.assertIn('waits for a restart: [DEFAULT] bridge_ip: '
                      '169.254.169.254 -> 169.254.99.1', self.log())
        # A file of the log, which the library takes in by itself.
        path = os.path.join(self.directory, 'logging.ini')
        with open(path, 'w') as opened:
            opened.write('nonsense\n')
        self.write(f'log_config_append = {path}')
        self.assertEqual(1, self.hup())
        self.assertIn('log_config_append', ' '.join(self.last()['refused']))
        self.assertIn('The configuration stays as it was', self.log())
        self.assertIsNone(self.agent.poll())
        with open(path, 'w') as opened:
            opened.write(
                '[loggers]\nkeys = root\n[handlers]\nkeys = file\n'
                '[formatters]\nkeys =\n[logger_root]\nlevel = INFO\n'
                'handlers = file\n[handler_file]\nclass = FileHandler\n'
                f"args = ({self.other!r},)\n")
        self.assertEqual(0, self.hup())
        self.write('reconcile_interval = 11')
        with open(self.other) as opened:
            self.assertIn('log_config_append', opened.read())
        # And back to the log of the start.
        self.assertEqual(0, self.hup())
        self.assertIn('reconcile_interval: 60 -> 11', self.log())
        self.stop()
