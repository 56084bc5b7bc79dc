# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The server of the metrics, and clients that mean it harm."""

import contextlib
import http.client
import os
import socket
import threading
import time

from oslotest import base

from ovn_network_agent.metrics import server
from ovn_network_agent.tests import waiting

PAGE = b'x' * 100000


class ServerTestCase(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        # A loopback address of this process alone.
        self.host = f'127.77.{os.getpid() >> 8 & 255:d}.{os.getpid() & 255:d}'
        self.port = 9132
        self.changes = []
        self.asked = 0
        self.body = PAGE

    def serve(self, **values):
        made = server.Server(
            f'{self.host}:{self.port:d}',
            {'/metrics': self.page, '/bad': self.bad},
            lambda: self.changes.append(made.problem), **values)
        made.start()
        self.addCleanup(made.stop)
        return made

    def page(self):
        self.asked += 1
        return 200, 'text/plain', self.body

    def bad(self):
        raise LookupError('secret')

    def connect(self):
        client = socket.create_connection((self.host, self.port), 10)
        self.addCleanup(client.close)
        return client

    def ask(self, path='/metrics', method='GET'):
        """(status, body) of a request."""
        with contextlib.closing(http.client.HTTPConnection(
                self.host, self.port, timeout=10)) as client:
            client.request(method, path)
            answer = client.getresponse()
            return answer.status, answer.read()

    def up(self):
        waiting.eventually(self.answers, 'no answer')

    def answers(self):
        try:
            return self.ask()[0] == 200
        except OSError:
            return False

    def closes(self, client):
        """Everything that comes until the server closes the connection."""
        found = b''
        with contextlib.suppress(ConnectionResetError):
            while True:
                piece = client.recv(65536)
                if not piece:
                    break
                found += piece
        return found


class ServerTest(ServerTestCase):

    def test_pages(self):
        self.serve()
        self.up()
        self.assertEqual((200, PAGE), self.ask())
        self.assertEqual((200, PAGE), self.ask('/metrics?name[]=x'))
        self.assertEqual((200, b''), self.ask(method='HEAD'))
        self.assertEqual(404, self.ask('/metrics/')[0])
        self.assertEqual(404, self.ask('/../etc/passwd')[0])
        self.assertEqual(405, self.ask(method='POST')[0])
        self.assertEqual([], self.changes)

    def test_an_error_is_not_shown_and_does_not_end_it(self):
        self.serve()
        self.up()
        self.assertEqual((500, b'LookupError\n'), self.ask('/bad'))
        self.assertEqual(200, self.ask()[0])

    def test_a_port_in_use(self):
        with socket.create_server((self.host, self.port)):
            made = self.serve(interval=0.05)
            waiting.eventually(lambda: self.changes, 'no trouble')
            self.assertIn(f'[metrics] listen = {self.host}:{self.port:d}: '
                          'Address already in use', made.problem)
            self.assertIn('choose another port', made.problem)
        self.up()
        self.assertEqual('', made.problem)
        self.assertEqual(2, len(self.changes))

    def test_an_address_of_another_node(self):
        made = server.Server('192.0.2.1:9132', {}, interval=0.05)
        made.start()
        self.addCleanup(made.stop)
        waiting.eventually(lambda: made.problem, 'no trouble')
        self.assertIn('this node does not have this address', made.problem)

    def test_ipv6(self):
        with socket.create_server(('::1', 0), family=socket.AF_INET6) as free:
            port = free.getsockname()[1]
        made = server.Server(f'[::1]:{port:d}', {'/metrics': self.page})
        made.start()
        self.addCleanup(made.stop)
        self.host, self.port = '::1', port
        self.up()

    def test_stop_closes_everything(self):
        made = self.serve()
        self.up()
        idle = self.connect()
        waiting.eventually(lambda: len(made._clients) == 1, 'not accepted')
        made.stop()
        self.assertEqual(b'', self.closes(idle))
        self.assertRaises(ConnectionRefusedError, self.connect)
        made.stop()
        self.assertNotIn('metrics', [t.name for t in threading.enumerate()
                                     if t is made._thread])


class AttackTest(ServerTestCase):

    def test_a_client_that_sends_nothing(self):
        self.serve(timeout=0.2)
        self.up()
        self.assertEqual(b'', self.closes(self.connect()))

    def test_a_client_that_does_not_read(self):
        made = self.serve(timeout=0.5)
        self.up()
        # More than the kernel takes.
        self.body = b'x' * (32 << 20)
        client = socket.socket()
        self.addCleanup(client.close)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.settimeout(10)
        client.connect((self.host, self.port))
        client.sendall(b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')
        waiting.eventually(lambda: self.asked == 2, 'not asked')
        self.body = PAGE
        self.assertEqual(200, self.ask()[0])
        waiting.eventually(lambda: not made._clients, 'still there')

    def test_a_large_request(self):
        self.serve()
        self.up()
        client = self.connect()
        with contextlib.suppress(OSError):
            client.sendall(b'GET /metrics HTTP/1.1\r\nX: ' + b'a' * 1000000)
        self.assertNotIn(b'200', self.closes(client)[:20])
        self.assertEqual(200, self.ask()[0])

    def test_a_request_in_many_pieces(self):
        self.serve()
        self.up()
        client = self.connect()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        said = b''
        with contextlib.suppress(OSError):
            for _piece in range(server.MAX_READS * 20):
                client.sendall(b'G')
                time.sleep(0.001)
        said = self.closes(client)
        self.assertNotIn(b'200', said[:20])
        self.assertEqual(200, self.ask()[0])

    def test_what_is_no_http(self):
        self.serve()
        self.up()
        for said in (b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
                     b'\r\n' * 100, b'GET /metrics HTTP/1.1\r\n\r\n',
                     b'GET\r\n\r\n', b'\0' * 9000):
            client = self.connect()
            client.sendall(said)
            client.shutdown(socket.SHUT_WR)
            self.assertNotIn(PAGE[:100], self.closes(client))
        self.assertEqual(200, self.ask()[0])

    def test_many_slow_clients_keep_nobody_out(self):
        made = self.serve(timeout=60)
        self.up()
        for _client in range(server.CLIENTS * 3):
            self.connect().sendall(b'GET ')
        self.assertEqual(200, self.ask()[0])
        self.assertLessEqual(len(made._clients), server.CLIENTS)

    def test_a_flood_takes_a_part_of_a_processor(self):
        """The rest is long enough for the work that was done."""
        work = 0.02

        def page():
            end = time.thread_time() + work
            while time.thread_time() < end:
                pass
            return 200, 'text/plain', b''
        self.page = page
        self.serve()
        self.up()
        began = time.monotonic()
        for _request in range(4):
            self.ask()
        took = time.monotonic() - began
        # The last of the four ends before its rest.
        self.assertGreater(took, 3 * work * server.REST)
