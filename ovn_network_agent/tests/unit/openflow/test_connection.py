# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The connection against a peer that behaves badly."""

import os
import socket
import struct
import tempfile
import threading
import time
import unittest

from ovn_network_agent.openflow import connection
from ovn_network_agent.openflow import wire


class Peer(threading.Thread):
    """A peer that plays a function on one connection after the other."""

    def __init__(self, path, play):
        super().__init__()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._play = play
        self.start()

    def run(self):
        peer, _address = self._listener.accept()
        with peer, self._listener:
            self._play(peer)

    @staticmethod
    def read(peer):
        """(message type, transaction id) of the next message."""
        header = peer.recv(8, socket.MSG_WAITALL)
        if len(header) < 8:
            return None, None
        _version, kind, length, xid = wire.HEADER.unpack(header)
        peer.recv(length - 8, socket.MSG_WAITALL)
        return kind, xid


def hello(peer):
    Peer.read(peer)
    peer.sendall(wire.message(wire.HELLO, 0))


class TestSwitch(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, 'socket')

    def play(self, function):
        peer = Peer(self.path, function)
        self.addCleanup(peer.join)
        connected = connection.Switch(self.path)
        self.addCleanup(connected.close)
        return connected

    def test_slow_pieces_echo_and_foreign_answers(self):
        echoed = []

        def play(peer):
            hello(peer)
            kind, first = Peer.read(peer)
            _kind, barrier = Peer.read(peer)
            data = (wire.message(wire.ECHO_REQUEST, 5, b'abc') +
                    wire.message(12, 6, b'port status') +
                    wire.message(wire.MULTIPART_REPLY, first, b'x') +
                    wire.message(wire.BARRIER_REPLY, barrier))
            for n in range(len(data)):
                peer.sendall(data[n:n + 1])
            echoed.append(Peer.read(peer))
            _kind, barrier = Peer.read(peer)
            peer.sendall(wire.message(wire.BARRIER_REPLY, barrier))
        connected = self.play(play)
        xid = connected.next_xid()
        answers = connected.request([wire.flow_request(xid)])
        self.assertEqual([(wire.MULTIPART_REPLY, b'x')], answers[xid])
        # The reply leaves with what is sent next, at the latest.
        connected.request([])
        self.assertEqual([(wire.ECHO_REPLY, 5)], echoed)

    def test_silence(self):
        release = threading.Event()

        def play(peer):
            hello(peer)
            release.wait(10)
        connected = self.play(play)
        started = time.monotonic()
        connected.silence = 0.2
        with self.assertRaises(TimeoutError):
            connected.request([])
        release.set()
        self.assertLess(time.monotonic() - started, 2)

    def test_endless_chatter_is_limited(self):
        stop = threading.Event()

        def play(peer):
            hello(peer)
            while not stop.wait(0.05):
                peer.sendall(wire.message(12, 6))
        connected = self.play(play)
        connected.overall = 0.3
        with self.assertRaises(TimeoutError):
            connected.request([])
        stop.set()

    def test_bad_messages(self):
        for data in (b'\x01' + bytes(7), struct.pack('!BBHI', 4, 5, 3, 0)):
            with self.subTest(data):
                self.path += 'x'

                def play(peer, data=data):
                    hello(peer)
                    peer.sendall(data)
                    Peer.read(peer)
                with self.assertRaises(OSError):
                    self.play(play).request([])

    def test_closed_by_the_peer(self):
        connected = self.play(hello)
        with self.assertRaises(OSError):
            connected.request([])

    def test_nobody_listens(self):
        with self.assertRaises(OSError):
            connection.Switch(self.path)

    def test_peer_that_reads_only_when_its_answers_are_taken(self):
        count = 20000

        def play(peer):
            hello(peer)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            for _n in range(count):
                _kind, xid = Peer.read(peer)
                peer.sendall(wire.message(wire.ERROR, xid, bytes(64)))
            _kind, barrier = Peer.read(peer)
            peer.sendall(wire.message(wire.BARRIER_REPLY, barrier))
        connected = self.play(play)
        answers = connected.request(
            [wire.flow_request(connected.next_xid()) for _n in range(count)])
        self.assertEqual(count + 1, len(answers))
