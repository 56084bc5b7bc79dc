# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The control socket itself: who has it, who may use it, who hangs on it."""

import contextlib
import fcntl
import json
import os
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time

import fixtures
from oslotest import base as test_base

from ovn_network_agent.control.socket import client
from ovn_network_agent.control.socket import commands
from ovn_network_agent.control.socket import server
from ovn_network_agent.tests import waiting

# Opens one as an agent does, says so, and waits to be killed.
HOLDER = textwrap.dedent('''
    import sys
    from ovn_network_agent.control.socket import server
    opened = server.Listener(sys.argv[1])
    print('open', flush=True)
    sys.stdin.read()
    ''')
LIMIT = 30
ASKED = b'{"id": 1, "method": "%s", "params": []}'


class SocketTestCase(test_base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path
        self.path = os.path.join(self.directory, 'run', 'control.ctl')
        self.gate = threading.Event()

    def serve(self, path=None, **options):
        """A server whose command "status" waits for the gate."""
        made = server.Server(path or self.path, commands.Table(
            None, self._report), **{'interval': 0.1, **options})
        made.start()
        self.addCleanup(made.stop)
        self.addCleanup(self.gate.set)
        return made

    def served(self, **options):
        made = self.serve(**options)
        self.eventually(self.is_served, 'there')
        return made

    def is_served(self):
        try:
            return 'drain' in self.call('list-commands')
        except client.NoAgent:
            return False

    def _report(self):
        if not self.gate.wait(LIMIT):
            raise AssertionError('the gate was never opened')
        raise commands.Refused('enough')

    eventually = staticmethod(waiting.eventually)

    def call(self, *argv, path=None, timeout=LIMIT):
        return client.call(path or self.path, argv[0], list(argv[1:]),
                           timeout)

    def connect(self):
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(opened.close)
        # With a time limit it would not wait for room in the queue.
        opened.connect(self.path)
        opened.settimeout(LIMIT)
        return opened

    def holder(self):
        """Another process that has the socket."""
        holder = subprocess.Popen(
            [sys.executable, '-c', HOLDER, self.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdin.close)
        self.addCleanup(holder.kill)
        self.assertEqual(b'open\n', holder.stdout.readline())
        return holder


class ListenerTest(SocketTestCase):

    def test_only_its_owner_may_use_it(self):
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        self.served()
        found = os.lstat(self.path)
        self.assertTrue(stat.S_ISSOCK(found.st_mode))
        self.assertEqual(0o600, stat.S_IMODE(found.st_mode))
        self.assertEqual(os.geteuid(), found.st_uid)

    def test_a_user_of_the_machine_cannot_lock_it(self):
        """Who may read the directory may lock that, but it is no lock."""
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        directory = os.path.dirname(self.path)
        os.mkdir(directory, 0o755)
        read = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, read)
        fcntl.flock(read, fcntl.LOCK_EX)
        self.served()
        self.assertEqual(0o600, stat.S_IMODE(
            os.lstat(self.path + '.lock').st_mode))

    def test_a_directory_that_it_makes_is_its_own(self):
        server.Listener(self.path).close()
        self.assertEqual(0o700, stat.S_IMODE(
            os.stat(os.path.dirname(self.path)).st_mode))

    def test_that_of_a_killed_process_is_replaced(self):
        holder = self.holder()
        holder.kill()
        holder.wait()
        self.assertTrue(os.path.exists(self.path))
        self.serve()
        self.eventually(self.is_served, 'taken over')

    def test_that_of_a_living_process_is_left_alone(self):
        holder = self.holder()
        before = os.lstat(self.path).st_ino
        second = self.serve()
        self.eventually(lambda: second.problem, 'said')
        self.assertIn(self.path, second.problem)
        self.assertIn('another agent listens there', second.problem)
        self.assertIn('[DEFAULT] control_socket', second.problem)
        self.assertEqual(before, os.lstat(self.path).st_ino)
        # It gets it when that one ends, without a restart.
        holder.kill()
        self.eventually(lambda: not second.problem, 'taken over')
        self.assertIn('drain', self.call('list-commands'))

    def test_one_that_accepts_nothing_is_alive(self):
        self.holder()
        held = []
        # Until its queue is full.
        for _ in range(1000):
            opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.addCleanup(opened.close)
            opened.setblocking(False)
            held.append(opened)
            if opened.connect_ex(self.path):
                break
        else:
            self.fail('its queue has no end')
        self.assertRaises(server.InUse, server.Listener, self.path)

    def test_of_two_at_once_one_has_it(self):
        servers = [self.serve() for _ in range(8)]
        self.eventually(
            lambda: sum(bool(s.problem) for s in servers) == 7 and
            self.is_served(), 'seven have not got it')

    def test_what_is_no_socket_is_left_alone(self):
        os.mkdir(os.path.dirname(self.path))
        with open(self.path, 'w') as opened:
            opened.write('mine')
        made = self.serve()
        self.eventually(lambda: made.problem, 'said')
        self.assertIn('is no socket', made.problem)
        made.stop()
        with open(self.path) as opened:
            self.assertEqual('mine', opened.read())

    def test_a_directory_that_is_not_there_yet(self):
        deep = os.path.join(self.directory, 'no', 'such', 'control.ctl')
        made = self.serve(deep)
        self.eventually(lambda: made.problem, 'said')
        self.assertIn('No such file or directory', made.problem)
        self.assertIn('make its directory', made.problem)
        os.mkdir(os.path.join(self.directory, 'no'))
        self.eventually(lambda: not made.problem, 'made')
        self.assertIn('drain', self.call('list-commands', path=deep))

    def test_one_that_somebody_removed_is_made_again(self):
        self.served()
        before = os.lstat(self.path).st_ino
        # So that the number is not given again.
        os.rename(self.path, self.path + '.old')
        self.eventually(self.is_served, 'made again')
        self.assertNotEqual(before, os.lstat(self.path).st_ino)

    def test_nothing_is_left(self):
        before = set(threading.enumerate())
        made = self.served()
        clients = [self.connect() for _ in range(5)]
        self.eventually(
            lambda: len(set(threading.enumerate()) - before) >= 6,
            'a thread for each')
        started = set(threading.enumerate()) - before
        made.stop()
        self.assertFalse(os.path.exists(self.path))
        for opened in clients:
            self.assertEqual(b'', opened.recv(1))
        self.eventually(lambda: not any(t.is_alive() for t in started),
                        'all threads end')


class ClientsTest(SocketTestCase):

    def send(self, text):
        """What comes back for some bytes, until the server closes."""
        opened = self.connect()
        opened.sendall(text)
        opened.shutdown(socket.SHUT_WR)
        received = b''
        while data := opened.recv(65536):
            received += data
        return received.decode()

    def test_hanging_clients_cost_nobody_else_anything(self):
        self.served()
        silent = [self.connect() for _ in range(10)]
        half = self.connect()
        half.sendall(b'{"id": 1, "method": "ver')
        waits = self.connect()
        waits.sendall(b'{"id": 1, "method": "status", "params": []}')
        started = time.monotonic()
        for _ in range(20):
            self.assertIn('drain', self.call('list-commands'))
        self.assertLess(time.monotonic() - started, LIMIT / 2)
        half.sendall(b'sion", "params": []}')
        self.assertIn(b'ovn-network-agent', half.recv(4096))
        self.gate.set()
        self.assertIn(b'enough', waits.recv(4096))
        for opened in silent:
            opened.sendall(b'{"id": 1, "method": "version", "params": []}')
            self.assertIn(b'ovn-network-agent', opened.recv(4096))

    def test_who_says_nothing_for_too_long_is_sent_away(self):
        self.served(timeout=0.2)
        silent = self.connect()
        self.assertEqual(b'', silent.recv(1))

    def test_who_takes_no_answer_is_sent_away(self):
        made = self.served(timeout=0.2)
        deaf = self.connect()
        deaf.settimeout(0.05)
        asked = json.dumps({'id': 1, 'method': 'help', 'params': []}).encode()
        try:
            # Until neither side has room for more.
            while True:
                deaf.sendall(asked)
        except OSError:
            pass
        self.eventually(lambda: not made._clients, 'sent away')

    def test_who_comes_last_is_served(self):
        """A hundred open connections, of which some take no answer."""
        self.served()
        silent = [self.connect() for _ in range(100)]
        for _ in range(20):
            self.assertIn('drain', self.call('list-commands'))
        deaf = [self._deaf() for _ in range(server.CLIENTS)]
        self.assertIn('drain', self.call('list-commands'))
        # The oldest had to go, and the youngest has its place.
        self.assertEqual(b'', silent[0].recv(1))
        deaf[-1].recv(4096)

    def _deaf(self):
        """A connection with more answers under way than it has room for."""
        opened = self.connect()
        opened.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                opened.sendall(ASKED % b'help')
        opened.settimeout(LIMIT)
        return opened

    def test_commands_under_way_keep_their_places(self):
        made = self.served()
        waits = [self.connect() for _ in range(server.CLIENTS)]
        for opened in waits:
            opened.sendall(ASKED % b'status')
        self.eventually(lambda: all(made._clients.values()) and len(
            made._clients) == server.CLIENTS, 'all commands are under way')
        error = str(self.assertRaises(client.NoAgent, self.call, 'version',
                                      timeout=0.3))
        self.assertIn(f'the agent is busy: it works on 32 other commands, 32 '
                      f'of them of process {os.getpid()};', error)
        self.assertNotIn('start the agent', error)
        # The client tries again, until there is a place.
        threading.Timer(1, self.gate.set).start()
        self.assertIn('ovn-network-agent', self.call('version'))
        for opened in waits:
            self.assertIn(b'enough', opened.recv(4096))

    def test_an_agent_that_does_not_accept(self):
        """The queue of its socket is full."""
        stopped = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(stopped.close)
        os.mkdir(os.path.dirname(self.path))
        stopped.bind(self.path)
        stopped.listen(0)
        self.connect()
        error = str(self.assertRaises(client.NoAgent, self.call, 'version',
                                      timeout=0.3))
        self.assertIn('the agent is busy', error)

    def test_what_is_no_request_costs_only_its_sender(self):
        self.served()
        for text in (b'hello', b'[1, 2', b'{}', b'[]', b'"text"', b'\xff\xfe',
                     b'{"id": 1, "method": 7, "params": []}',
                     b'{"id": 1, "result": 1, "error": null}',
                     b'{"id": null, "method": "version", "params": []}',
                     b'{"id": 1, "method": "version", "params": {}}',
                     b'[' * 60000, b'x' * 200000):
            self.assertNotIn('ovn-network-agent', self._sent(text), text[:50])
            self.assertIn('drain', self.call('list-commands'))

    def _sent(self, text):
        try:
            return self.send(text)
        except OSError:
            # It was closed before everything had been sent.
            return ''

    def test_several_requests_on_one_connection(self):
        self.served()
        answered = self.send(
            b'{"id": 1, "method": "version", "params": []}\n'
            b'{"id": "two", "method": "nonsense", "params": []}'
            b'{"id": 3, "method": "version", "params": []}')
        parser, replies = json.JSONDecoder(), []
        while answered:
            reply, used = parser.raw_decode(answered)
            replies.append(reply)
            answered = answered[used:]
        self.assertEqual([1, 'two', 3], [reply['id'] for reply in replies])
        self.assertIn('"nonsense" is not a valid command',
                      replies[1]['error'])

    def test_bad_arguments_are_an_answer(self):
        self.served()
        for argv in (('drain', '--nonsense'), ('drain', '--router'),
                     ('undrain', '--force'), ('status', 'extra'),
                     ('version', 'extra'), ('status', '--js'),
                     ('set-options', '--format', 'xml'),
                     ('drain', '--help')):
            error = self.assertRaises(client.Refused, self.call, *argv)
            self.assertIn('usage: ' + argv[0], str(error))
        self.assertIn('drain', self.call('list-commands'))

    def test_an_argument_that_is_no_text(self):
        self.served()
        self.assertIn('non-string argument', self.send(
            b'{"id": 1, "method": "drain", "params": [7]}'))

    def test_the_format_that_a_newer_appctl_asks_for(self):
        self.served()
        answered = self.send(
            b'{"id": 1, "method": "set-options", '
            b'"params": ["--format", "json"]}'
            b'{"id": 2, "method": "version", "params": []}')
        _first, used = json.JSONDecoder().raw_decode(answered)
        reply = json.loads(answered[used:])
        self.assertEqual('plain', reply['result']['reply-format'])
        self.assertIn('ovn-network-agent', reply['result']['reply'])

    def test_an_agent_that_does_not_answer(self):
        self.served()
        error = self.assertRaises(client.NoAgent, self.call, 'status',
                                  timeout=0.3)
        self.assertIn('did not answer', str(error))
