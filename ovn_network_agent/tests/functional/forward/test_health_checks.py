# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of backends, over real sockets on the loopback device."""

import contextlib
import os
import resource
import socket
import threading

import fixtures
from oslotest import base

from ovn_network_agent.common import trigger
from ovn_network_agent.forward import health_checks
from ovn_network_agent.model import port_forwards
from ovn_network_agent.tests import waiting

# Quick, and a machine that is slow fails none: what answers answers at once.
TCP = port_forwards.HealthCheck('tcp', interval=0.1, timeout=2.0)
HTTP = port_forwards.HealthCheck('http', interval=0.1, timeout=2.0,
                              path='/health')


class Server:
    """A backend whose answer can be changed; '' hangs, None only accepts.

    :ivar asked: list of requests, bytes
    """

    def __init__(self, address='127.0.0.1', port=0, answer=None):
        self.answer = answer
        self.asked = []
        self.accepted = 0
        self._address = address
        self._clients = []
        self.port = port
        self.start()

    def start(self):
        family = socket.AF_INET6 if ':' in self._address else socket.AF_INET
        self._socket = socket.create_server(
            (self._address, self.port), family=family, backlog=512)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._run, args=(self._socket,),
                         daemon=True).start()

    def stop(self):
        """Refuse from now on."""
        with contextlib.suppress(OSError):
            # Wakes who waits in accept().
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for client in self._clients:
            client.close()
        self._clients = []

    def _run(self, listening):
        with contextlib.suppress(OSError):
            while True:
                client, _address = listening.accept()
                self.accepted += 1
                if self.answer is None:
                    client.close()
                elif self.answer == '':
                    self._clients.append(client)
                else:
                    self.asked.append(client.recv(4096))
                    client.sendall(self.answer.encode())
                    client.close()


def status(code):
    return f'HTTP/1.1 {code:d} Said\r\nContent-Length: 0\r\n\r\n'


def opened():
    """Number of file descriptors of this process."""
    return len(os.listdir('/proc/self/fd'))


class HealthTestCase(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.trigger = trigger.Trigger(0)
        self.checks = health_checks.Checks()
        self.addCleanup(self.end)

    def end(self):
        self.checks.stop()
        self.checks.stop()
        self.eventually(lambda: self.threads() == 0)

    def threads(self):
        return sum(t.name == 'health' for t in threading.enumerate())

    def eventually(self, condition):
        waiting.eventually(condition, lambda: self.log.output)

    def server(self, *args, **kwargs):
        made = Server(*args, **kwargs)
        self.addCleanup(made.stop)
        return made

    def follow(self, check, server, address='127.0.0.1'):
        """Check a server; gives its target."""
        target = health_checks.Target(address, server.port, check)
        self.checks.want(frozenset([target]))
        self.checks.start(self.trigger)
        return target

    def dies(self, target, why):
        self.eventually(lambda: not self.checks.alive(target))
        self.assertIn(why, self.checks.why(target))
        self.woken(target)

    def lives(self, target):
        self.eventually(lambda: self.checks.alive(target))
        self.assertEqual('', self.checks.why(target))
        self.woken(target)

    def woken(self, target):
        """That the loop is woken by it, at once."""
        wake = self.trigger.wait(10)
        self.assertIsNotNone(wake)
        self.assertTrue(wake.urgent)
        self.assertIn(f'health of {target.address}', wake.reasons[0])


class TcpTest(HealthTestCase):

    def test_a_backend_dies_and_comes_back(self):
        server = self.server()
        target = self.follow(TCP, server)
        self.eventually(lambda: server.accepted > 3)
        self.assertTrue(self.checks.alive(target))
        server.stop()
        self.dies(target, 'connection refused')
        server.start()
        self.lives(target)
        # Each change is said once.
        name = f'127.0.0.1 port {server.port:d} (tcp): '
        for said in ('alive -> dead: connection refused (3 bad checks',
                     'dead -> alive (2 good checks'):
            self.assertEqual(1, self.log.output.count(name + said),
                             self.log.output)

    def test_the_first_result_decides(self):
        server = self.server()
        server.stop()
        slow = port_forwards.HealthCheck('tcp', interval=3600, timeout=5)
        target = health_checks.Target('127.0.0.1', server.port, slow)
        # Nobody knows before, nor without a start.
        self.checks.want(frozenset([target]))
        self.assertTrue(self.checks.alive(target))
        self.assertEqual(0, self.threads())
        self.checks.start(self.trigger)
        self.dies(target, 'connection refused')

    def test_what_this_node_lacks_kills_no_backend(self):
        server = self.server()
        target = self.follow(TCP, server)
        self.eventually(lambda: server.accepted > 1)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
            self.eventually(
                lambda: 'could not be made, what is known of it stays: too '
                'many open files' in self.log.output)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        self.eventually(lambda: 'can be made again' in self.log.output)
        self.assertTrue(self.checks.alive(target))
        self.assertNotIn('dead', self.log.output)


class HttpTest(HealthTestCase):

    def test_statuses(self):
        server = self.server(answer=status(200))
        target = self.follow(HTTP, server)
        self.eventually(lambda: len(server.asked) > 1)
        self.assertTrue(self.checks.alive(target))
        server.answer = status(503)
        self.dies(target, 'status 503')
        server.answer = status(302)
        self.lives(target)
        request = server.asked[0].decode().split('\r\n')
        self.assertEqual('GET /health HTTP/1.1', request[0])
        self.assertIn(f'Host: 127.0.0.1:{server.port:d}', request)

    def test_only_what_is_expected(self):
        server = self.server(answer=status(200))
        target = self.follow(port_forwards.HealthCheck(
            'http', interval=0.1, timeout=2.0, host='api.example',
            statuses=((204, 204), (401, 403))), server)
        self.dies(target, 'status 200')
        server.answer = status(402)
        self.lives(target)
        self.assertIn(b'Host: api.example\r\n', server.asked[0])

    def test_preliminary_answers_come_to_an_end(self):
        server = self.server(
            answer='HTTP/1.1 103 Early Hints\r\n\r\n' * 40 + status(200))
        self.dies(self.follow(HTTP, server), 'interim answers')

    def test_one_that_hangs(self):
        server = self.server(answer='')
        target = self.follow(port_forwards.HealthCheck(
            'http', interval=0.1, timeout=0.1), server)
        self.dies(target, 'no answer within 0.1 s')

    def test_ipv6_has_brackets(self):
        server = self.server('::1', answer=status(200))
        self.follow(HTTP, server, '::1')
        self.eventually(lambda: server.asked)
        self.assertIn(b'Host: [::1]:%d\r\n' % server.port, server.asked[0])


class ManyTest(HealthTestCase):

    def test_hundreds_that_hang(self):
        """One thread, and no more sockets than there is room for."""
        # Nobody accepts: the kernel does, up to so many.
        server = socket.create_server(('0.0.0.0', 0), backlog=4096)
        self.addCleanup(server.close)
        check = port_forwards.HealthCheck('http', interval=0.5, timeout=0.2)
        targets = frozenset(
            health_checks.Target(f'127.0.{n // 100}.{n % 100 + 1}',
                                 server.getsockname()[1], check)
            for n in range(300))
        self.checks = health_checks.Checks(max_checks=30)
        before, most = opened(), 0
        threads = set(threading.enumerate())
        self.checks.want(targets)
        self.checks.start(self.trigger)

        def all_dead():
            nonlocal most
            most = max(most, opened() - before)
            return not any(map(self.checks.alive, targets))
        self.eventually(all_dead)
        self.assertEqual(['health'], [
            thread.name for thread in threading.enumerate()
            if thread not in threads])
        # With those that asyncio needs for itself.
        self.assertGreater(most, 3)
        self.assertLessEqual(most, 30 + 5)


class ChangeTest(HealthTestCase):

    def test_what_is_not_wanted_any_more_is_not_checked(self):
        gone, stays = self.server(), self.server()
        one, two = (health_checks.Target('127.0.0.1', server.port, TCP)
                    for server in (gone, stays))
        self.checks.want(frozenset([one, two]))
        self.checks.start(self.trigger)
        self.eventually(lambda: gone.accepted and stays.accepted)
        self.checks.want(frozenset([two]))
        before = stays.accepted
        self.eventually(lambda: stays.accepted > before + 3)
        last, before = gone.accepted, stays.accepted
        self.eventually(lambda: stays.accepted > before + 10)
        self.assertEqual(last, gone.accepted)
        gone.stop()
        self.assertTrue(self.checks.alive(one))
        # And again.
        self.checks.want(frozenset([one, two]))
        self.dies(one, 'connection refused')

    def test_what_stays_keeps_its_state(self):
        server, other = self.server(), self.server()
        server.stop()
        target = self.follow(TCP, server)
        self.dies(target, 'connection refused')
        more = health_checks.Target('127.0.0.1', other.port, TCP)
        self.checks.want(frozenset([target, more]))
        self.assertFalse(self.checks.alive(target))
        self.eventually(lambda: other.accepted > 3)
        self.assertFalse(self.checks.alive(target))
        # Nor does another check of it make it alive before a result does.
        new = target._replace(check=HTTP)
        self.checks.want(frozenset([new]))
        self.assertFalse(self.checks.alive(new))
        server.answer = status(200)
        server.start()
        self.lives(new)

    def test_no_thread_without_anything_to_check(self):
        self.checks.start(self.trigger)
        self.checks.want(frozenset())
        self.assertEqual(0, self.threads())
        server = self.server()
        self.checks.want(frozenset([
            health_checks.Target('127.0.0.1', server.port, TCP)]))
        self.eventually(lambda: server.accepted)
        self.assertEqual(1, self.threads())
