# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Signals wake the main thread, whichever thread the kernel gives them to."""

import os
import signal
import subprocess
import sys
import threading

from oslotest import base

from ovn_network_agent.runtime.process import signals

# A program that waits for a minute, and ends at the first signal.  Another
# thread is the only one that the kernel can give the signal to.
_PROGRAM = '''
import signal, sys, threading
from ovn_network_agent.runtime.process import signals
caught = signals.Signals(signal.SIGTERM, signal.SIGHUP)
threading.Thread(target=signal.sigwait, args=([signal.SIGUSR1],),
                 daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print('ready', flush=True)
sys.exit(100 + (caught.wait(60) or 0))
'''


class SignalsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        before = signal.getsignal(signal.SIGHUP)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        self.caught = signals.Signals(signal.SIGHUP)
        self.addCleanup(self.caught.close)

    def test_signals_in_their_order(self):
        self.assertIsNone(self.caught.wait(0))
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)
        self.assertEqual(signal.SIGHUP, self.caught.wait(60))
        self.assertEqual(signal.SIGHUP, self.caught.wait(60))
        self.assertIsNone(self.caught.wait(0))

    def test_a_reload_before_a_stop(self):
        """Though the kernel delivers the stop first."""
        self.caught.close()
        before = signal.getsignal(signal.SIGTERM)
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        self.caught = signals.Signals(signal.SIGTERM, signal.SIGHUP,
                                      interval=60)
        self.addCleanup(self.caught.close)
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGHUP)).start()
        self.assertEqual(signal.SIGHUP, self.caught.wait(60))
        self.assertEqual(signal.SIGTERM, self.caught.wait(60))
        self.assertIsNone(self.caught.wait(0))

    def test_woken_by_another_thread(self):
        threading.Timer(0.05, self.caught.wake).start()
        self.assertIsNone(self.caught.wait(3600))

    def test_a_full_socket(self):
        for _time in range(100000):
            self.caught.wake()
        self.assertIsNone(self.caught.wait(3600))
        self.assertIsNone(self.caught.wait(0))

    def test_a_signal_that_another_thread_gets(self):
        program = subprocess.Popen([sys.executable, '-c', _PROGRAM],
                                   stdout=subprocess.PIPE)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.kill)
        self.assertEqual(b'ready\n', program.stdout.readline())
        program.send_signal(signal.SIGTERM)
        self.assertEqual(100 + signal.SIGTERM, program.wait(30))
