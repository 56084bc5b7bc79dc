# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The benchmark that measures in the provider VRF, with all of OVN."""

import os
import subprocess
import sys
import unittest

from ovn_network_agent.tests import needs

# More than the 250 floating IPs of the lab's usual provider network.
PRESENT = 260


@needs.needs(os.environ.get('LAB_MACHINE'),
             'makes a cloud: needs the lab machine')
class TestBench(unittest.TestCase):

    def test_more_addresses_than_in_the_usual_network(self):
        made = subprocess.run(
            [sys.executable, '-m', 'tools.bench.lab', '--methods', 'kernel',
             '--routers', '2', '--present', f'{PRESENT:d}', '--start-with',
             f'{PRESENT:d}', '--at-once', '2', '--repeat', '1', '--starts',
             '1'], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(0, made.returncode, made.stderr)
        for what in ('one: add', 'one: remove', '2 at once: add',
                     '2 at once: remove'):
            self.assertRegex(
                made.stdout,
                rf'kernel, {PRESENT:d} present: {what} +all +median +[\d.]+')
