# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the tests need of the process that runs them."""

import subprocess
import sys

from oslotest import base

# What a shell does to a command that it puts into the background.
IN_BACKGROUND = '''
import signal
import subprocess
import sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
import ovn_network_agent.tests
subprocess.run([sys.executable, '-c', 'import signal; print('
                'signal.getsignal(signal.SIGINT).__name__)'], check=True)
'''


class RunnerTest(base.BaseTestCase):

    def test_what_a_test_starts_can_be_interrupted(self):
        self.assertEqual('default_int_handler\n', subprocess.run(
            [sys.executable, '-c', IN_BACKGROUND], text=True, check=True,
            stdout=subprocess.PIPE).stdout)
