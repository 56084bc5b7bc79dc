# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""A connection of JSON-RPC over a real socket."""

import errno
import os
import socket

import fixtures
from oslotest import base
from ovs import jsonrpc
from ovs import poller
from ovs import stream

from ovn_network_agent.ovsdb import rpc


class ConnectionTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(rpc.__name__))
        self.connect()

    def connect(self):
        directory = self.useFixture(fixtures.TempDir()).path
        path = os.path.join(directory, 'socket')
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(path)
        listener.listen()
        error, opened = stream.Stream.open_block(
            stream.Stream.open('unix:' + path))
        self.assertEqual(0, error)
        self.peer, _address = listener.accept()
        self.addCleanup(self.peer.close)
        self.connection = rpc.Connection(opened)
        # An error closes it, too.
        self.addCleanup(opened.close)

    def wakes_at_once(self):
        waiting = poller.Poller()
        self.connection.recv_wait(waiting)
        return waiting.timeout == 0

    def test_messages(self):
        self.assertEqual((errno.EAGAIN, None), self.connection.recv())
        text = b'{"id":null,"method":"%s","params":["\xc3\xa9{"]}'
        self.peer.sendall(text % b'a' + text % b'b' + b'{"id":')
        error, first = self.connection.recv()
        self.assertEqual((0, 'a', ['é{']),
                         (error, first.method, first.params))
        # No event of the socket comes for the second.
        self.assertTrue(self.wakes_at_once())
        self.assertEqual('b', self.connection.recv()[1].method)
        self.assertFalse(self.wakes_at_once())
        self.assertEqual((errno.EAGAIN, None), self.connection.recv())
        self.peer.sendall(b'1,"result":[],"error":null}')
        self.assertEqual(jsonrpc.Message.T_REPLY,
                         self.connection.recv()[1].type)
        self.assertEqual(2 * len(text % b'a') + 33,
                         self.connection.get_received_bytes())

    def test_the_end_comes_behind_the_last_message(self):
        self.peer.sendall(b'{"id":null,"method":"a","params":[]}')
        self.peer.close()
        self.assertEqual('a', self.connection.recv()[1].method)
        self.assertEqual((jsonrpc.EOF, None), self.connection.recv())
        self.assertTrue(self.wakes_at_once())
        self.assertEqual('', self.log.output)

    def test_what_is_no_message_ends_the_connection(self):
        for data in (b'garbage', b'{"a": x}', b'{"id":1}'):
            with self.subTest(data):
                self.connect()
                self.peer.sendall(data)
                self.assertEqual((errno.EPROTO, None),
                                 self.connection.recv())
                self.assertIn('no message of JSON-RPC', self.log.output)
