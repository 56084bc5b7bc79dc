# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A machine of the lab boots, runs commands in its nodes, and ends."""

import os
import select
import subprocess
import sys
import unittest

from lab import kernel
from lab import running
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import tools

PROGRAM = '''\
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
from lab import node
made = [node.Node('one'), node.Node('two')]
print('ready', flush=True)
signal.sigwait({signal.SIGTERM})
'''
PATIENCE = 60


def lab(*args, **kwargs):
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, '-m', 'lab', *args], cwd=tools.ROOT,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
        check=False, text=True, **kwargs)


@needs.needs(os.geteuid() == 0, 'boots the lab machine: needs root')
class ConsoleTest(unittest.TestCase):
    """Not of oslotest: with another HOME the kernel would be built anew."""

    def setUp(self):
        super().setUp()
        kernel.choose()
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'lab', 'run', '--mem', '512M', '--',
             sys.executable, '-c', PROGRAM], cwd=tools.ROOT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.terminate)

    def test_from_the_boot_to_the_end(self):
        self.assertTrue(select.select([self.process.stdout], [], [],
                                      PATIENCE)[0])
        self.assertEqual(b'ready\n', self.process.stdout.readline())
        name = next(one['name'] for one in running.labs()
                    if one['pid'] == self.process.pid)
        self.assertRegex(lab('list').stdout, rf'{name}  pid '
                         rf'{self.process.pid} .*\n    nodes: one two\n')
        done = lab('exec', '--lab', name, 'two', '--', 'sh', '-c',
                   'hostname; pwd; echo wrong >&2; exit 7')
        self.assertEqual((7, 'two\n/\n', 'wrong\n'),
                         (done.returncode, done.stdout, done.stderr))
        self.assertEqual(0, lab('down', '--lab', name).returncode)
        self.assertNotEqual(0, self.process.wait(PATIENCE))
        self.assertEqual(255, lab('exec', '--lab', name, 'one', '--',
                                  'true').returncode)
