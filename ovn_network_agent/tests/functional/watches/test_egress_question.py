# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The question of the health probe, to real sockets."""

import contextlib
import functools
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import fixtures
from oslotest import base

from ovn_network_agent.conf import tls
from ovn_network_agent.metrics import server
from ovn_network_agent.tests import pki
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.watches import many_agents
from ovn_network_agent.watches import egress_question

# Of this process alone, because some agents listen at all addresses; below
# the ports that the kernel chooses.
PORT = 20000 + os.getpid() % 10000
MANY = 300
NAME = 'gw1'
_TEXT = 'text/plain; charset=utf-8'


class QuestionTestCase(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        # A loopback address of this process alone.
        self.host = f'127.79.{os.getpid() >> 8 & 255:d}.{os.getpid() & 255:d}'

    def agent(self, word='ready', name=NAME, context=None):
        """The listener of an agent that says a word."""
        made = server.Server(
            f'{self.host}:{PORT:d}', {egress_question.PATH: lambda: (
                200, _TEXT, egress_question.line(word, name))}, tls=context)
        made.start()
        self.addCleanup(made.stop)
        waiting.eventually(self.listens, 'nobody listens')
        return made

    def listens(self):
        with socket.socket() as client:
            return not client.connect_ex((self.host, PORT))

    def ask(self, context=None, *more, **values):
        found = egress_question.ask({NAME: (self.host, *more)}, PORT, context,
                                    **values)
        self.assertEqual({NAME}, found.keys())
        return found[NAME]

    def listener(self, serve=None):
        """A socket that listens, and what a thread does with a client."""
        made = socket.create_server((self.host, PORT))
        self.addCleanup(made.close)
        if serve is not None:
            def run():
                with contextlib.suppress(OSError), made.accept()[0] as client:
                    serve(client)
            thread = threading.Thread(target=run)
            thread.start()
            self.addCleanup(thread.join)
        return made

    def fails(self, result, why, context=None, **values):
        found = self.ask(context, **values)
        self.assertEqual(
            (result, f'{self.host} port {PORT:d}: {why}'),
            (found.result, found.why))


class AnswerTest(QuestionTestCase):

    def test_an_agent(self):
        self.agent()
        self.assertEqual(egress_question.Answer('ready'), self.ask())

    def test_one_address_of_several_will_do(self):
        self.agent()
        self.assertEqual('ready', self.ask(None, '127.0.0.1').result)

    def test_an_agent_that_does_not_work(self):
        for word, why in egress_question.WORDS.items():
            made = self.agent(word)
            if why:
                self.fails('unready', why)
            made.stop()

    def test_the_agent_of_another_chassis(self):
        self.agent(name='gw2')
        self.fails('error',
                   'the answer is not that of the agent of this chassis')

    def test_nobody_listens(self):
        self.fails('refused', 'nobody listens')

    def test_a_chassis_without_an_address(self):
        self.assertEqual({NAME: egress_question.Answer(
            'error', 'no address of its tunnels is known')},
            egress_question.ask({NAME: ()}, PORT))

    def test_an_address_without_a_way(self):
        found = egress_question.ask({NAME: ('240.0.0.1',)}, PORT, limit=0.5)
        self.assertNotEqual('ready', found[NAME].result)

    def test_a_port_that_is_open_and_never_answers(self):
        self.listener()
        began = time.monotonic()
        self.fails('timeout', 'no answer within 0.3 s', limit=0.3)
        self.assertGreater(time.monotonic() - began, 0.29)

    def test_a_slow_answer(self):
        """Each piece comes in time, and the whole does not."""
        def serve(client):
            for piece in b'HTTP/1.1 200 OK\r\n\r\nready gw1\n':
                client.sendall(bytes([piece]))
                time.sleep(0.02)
        self.listener(serve)
        self.fails('timeout', 'no answer within 0.3 s', limit=0.3)

    def test_other_programs(self):
        for said in (b'', b'SSH-2.0-x\r\n', b'x' * 100000,
                     b'HTTP/1.1 200 OK\r\n\r\n', b'HTTP/1.1 200 OK\r\n\r\nok',
                     b'HTTP/1.1 200 OK\r\n\r\n' + b'x' * 100000,
                     b'HTTP/1.1 200 OK\r\n\r\nready gw1'):
            def serve(client, said=said):
                client.recv(1000)
                client.sendall(said)
            made = self.listener(serve)
            self.assertEqual('error', self.ask().result, said)
            made.close()

    def test_an_agent_that_is_stopped(self):
        """The kernel accepts connections for it, and nobody answers."""
        agents = self.agents()
        self.assertEqual('ready', egress_question.ask(
            {self.host: (self.host,)}, PORT)[self.host].result)
        agents.send_signal(signal.SIGSTOP)
        try:
            self.fails('timeout', 'no answer within 0.3 s', limit=0.3)
        finally:
            agents.send_signal(signal.SIGCONT)

    def agents(self):
        """A process with agents at all addresses of this node."""
        made = subprocess.Popen(
            [sys.executable, many_agents.__file__, str(PORT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(made.wait)
        self.addCleanup(made.stdout.close)
        self.addCleanup(made.stdin.close)
        self.assertEqual('up\n', made.stdout.readline())
        return made

    def many(self, prefix, number):
        """Chassis with the names of their addresses, see many_agents."""
        return {name: (name,) for name in (
            f'{prefix}{each >> 8:d}.{each & 255:d}'
            for each in range(1, number + 1))}

    def test_many_within_a_second(self):
        self.agents()
        began = time.monotonic()
        found = egress_question.ask(self.many('127.80.', MANY), PORT)
        took = time.monotonic() - began
        self.assertEqual(MANY, len(found))
        self.assertEqual({'ready'}, {each.result for each in found.values()})
        self.assertLess(took, egress_question.LIMIT)

    def test_more_than_this_process_may_open(self):
        """A limit of this process says nothing about others."""
        own = len(os.listdir('/proc/self/fd'))
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (
            own + egress_question.MAX_QUESTIONS + 20, before[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        # Nobody accepts, so all sockets stay open.
        self.listener().listen(0)
        found = egress_question.ask(
            {f'gw{number:d}': (self.host,)
             for number in range(2 * egress_question.MAX_QUESTIONS)}, PORT)
        self.assertEqual({'timeout'}, {
            each.result for each in found.values()})

    def test_many_of_which_half_accept_and_are_silent(self):
        self.agents()
        began = time.monotonic()
        found = egress_question.ask({
            **self.many('127.80.', MANY // 2),
            **self.many(many_agents.SILENT, MANY // 2)}, PORT)
        took = time.monotonic() - began
        self.assertEqual(['ready'] * (MANY // 2) + ['timeout'] * (MANY // 2),
                         [each.result for each in found.values()])
        # Beside the second, what the work takes.
        self.assertLess(took, 2 * egress_question.LIMIT)


class TlsTest(QuestionTestCase):

    def setUp(self):
        super().setUp()
        self.ours = self.authority('ours')
        self.theirs = self.authority('theirs')

    def authority(self, name):
        return pki.Authority(self.useFixture(fixtures.TempDir()).path, name)

    def files(self, trusted, issuer=None):
        pair = (issuer or trusted).issue('agent')
        return tls.Files('ovn', trusted.path, *pair, check_name=False)

    def serve(self, files):
        return self.agent(context=functools.partial(
            files.context, ssl.PROTOCOL_TLS_SERVER))

    def test_both_of_one_authority(self):
        self.serve(self.files(self.ours))
        self.assertEqual('ready',
                         self.ask(self.files(self.ours).context()).result)

    def test_a_server_of_another_authority(self):
        self.serve(self.files(self.ours, self.theirs))
        self.fails('error', 'TLS: CERTIFICATE_VERIFY_FAILED',
                   self.files(self.ours).context())

    def test_clients_that_a_server_refuses(self):
        self.serve(self.files(self.ours))
        for context in (
                self.files(self.ours, self.theirs).context(),
                # Without a certificate, and without TLS.
                tls.Files('ovn', self.ours.path, '', '',
                          check_name=False).context(), None):
            found = self.ask(context)
            self.assertEqual('error', found.result, found)

    def test_a_server_without_tls(self):
        self.agent()
        self.assertEqual('error',
                         self.ask(self.files(self.ours).context()).result)

    def test_a_revoked_certificate(self):
        files = self.files(self.ours)
        self.ours.revoke()
        self.serve(files)
        mine = self.files(self.ours)
        self.assertEqual('ready', self.ask(mine.context()).result)
        self.ours.revoke(mine.cert)
        # The server reads the list anew.
        found = self.ask(mine.context())
        self.assertEqual('error', found.result, found)

    def test_a_file_that_cannot_be_used_any_more(self):
        made = self.serve(self.files(self.ours))
        context = self.files(self.ours).context()
        with open(self.ours.path, encoding='ascii') as opened:
            content = opened.read()
        os.truncate(self.ours.path, 0)
        self.assertEqual('error', self.ask(context).result)
        self.assertIn('[ovn] ovn_ssl_ca = ', made.problem)
        with open(self.ours.path, 'w', encoding='ascii') as opened:
            opened.write(content)
        self.assertEqual('ready', self.ask(context).result)
        self.assertEqual('', made.problem)
