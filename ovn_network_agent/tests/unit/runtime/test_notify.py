# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the supervisor hears, and the signs of life."""

import math
import os
import socket
import threading

import fixtures
from oslotest import base

from ovn_network_agent.common import trigger
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world


class NotifyTest(base.BaseTestCase):

    def supervisor(self, address):
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listening.close)
        listening.bind(address.replace('@', '\0', 1))
        listening.settimeout(5)
        self.useFixture(fixtures.EnvironmentVariable('NOTIFY_SOCKET', address))
        return listening

    def test_a_socket_in_the_file_system_and_an_abstract_one(self):
        folder = self.useFixture(fixtures.TempDir()).path
        for address in (os.path.join(folder, 'notify'),
                        f'@ovn-network-agent-test-{os.getpid()}'):
            listening = self.supervisor(address)
            status.notify(READY=1, STATUS='in sync')
            self.assertEqual(b'READY=1\nSTATUS=in sync', listening.recv(1000))

    def test_a_name_of_ovn_is_no_message_of_its_own(self):
        folder = self.useFixture(fixtures.TempDir()).path
        listening = self.supervisor(os.path.join(folder, 'notify'))
        status.notify(READY=1, STATUS='degraded: router r\nWATCHDOG=trigger'
                                      '\r\0\u2028\x1b[2J')
        self.assertEqual(
            b'READY=1\nSTATUS=degraded: router r?WATCHDOG=trigger????[2J',
            listening.recv(1000))

    def test_nobody_listens(self):
        self.useFixture(fixtures.EnvironmentVariable('NOTIFY_SOCKET',
                                                     '/nowhere/notify'))
        status.notify(READY=1)
        self.useFixture(fixtures.EnvironmentVariable('NOTIFY_SOCKET'))
        status.notify(READY=1)


INTERVAL = 180.0


class Supervisor:
    """The socket that a supervisor reads."""

    def __init__(self, case):
        folder = case.useFixture(fixtures.TempDir()).path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        case.addCleanup(self._socket.close)
        self._socket.bind(os.path.join(folder, 'notify'))
        self._socket.setblocking(False)
        case.useFixture(fixtures.EnvironmentVariable(
            'NOTIFY_SOCKET', os.path.join(folder, 'notify')))

    def heard(self):
        """The messages since the last call, a list."""
        found = []
        try:
            while True:
                found.append(self._socket.recv(1000))
        except BlockingIOError:
            return found

    def wait(self):
        """Wait for messages; gives those that are there, a list."""
        return waiting.eventually(self.heard, 'a message')


class WatchdogTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.supervisor = Supervisor(self)

    def asked(self, interval=None, process=None):
        """What is sent where the environment has these values."""
        for name, value in (('WATCHDOG_USEC', interval),
                            ('WATCHDOG_PID', process)):
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        made = status.from_environment()
        made.start()
        made.alive()
        heard = [] if made.pause == float('inf') else self.supervisor.wait()
        made.stop()
        return made.pause, heard + self.supervisor.heard()

    def test_half_of_the_interval_that_the_supervisor_names(self):
        for process in (None, str(os.getpid())):
            self.assertEqual((90.0, [b'WATCHDOG=1']),
                             self.asked('180000000', process))

    def test_nobody_watches_this_process(self):
        nobody = (float('inf'), [])
        self.assertEqual(nobody, self.asked())
        self.assertEqual(nobody, self.asked('180000000', str(os.getppid())))
        self.assertEqual(nobody, self.asked('180000000', ''))

    def test_what_is_no_interval_is_named(self):
        log = self.useFixture(fixtures.FakeLogger())
        for value in ('', '0', '-5', '3min', '1.5'):
            self.assertEqual((float('inf'), []), self.asked(value))
            self.assertIn(f'WATCHDOG_USEC = {value!r}', log.output)

    def test_signs_for_a_reader(self):
        """Nobody else is told."""
        made = status.Watchdog(math.inf)
        made.also_within(0.1)
        made.also_within(20)
        self.assertEqual(0.1, made.pause)
        made.start()
        self.addCleanup(made.stop)
        for _sign in range(2):
            before = made.last
            made.alive()
            waiting.eventually(lambda before=before: made.last > before,
                               'not seen')
        self.assertEqual([], self.supervisor.heard())

    def test_not_one_for_each_step_of_a_fast_pass(self):
        made = status.Watchdog(INTERVAL)
        made.start()
        made.alive()
        heard = self.supervisor.wait()
        for _step in range(1000):
            made.alive()
        made.stop()
        self.assertEqual([b'WATCHDOG=1'], heard + self.supervisor.heard())


class Slow(world.WorldBackend):
    """Each reading and each change takes a while.

    :ivar work: function that passes the time
    """

    def read(self, known):
        self.work()
        return super().read(known)

    def apply(self, delta):
        self.work()
        return super().apply(delta)


class LongPassTest(base.BaseTestCase):
    """A long pass gives signs of life between its steps."""

    def test_no_silence_is_longer_than_one_step(self):
        clock = [0.0]
        signs = [0.0]

        def work():
            clock[0] += 5.0

        conf = world.conf(drivers=['fip_route', 'veth_leak'])
        slow = [Slow(name, world.World()) for name in world.BACKENDS]
        for backend in slow:
            backend.work = work
        made = reconciler.Reconciler(
            [world.driver(name, conf) for name in conf.drivers], slow,
            lambda reason: None, alive=lambda: signs.append(clock[0]))
        self.addCleanup(made.close)
        outcome = made.run(passes.Pass(
            cloud.snapshot(cloud.router(fips=['198.51.100.10'])), full=True))
        self.assertGreater(outcome.changes, 0)
        signs.append(clock[0])
        # The pass had many steps, and each one was followed by a sign.
        self.assertGreater(clock[0], 50.0)
        self.assertEqual(5.0, max(
            after - before for before, after
            in zip(signs, signs[1:], strict=False)))


class LoopTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.supervisor = Supervisor(self)
        self.trigger = trigger.Trigger(0)
        work = reconciler.Reconciler([], [], lambda reason: None)
        self.addCleanup(work.close)
        self.watched = status.Watchdog(0.01)
        self.watched.start()
        self.addCleanup(self.watched.stop)
        self.loop = loop.Loop(
            world.conf(), None, work, self.trigger, status.Status({}),
            threading.Event(), watched=self.watched)

    def test_a_waiting_loop_gives_signs_and_goes_on_waiting(self):
        heard = []

        def listen():
            try:
                while len(heard) < 3:
                    heard.extend(self.supervisor.wait())
            finally:
                self.trigger.fire('test')

        listening = threading.Thread(target=listen)
        listening.start()
        self.addCleanup(listening.join)
        # An hour, but for the wake-up by the listener.
        self.assertEqual(('test',), self.loop._wait(3600.0).reasons)
        self.assertEqual({b'WATCHDOG=1'}, set(heard))
        self.assertGreaterEqual(len(heard), 3)
