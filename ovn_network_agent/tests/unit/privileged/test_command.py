# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Programs that the root side runs, and their limits."""

import os
import sys
import tempfile
import time
import unittest
from unittest import mock

from ovn_network_agent.privileged.daemon import command
from ovn_network_agent.tests import waiting

# A program whose end its parent cannot collect: its child traces it, and does
# not collect it either.  The arguments are a file for the PID of the child and
# the request PTRACE_SEIZE.
_HELD = '''
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
# PR_SET_PTRACER, PR_SET_PTRACER_ANY
libc.prctl(0x59616d61, ctypes.c_ulong(-1))
held = os.getpid()
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    if libc.ptrace(0x4206, held, 0, 0) == 0:
        with open(sys.argv[1], "w") as opened:
            opened.write(str(os.getpid()))
time.sleep(60)
'''


def running(pid):
    """Whether a process is more than a zombie."""
    try:
        with open(f'/proc/{pid}/stat') as opened:
            return opened.read().rpartition(') ')[2][0] != 'Z'
    except FileNotFoundError:
        return False


class TestCommand(unittest.TestCase):

    def test_streams_are_apart(self):
        result = command.run(['sh', '-c', 'cat; echo bad >&2; exit 3'], 5,
                             'text')
        self.assertEqual((3, 'text', 'bad\n'),
                         (result.status, result.stdout, result.stderr))
        self.assertEqual('bad; text', result.messages)

    def test_empty_answers_are_no_messages(self):
        result = command.run(['sh', '-c', 'echo "{}"; echo "{} "; '
                              'echo bgpd is not running >&2; exit 1'], 5)
        self.assertEqual('bgpd is not running', result.messages)

    def test_input_that_nobody_reads(self):
        self.assertEqual(0, command.run(['true'], 5, 'x' * 1000000).status)

    def test_missing_program(self):
        with self.assertRaises(FileNotFoundError):
            command.run(['/nonexistent/program'], 5)

    def test_output_that_is_not_text(self):
        self.assertEqual('\ufffd', command.run(['printf', r'\377'], 5).stdout)

    def test_time_limit_ends_the_whole_group(self):
        with tempfile.NamedTemporaryFile('r') as pids:
            started = time.monotonic()
            with self.assertRaisesRegex(TimeoutError, 'within 0.3 s'):
                command.run(
                    ['sh', '-c', 'trap "" TERM INT; sh -c \'trap "" TERM; '
                     'echo $$; sleep 60\' >"$0" & sleep 60', pids.name], 0.3)
            self.assertLess(time.monotonic() - started, 3)
            pid = int(pids.read())
        waiting.eventually(lambda: not running(pid),
                           f'the end of process {pid}', 3)

    def test_child_that_left_the_group_is_not_waited_for(self):
        with tempfile.NamedTemporaryFile('r') as pids:
            with mock.patch.object(command, '_AFTERMATH', 0.3):
                started = time.monotonic()
                with self.assertRaises(TimeoutError):
                    command.run(['sh', '-c', 'setsid sh -c \'echo $$ >"$0"; '
                                 'exec sleep 20\' "$0" & sleep 60',
                                 pids.name], 0.3)
                self.assertLess(time.monotonic() - started, 3)
            os.kill(int(pids.read()), 9)

    def test_killed_program_that_cannot_be_collected(self):
        """As on a machine whose kernel has no time for its end."""
        with tempfile.NamedTemporaryFile('r') as pids:
            with mock.patch.object(command, '_AFTERMATH', 0.3):
                with self.assertRaisesRegex(TimeoutError, 'did not end'):
                    command.run([sys.executable, '-I', '-S', '-c', _HELD,
                                 pids.name], 3)
            os.kill(int(pids.read()), 9)
