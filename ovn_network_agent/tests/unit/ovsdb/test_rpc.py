# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The messages of a stream, and a connection of JSON-RPC over a socket."""

import errno
import json
import os
import socket

import fixtures
import hypothesis
from hypothesis import strategies as st
from oslotest import base
from ovs import json as ovs_json
from ovs import jsonrpc
from ovs import poller
from ovs import stream

from ovn_network_agent.ovsdb import rpc
from ovn_network_agent.tests import budget

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2 ** 63, 2 ** 63 - 1) |
    st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs'])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from('{}"\\[]:, aé'), inner, max_size=3), max_leaves=12)
_OBJECTS = st.lists(st.dictionaries(st.text('{}"\\x', max_size=3), _VALUES,
                                    max_size=4), max_size=4)


def feed(framer, data, sizes):
    """Feed pieces of some sizes, and the rest; returns the objects."""
    found = []
    for size in sizes:
        found += framer.feed(data[:size])
        data = data[size:]
    return found + framer.feed(data)


class FramingTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(200))
    @hypothesis.given(_OBJECTS, st.booleans(), st.sampled_from(
        ['', ' ', '\n\t']), st.lists(st.integers(1, 9), max_size=30))
    def test_any_pieces(self, objects, escapes, between, sizes):
        texts = [json.dumps(each, ensure_ascii=escapes).encode()
                 for each in objects]
        found = feed(rpc.Framer(), between.encode().join(texts), sizes)
        self.assertEqual(texts, found)
        self.assertEqual(objects, [rpc.value(text) for text in found])
        # The parser of the library says the same.
        self.assertEqual(objects, [ovs_json.from_string(text.decode())
                                   for text in found])

    def test_an_incomplete_object_is_kept(self):
        framer = rpc.Framer()
        self.assertEqual([], framer.feed(b'{"a": "}\\'))
        self.assertEqual([], framer.feed(b'"}'))
        self.assertEqual([b'{"a": "}\\"}"}'], framer.feed(b'"} {'))
        self.assertEqual([b'{}'], framer.feed(b'}'))

    def test_what_begins_no_object(self):
        for text in (b'}', b'[{}]', b'x{}', b'{}1', b'"{}"', b'{}}{'):
            with self.subTest(text):
                self.assertRaises(rpc.Malformed, rpc.Framer().feed, text)

    def test_a_bad_value(self):
        for text in (b'{"a": }', b'{"a": NaN}', b'{"a": "\xff"}',
                     b'{"a": "\\ud800"}', b'{"a": 1} garbage {}',
                     b'{"a": ' + b'[' * 100000 + b']' * 100000 + b'}'):
            with self.subTest(text[:30]):
                self.assertRaises(rpc.Malformed, rpc.value, text)


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
        self.assertEqual((0, 'a', ['é{']), (error, first.method, first.params))
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
                self.assertEqual((errno.EPROTO, None), self.connection.recv())
                self.assertIn('no message of JSON-RPC', self.log.output)
