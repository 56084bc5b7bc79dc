# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""A socket of the privileged side arrives although others connect, too."""

import os
import socket
import subprocess
import sys

from oslotest import base

from ovn_network_agent.privileged.daemon import passed_sockets

# Connects as often as possible, up to 300 times, and stays connected.
IMPOSTOR = '''
import socket, sys
opened = []
for _number in range(300):
    opened.append(socket.socket(socket.AF_UNIX))
    opened[-1].setblocking(False)
    if opened[-1].connect_ex('\\0' + sys.argv[1]):
        break
print('connected', flush=True)
sys.stdin.read()
'''
NOBODY = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')


class ReceivingTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.kept, self.given = socket.socketpair()
        self.addCleanup(self.kept.close)
        self.addCleanup(self.given.close)

    def impostor(self, name, *prefix):
        """A process that connects to the socket that waits."""
        process = subprocess.Popen(
            [*prefix, sys.executable, '-c', IMPOSTOR, name], cwd='/',
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.assertEqual(b'connected\n', process.stdout.readline())
        return process

    def arrives(self, *prefix):
        """Receive a socket after an impostor has connected."""
        def hand_over(name):
            self.impostor(name, *prefix)
            return passed_sockets.give(name, self.given)

        with passed_sockets.receive(hand_over) as received:
            self.kept.sendall(b'word')
            self.assertEqual(b'word', received.recv(4))

    def test_another_user_connects_first(self):
        self.arrives(*NOBODY)

    def test_another_process_of_this_user_connects_first(self):
        self.arrives()

    def test_nothing_stays_open(self):
        before = os.listdir('/proc/self/fd')
        self.arrives(*NOBODY)
        self.doCleanups()
        self.assertEqual(len(before) - 2, len(os.listdir('/proc/self/fd')))
