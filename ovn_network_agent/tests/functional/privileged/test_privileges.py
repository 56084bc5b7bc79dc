# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The privileged daemons, and what the agent gives up."""

import json
import os
import subprocess
import sys
import tempfile

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.tests.functional.privileged import privileges_child

NET_ADMIN = f'{1 << 12:016x}'
DAC_OVERRIDE = f'{1 << 1:016x}'
NOTHING = f'{0:016x}'


class PrivilegesTest(base.KernelTestCase):
    """Each in a process of its own, in the namespace of the test."""

    def run_child(self, name, status=0):
        path = os.path.dirname(sys.executable)
        # Some become another user.
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        os.chmod(directory.name, 0o777)  # noqa: S103
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m',
             privileges_child.__name__, name],
            capture_output=True, text=True, timeout=60,
            env={**os.environ, 'PATH': f'{path}:{os.environ["PATH"]}',
                 'OS_DEFAULT__CONTROL_SOCKET': directory.name + '/x.ctl',
                 'PYTHONPATH': os.pathsep.join(sys.path)})
        self.assertEqual(status, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_nothing_is_left_to_the_agent(self):
        got = self.run_child('drop')
        self.assertEqual([NOTHING] * 5, got['sets'])
        self.assertEqual('1', got['no_new_privs'])
        self.assertEqual({0}, set(got['threads']))
        self.assertEqual(2, got['link'])
        self.assertNotIn('new', self.ip('link show'))
        # Privileged calls work afterwards.
        self.assertEqual(0, got['uid'])
        self.assertEqual(([], []), (got['call'], got['sysctl']))
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])
        self.assertEqual('1', self.sysctl('net/ipv4/conf/br-ex/proxy_arp'))

    def test_daemons_have_what_they_need(self):
        self.assertEqual(
            {'kernel': [NET_ADMIN, NET_ADMIN, '1', 'ovnagent-kernel'],
             'ovs': [DAC_OVERRIDE, DAC_OVERRIDE, '1', 'ovnagent-ovs'],
             'frr': [DAC_OVERRIDE, DAC_OVERRIDE, '1', 'ovnagent-frr'],
             'netfilter': [NET_ADMIN, NET_ADMIN, '1', 'ovnagent-netfil']},
            self.run_child('daemons'))

    def test_daemons_survive_signals_to_the_group(self):
        got = self.run_child('signals')
        self.assertEqual([True] * 4, got['alive'])
        self.assertEqual([], got['call'])
        self.assertTrue(got['handlers_kept'])
        self.assertEqual(NOTHING, got['blocked'])

    def test_a_dead_daemon_is_an_exception_at_once(self):
        got = self.run_child('killed')
        self.assertIn(got['first'][0], ('OSError', 'BrokenPipeError',
                                        'DaemonGone'))
        for kind, text in got['later']:
            self.assertEqual('DaemonGone', kind)
            self.assertIn('restart the agent', text)
        self.assertFalse(got['alive'])

    def test_a_dry_run_changes_nothing(self):
        got = self.run_child('dry_run')
        self.assertEqual(['ReadOnly'] * 2,
                         [kind for kind, _text in got['errors']])
        self.assertIsNone(got['pids'][0])
        self.assertNotIn('UP', self.shown('link show br-ex')[0]['flags'])

    def test_daemons_end_with_the_agent(self):
        for pid in self.run_child('orphans', status=-9):
            waiting.eventually(
                lambda one=pid: not os.path.exists(f'/proc/{one}'),
                f'the end of process {pid}', 5)

    def test_lack_of_a_capability_is_said(self):
        kind, text = self.run_child('lacking')
        self.assertEqual('NoPrivileges', kind)
        for part in ('no privileges', '[privsep_kernel]', 'CAP_NET_ADMIN'):
            self.assertIn(part, text)

    def test_the_capability_counts_and_not_the_user(self):
        got = self.run_child('granted')
        self.assertEqual((65534, NOTHING, []),
                         (got['uid'], got['left'], got['call']))
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])

    def test_a_daemon_started_by_a_helper(self):
        self.check_command(self.run_child('helper'))

    def test_a_daemon_started_by_the_root_helper(self):
        got = self.run_child('root_helper')
        self.assertEqual(['env', 'ROOT_HELPER=1'], got['words'])
        self.check_command(got)

    def check_command(self, got):
        self.assertEqual(([], []), (got['call'], got['after']))
        self.assertEqual(['1'], got['no_new_privs'])
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])

    def test_nft_needs_no_more_than_its_daemon_has(self):
        self.assertEqual({'tables': ['ip'], 'sets': ['guarded'],
                          'connections': 0, 'noticed': True, 'left': NOTHING},
                         self.run_child('netfilter'))

    def test_a_helper_that_does_not_work(self):
        kind, text = self.run_child('no_helper')
        self.assertEqual('NoPrivileges', kind)
        for part in ('no privileges', '/bin/false', 'sudoers',
                     '[privsep_kernel] helper_command'):
            self.assertIn(part, text)
