# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Named locks of real servers, and how soon the next one has a lock."""

import signal
import subprocess
import sys
import threading
import time
from unittest import mock

from oslotest import base

from ovn_network_agent.common import backoff
from ovn_network_agent.ovsdb import lock
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.ovsdb import cluster
from ovn_network_agent.tests.functional.ovsdb import tls

HELD, WAITING = lock_state.State.HELD, lock_state.State.WAITING
# Seconds from the end of the holder's process to the next holder.
HANDOVER = 1.0
# Twice the probe interval of a server, 5 s without a row of Connection.
SILENT = 10.0
_HOLDER = """
import sys, time
from ovn_network_agent.ovsdb import lock
held = lock.Lock('nb', sys.argv[1], sys.argv[2], 60000)
print(held.ask(20).value, flush=True)
sys.stdin.read()
"""


class Holder:
    """A process that has a lock, or waits for it.

    :ivar state: the first answer, text
    """

    def __init__(self, case, remote, name):
        self.process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-c', _HOLDER, remote, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        case.addCleanup(self.end)
        self.state = self.process.stdout.readline().strip()

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        self.process.kill()
        self.process.communicate()


class LockTestCase(base.BaseTestCase):

    def lock(self, remote, name='x', ask=True, **values):
        """A lock that is asked for; ``held`` is set when it comes."""
        held = threading.Event()
        made = lock.Lock('nb', remote, name, 60000,
                         **{'held': held.set, **values})
        made.held = held
        self.addCleanup(made.close)
        if ask:
            made.ask(ovsdb.DEADLINE)
        return made

    def after(self, happens, waits, limit):
        """A waiting lock comes within a time after something."""
        self.assertIs(WAITING, waits.state)
        began = time.monotonic()
        happens()
        self.assertTrue(waits.held.wait(limit + ovsdb.DEADLINE))
        took = time.monotonic() - began
        print(f'{self.id()}: {took:.3f} s')
        self.assertLess(took, limit)
        self.assertIs(HELD, waits.state)


@ovsdb.needs_ovsdb
class ServerTest(LockTestCase):

    def setUp(self):
        super().setUp()
        self.server = ovsdb.Server('nb', tcp=True)
        self.addCleanup(self.server.close)
        self.server.start()

    def test_one_has_it(self):
        """And another lock is another matter."""
        first, second = (self.lock(self.server.remote) for _n in range(2))
        self.assertEqual((HELD, WAITING), (first.state, second.state))
        self.assertEqual(('', ''), (first.problem, second.problem))
        self.assertIs(HELD, self.lock(self.server.remote, 'y').state)
        self.after(first.close, second, HANDOVER)
        self.assertIs(lock_state.State.NOT_CONNECTED, first.state)

    def test_the_holder_is_killed(self):
        """The first one that waits has it; the next one still waits."""
        holder = Holder(self, self.server.remote_tcp, 'x')
        self.assertEqual('held', holder.state)
        first, second = (self.lock(self.server.remote_tcp) for _n in range(2))
        self.after(lambda: holder.signal(signal.SIGKILL), first, HANDOVER)
        self.assertIs(WAITING, second.state)

    def test_the_holder_is_silent(self):
        """As after a loss of power: the server probes the connection."""
        holder = Holder(self, self.server.remote_tcp, 'x')
        waits = self.lock(self.server.remote_tcp)
        self.after(lambda: holder.signal(signal.SIGSTOP), waits, SILENT + 1)
        holder.signal(signal.SIGCONT)

    def test_the_server_goes_and_comes(self):
        """Nobody has the lock meanwhile, and one has it afterwards."""
        both = [self.lock(self.server.remote) for _n in range(2)]
        self.server.kill()
        for each in both:
            waiting.eventually(
                lambda each=each: each.state is lock_state.State.NOT_CONNECTED,
                'the loss is known')
            self.assertIn('the lock x of OVN_Northbound: ', each.problem)
        self.server.start()
        waiting.eventually(lambda: sorted(
            each.state.value for each in both) == ['held', 'waiting'],
            'an answer', 2 * ovsdb.DEADLINE)

    def test_who_is_told_fails(self):
        """The connection ends, and the next one alone has the lock."""
        told = []

        def held():
            told.append(first.state)
            if len(told) == 1:
                gate.wait(ovsdb.DEADLINE)
                raise RuntimeError('on purpose')
        gate = threading.Event()
        first = self.lock(self.server.remote, ask=False, held=held)
        first.ask(ovsdb.DEADLINE)
        second = self.lock(self.server.remote)
        self.after(gate.set, second, HANDOVER)
        waiting.eventually(lambda: first.state is WAITING,
                           lambda: first.state)
        second.close()
        waiting.eventually(lambda: told == [HELD] * 2, lambda: told)
        self.assertIs(HELD, first.state)

    def test_errors_of_the_library(self):
        """The lock is asked for again after a pause."""
        for name in '__init__', 'run', 'wait':
            failed = []
            real = getattr(lock._Idl, name)

            def fails(*arguments, real=real, failed=failed):
                if not failed:
                    failed.append(time.monotonic())
                    raise RuntimeError('on purpose')
                return real(*arguments)
            with mock.patch.object(lock._Idl, name, fails):
                asked = self.lock(self.server.remote)
                waiting.eventually(lambda asked=asked: asked.state is HELD,
                                   name)
            self.assertGreaterEqual(time.monotonic() - failed[0],
                                    backoff.FIRST / 2)
            asked.close()

    def test_a_holder_that_cannot_write(self):
        """For a moment it keeps the lock, then it leaves it to others."""
        why, held = [], []
        first = self.lock(self.server.remote, held=lambda: held.append(1),
                          hindrance=lambda: ''.join(why))
        why.append('no way to write')
        waiting.lasts(lambda: self.assertIs(HELD, first.state),
                      lock.PATIENCE / 2)
        why.clear()
        waiting.lasts(lambda: self.assertIs(HELD, first.state), 1.5)
        second = self.lock(self.server.remote)
        self.after(lambda: why.append('no way to write'), second,
                   lock.PATIENCE + 2)
        self.assertIs(lock_state.State.NOT_CONNECTED, first.state)
        self.assertIn('of OVN_Northbound: no way to write', first.problem)
        # Nobody waits, and it does not ask.
        second.close()
        waiting.lasts(lambda: self.assertIs(lock_state.State.NOT_CONNECTED,
                                            first.state), 1.5)
        why.clear()
        waiting.eventually(lambda: first.state is HELD, lambda: first.state)
        self.assertEqual([1, 1], held)

    def test_a_lock_that_is_not_asked_for(self):
        asked = self.lock(self.server.remote, ask=False)
        self.assertFalse(asked.started)
        asked.close()


@ovsdb.needs_ovsdb
class ClusterTest(LockTestCase):
    """Each member has locks of its own."""

    def setUp(self):
        super().setUp()
        self.cluster = cluster.Cluster('nb')
        self.addCleanup(self.cluster.close)
        self.cluster.start()

    def test_one_has_it_whatever_member_comes_first(self):
        members = self.cluster.members
        locks = [self.lock(','.join(each.remote for each in (
            *members[number:], *members[:number]))) for number in range(3)]
        self.assertEqual([HELD, WAITING, WAITING],
                         [each.state for each in locks])
        self.cluster.leader().kill()
        waiting.eventually(
            lambda: [each.state for each in locks].count(WAITING) == 2 and
            HELD in [each.state for each in locks], 'one has it again',
            2 * ovsdb.DEADLINE)

    def test_a_follower_or_a_relay_alone(self):
        follower = next(each for each in self.cluster.members
                        if not each.leads())
        relay = cluster.Relay('nb', [each.remote for each
                                     in self.cluster.members])
        self.addCleanup(relay.close)
        relay.start()
        for server in follower, relay:
            asked = self.lock(server.remote, ask=False)
            self.assertIs(lock_state.State.NOT_CONNECTED, asked.ask(2))
            self.assertIn('no leader has answered', asked.problem)


class TlsTest(tls.TlsTestCase, LockTestCase):

    def test_with_the_files_of_the_remote(self):
        server = self.server()
        self.configure(server.remote_ssl)
        self.assertIs(HELD, self.lock(server.remote_ssl).state)

    def test_without_files(self):
        server = self.server()
        asked = self.lock(server.remote_ssl, ask=False)
        asked.start()
        waiting.eventually(
            lambda: 'no certificates are configured' in asked.problem,
            lambda: asked.problem)
