# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The functions of the devstack plugin, outside of a devstack."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from ovn_network_agent.tests import needs

DRIVER = pathlib.Path(__file__).with_name('driver.sh')


@needs.needs(os.geteuid() == 0, 'makes namespaces: needs root')
class PluginTest(unittest.TestCase):
    """Functions stand for devstack's own; FRR and the agent are real."""

    def test_stack_unstack_clean(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(directory, 0o755)
        # All processes go with the first one.
        done = subprocess.run(
            ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child',
             '--mount-proc', 'bash', DRIVER, directory, sys.executable],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        before, bgp, configuration, unit, left = (
            part.partition('\n')[2] for part in
            ('\n' + done.stdout).split('\n-- '))
        self.assertIn('install_package frr\n', before)
        # FRR has taken each line that the plugin wrote.
        for line in ('router bgp 64999',
                     ' neighbor 192.0.2.1 remote-as 64998',
                     '  redistribute static',
                     '  neighbor 192.0.2.1 prefix-list ANNOUNCED-NETWORKS '
                     'out'):
            self.assertIn(line, bgp.splitlines())
        for line in ('bridge_dev = br-ex', 'vrf_name = ',
                     'ovn_nb_remote = tcp:192.0.2.9:6641',
                     'ovn_sb_remote = tcp:192.0.2.9:6642'):
            self.assertIn(line.strip(), map(str.strip,
                                            configuration.splitlines()))
        for line in ('KillMode = mixed', 'TimeoutStopSec = 180',
                     'OOMPolicy = continue'):
            self.assertIn(line, unit.splitlines())
        self.assertIn('stop_service devstack@ovn-network-agent.service',
                      done.stdout)
        # The file of FRR is the operator's again, and nothing else is left.
        self.assertEqual('! before\n', left)
