# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What ovn-network-agent-ctl health prints and ends with."""

import json
import os
import socket
import subprocess

from ovn_network_agent.ctl import status
from ovn_network_agent.tests.functional.control import base


class HealthTest(base.CtlTestCase):

    def health(self, status, *argv):
        """What health prints when it ends with a status."""
        return self.ends(status, self.ctl('health', *argv)).stdout

    def test_ready_degraded_and_ready_again(self):
        self.cloud.add_router('r1', chassis=base.HERE)
        self.agent()
        self.eventually(lambda: self.ctl('health').returncode == 0, 'ready')
        self.assertEqual('ready\n', self.health(status.READY))
        self.assertEqual(
            {'health': 'ready', 'phase': 'running', 'reasons': []},
            json.loads(self.health(status.READY, '--json')))
        self.nb.kill()
        self.eventually(lambda: self.ctl('health').returncode == 1,
                        'degraded')
        self.assertIn('OVN_Northbound', self.health(status.DEGRADED))
        found = json.loads(self.health(status.DEGRADED, '--json'))
        self.assertEqual('degraded', found['health'])
        self.assertTrue(found['reasons'])
        self.nb.start()
        self.eventually(lambda: self.ctl('health').returncode == 0, 'ready')

    def test_no_agent(self):
        ended = self.ends(status.NO_AGENT, self.ctl('health', '--json'))
        self.assertEqual('no agent', json.loads(ended.stdout)['health'])
        self.assertIn('start the agent', ended.stderr)

    def test_an_agent_that_does_not_answer(self):
        with socket.socket(socket.AF_UNIX) as deaf:
            deaf.bind(self.socket)
            deaf.listen()
            ended = self.ends(status.NO_AGENT,
                              self.ctl('health', '--timeout', '0.2'))
        self.assertIn('did not answer', ended.stderr)

    def test_usage(self):
        for argv in (('--nonsense',), ('--timeout', '0')):
            ended = self.ends(2, self.ctl('health', *argv))
            self.assertIn('error: ', ended.stderr)
        path = os.path.join(self.directory, 'agent.conf')
        with open(path, 'w') as opened:
            opened.write('[DEFAULT]\ncontrol_socket =\n')
        ended = self.ends(2, subprocess.run(
            self.ctl_argv('--config-file', path, 'health'), text=True,
            capture_output=True, timeout=base.LIMIT))
        self.assertIn('control_socket is empty', ended.stderr)
