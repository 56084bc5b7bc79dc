# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The file that ovn-network-agent-ctl report writes."""

import json
import os
import stat

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.cmd import running
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

SECRET = 'geheim-7c1e'


@ovsdb.needs_ovsdb
@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class ReportTest(running.RunningTestCase):

    def setUp(self):
        super().setUp()
        self.control = os.path.join(self.directory, 'control.ctl')
        self.path = os.path.join(self.directory, 'report.json')
        for name in ('vtysh', 'wrapper'):
            self.program(name, '#!/bin/sh\necho "$@" >&2\nexit 1\n')

    def ctl(self, *argv):
        return self.run_program('ctl', *argv)

    def configuration(self):
        return self.config(
            '[frr]\nvrf_name =\nfrr_prefix_list =\n'
            f'vtysh_wrapper = wrapper --password={SECRET}\n', self.remotes,
            drivers='fip_route', control_socket=self.control,
            shutdown_timeout=3)

    def read(self):
        with open(self.path) as opened:
            text = opened.read()
        self.assertNotIn(SECRET, text)
        return json.loads(text)

    def test_of_a_running_agent(self):
        self.start(self.configuration())
        self.eventually(lambda: self.status(self.control).get(
            'phase') == 'running')
        ended = self.ctl('--socket', self.control, 'report', self.path)
        self.assertEqual((0, self.path + '\n'),
                         (ended.returncode, ended.stdout), ended.stderr)
        self.assertEqual(0o600, stat.S_IMODE(os.stat(self.path).st_mode))
        found = self.read()
        agent = found['agent']
        self.assertEqual('running', agent['status']['phase'])
        self.assertEqual(self.agent.pid, agent['agent']['pid'])
        self.assertTrue(agent['databases']['nb']['connected'])
        self.assertIn('Logical_Router', agent['databases']['nb']['rows'])
        # The loop waits or has begun a pass: both are below its run().
        self.assertRegex(' '.join(next(
            lines for name, lines in agent['threads'].items()
            if name.startswith('loop '))),
            r'runtime/loop\.py", line \d+ in run\b')
        self.assertIn('Starting', ' '.join(agent['log']))
        self.assertIn('addresses', found['addresses'])
        value, = [each for each in agent['configuration']
                  if each['option'] == 'vtysh_wrapper']
        self.assertEqual('wrapper --password=***', value['value'])
        self.assertIn('agent.conf', value['source'])
        # A second one needs another name.
        ended = self.ctl('--socket', self.control, 'report', self.path)
        self.assertEqual(1, ended.returncode)
        self.assertIn('exists already', ended.stderr)
        ended = self.ctl('--socket', self.control, 'report', '-')
        self.assertEqual(0, ended.returncode)
        self.assertNotIn(SECRET, ended.stdout)
        self.assertIn('threads', json.loads(ended.stdout)['agent'])
        self.stop()

    def test_without_an_agent(self):
        ended = self.ctl('--config-file', self.configuration(), 'report',
                         self.path)
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertIn('no agent answers', ended.stderr)
        found = self.read()
        self.assertIn('error', found['agent'])
        self.assertIn('python', found['client'])
        value, = [each for each in found['configuration']
                  if each['option'] == 'vtysh_wrapper']
        self.assertEqual('wrapper --password=***', value['value'])

    def test_a_file_of_its_own_name_and_a_place_that_is_not_there(self):
        ended = self.ctl('--socket', self.control, 'report')
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertRegex(ended.stdout,
                         r'^ovn-network-agent-report-.*Z\.json$')
        self.path = os.path.join(self.directory, ended.stdout.strip())
        self.read()
        ended = self.ctl('--socket', self.control, 'report', '/nowhere/x')
        self.assertEqual(1, ended.returncode)
        self.assertIn('No such file', ended.stderr)
