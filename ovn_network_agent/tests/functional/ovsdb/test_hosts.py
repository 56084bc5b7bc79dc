# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Databases by host name, while DNS is silent."""

import socket
import threading
import time

import fixtures

from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import hosts
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

NAME = 'nb.example.org'


class Dns:
    """In the place of the system's.

    :ivar answers: cleared while it is silent
    :ivar asked: how many questions were put
    """

    def __init__(self):
        self.answers = threading.Event()
        self.answers.set()
        self.found = ['127.0.0.1']
        self.asked = 0

    def getaddrinfo(self, host, port, *_hints):
        self.asked += 1
        self.answers.wait(60)
        if not self.found:
            raise socket.gaierror(socket.EAI_NONAME, 'Name not known')
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, '', (address, port))
                for address in self.found]


class DnsTestCase(base.base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.dns = Dns()
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.ovsdb.hosts.socket.getaddrinfo',
            self.dns.getaddrinfo))
        for name in ('_lookups', '_last'):
            self.useFixture(fixtures.MonkeyPatch(
                'ovn_network_agent.ovsdb.hosts.' + name, {}))
        # What still waits must not outlive the test.
        self.addCleanup(self.dns.answers.set)


class NoNameTest(base.base.BaseTestCase):
    """The system's own, which is not asked for what is no name."""

    def test_what_is_no_host_name(self):
        for name in ('nb..example.org', 'n' * 64 + '.example.org'):
            for _attempt in range(2):
                error = self.assertRaises(hosts.Unresolved, hosts.addresses,
                                          name, 6641)
            self.assertIn('is none: ', str(error))
        self.assertEqual({}, hosts._lookups)


class HostsTest(DnsTestCase):

    def test_answered_too_late_is_for_the_next_one(self):
        self.dns.answers.clear()
        for _attempt in range(3):
            error = self.assertRaises(hosts.Unresolved, hosts.addresses,
                                      NAME, 6641)
            self.assertIn('DNS has not answered yet', str(error))
        self.assertEqual(1, self.dns.asked)
        self.dns.answers.set()
        self.assertEqual(['127.0.0.1'], waiting.eventually(
            self.addresses, 'an answer'))

    def test_the_last_answer_counts_while_there_is_none(self):
        self.assertEqual(['127.0.0.1'], waiting.eventually(
            self.addresses, 'an answer'))
        self.dns.answers.clear()
        self.dns.found = ['127.0.0.2']
        self.assertEqual(['127.0.0.1'], self.addresses())
        self.dns.answers.set()
        waiting.eventually(lambda: self.addresses() == ['127.0.0.2'],
                           'the new one')

    def test_a_name_that_is_gone_is_not_used(self):
        waiting.eventually(self.addresses, 'an answer')
        self.dns.found = []
        waiting.eventually(lambda: not self.addresses(), 'no address')

    def addresses(self):
        try:
            return hosts.addresses(NAME, 6641)
        except hosts.Unresolved:
            return []


@ovsdb.needs_ovsdb
class ReplicaTest(DnsTestCase):

    def setUp(self):
        super().setUp()
        self.server = ovsdb.Server('nb', tcp=True)
        self.addCleanup(self.server.close)
        self.server.start()
        port = self.server.remote_tcp.rpartition(':')[2]
        handler = replica.Handler()
        self.addCleanup(handler.stop)
        self.database = connection.Database(
            'nb', f'tcp:{NAME}:{port}', handler, base.TIMEOUT, 5000)
        self.database.require('Logical_Router', ('name',))
        self.addCleanup(self.database.stop)
        waiting.eventually(self.started, 'loaded')

    def started(self):
        try:
            self.database.start()
        except connection.Unavailable:
            return False
        return True

    def longest_wait(self, done):
        """Seconds for the replica, at most, until something is true."""
        waits = [0.0]

        def look():
            began = time.monotonic()
            with self.database.rows(ovsdb.DEADLINE):
                waits.append(time.monotonic() - began)
            return done()

        waiting.eventually(look, 'it is done')
        return max(waits)

    def test_passes_go_on_while_dns_is_silent(self):
        """The replica was locked for as long as DNS said nothing."""
        self.dns.answers.clear()
        asked = self.dns.asked
        self.server.kill()
        # A pass gives up after 1 s.
        self.assertLess(self.longest_wait(
            lambda: self.dns.asked > asked), 0.9)
        waits = time.monotonic() + 3
        self.assertLess(self.longest_wait(
            lambda: time.monotonic() > waits), 0.9)
        # And the last address is good enough for a new connection.
        self.server.start()
        self.assertLess(self.longest_wait(
            lambda: self.database.connected), 0.9)
