# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A daemon of FRR whose queue of connections is full, as during a hang."""

import os
import re
import signal
import socket
import threading
import time

import fixtures
from oslotest import base

from ovn_network_agent.frr import session
from ovn_network_agent.tests import waiting

LIMIT = 0.3


class PipelinedTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path
        self.daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(self.daemon.close)
        self.daemon.settimeout(60)
        self.daemon.bind(os.path.join(
            self.directory, 'zebra' + session.SUFFIX))
        self.daemon.listen()

    def answered(self, pieces):
        """The answers to two questions, when they come in these pieces."""
        made = session.Session(self.directory, 'zebra', 60,
                               time.monotonic() + 60)
        self.addCleanup(made.close)
        accepted, _address = self.daemon.accept()

        def serve():
            asked = b''
            while asked.count(b'\0') < 2:
                asked += accepted.recv(100)
            for piece in pieces:
                accepted.sendall(piece)
            accepted.close()
        serving = threading.Thread(target=serve)
        serving.start()
        self.addCleanup(serving.join)
        return made.exchange_all(['one', 'two'])

    def test_a_daemon_that_does_not_run_is_named(self):
        """Whether it has left its socket, or none is there."""
        ended = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(ended.close)
        ended.bind(os.path.join(self.directory, 'bgpd' + session.SUFFIX))
        for name, kind in (('bgpd', ConnectionRefusedError),
                           ('staticd', FileNotFoundError)):
            error = self.assertRaises(kind, session.Session, self.directory,
                                      name, 60, time.monotonic() + 60)
            self.assertIn(f'{name} of FRR takes no connections', str(error))

    def test_answers_in_any_pieces(self):
        whole = b'first\0\0\0\0 second\n\0\0\0\x02'
        for size in range(1, len(whole) + 1):
            pieces = [whole[at:at + size] for at in range(0, len(whole), size)]
            self.assertEqual([(0, 'first'), (2, 'second')],
                             self.answered(pieces))

    def test_a_missing_answer(self):
        self.assertRaises(ConnectionResetError, self.answered,
                          [b'first\0\0\0\0second\0\0\0'])


class FullQueueTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path
        path = os.path.join(self.directory, 'staticd' + session.SUFFIX)
        self.daemon = self.opened()
        # For a client that does not come.
        self.daemon.settimeout(60)
        self.daemon.bind(path)
        self.daemon.listen(0)
        self.fill(path)

    def opened(self):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(made.close)
        return made

    def fill(self, path):
        """Connect until the queue takes no more."""
        while True:
            client = self.opened()
            client.setblocking(False)
            try:
                client.connect(path)
            except BlockingIOError:
                return

    def connect(self, seconds):
        made = session.Session(self.directory, 'staticd', seconds,
                               time.monotonic() + seconds)
        self.addCleanup(made.close)
        return made

    def accept(self):
        """Accept the one in the queue, and the next one in its place."""
        for _client in range(2):
            accepted, _address = self.daemon.accept()
            self.addCleanup(accepted.close)

    def test_the_limit_is_waited_for(self):
        began = time.monotonic()
        error = self.assertRaises(TimeoutError, self.connect, LIMIT)
        self.assertGreaterEqual(time.monotonic() - began, LIMIT)
        self.assertIn('staticd of FRR did not answer', str(error))

    def test_the_daemon_goes_on(self):
        made = []
        connecting = threading.Thread(
            target=lambda: made.append(self.connect(60.0)))
        connecting.start()
        self.accept()
        connecting.join()
        self.assertEqual(1, len(made))

    def test_signals(self):
        """Each ends the wait of connect(2), and no connection is there."""
        former = signal.signal(signal.SIGUSR1, lambda *_signal: None)
        self.addCleanup(signal.signal, signal.SIGUSR1, former)
        made = []
        connecting = threading.Thread(
            target=lambda: made.append(self.connect(60.0)))
        connecting.start()

        def waits():
            """How often the thread has begun to wait."""
            with open(f'/proc/self/task/{connecting.native_id}/status') as f:
                return int(re.search(r'\nvoluntary_ctxt_switches:\s*(\d+)',
                                     f.read())[1])
        for _signal in range(20):
            before = waits()
            signal.pthread_kill(connecting.ident, signal.SIGUSR1)
            waiting.eventually(lambda before=before: waits() > before, waits)
        self.accept()
        connecting.join()
        made[0].send(['one'])
