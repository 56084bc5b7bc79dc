# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The real program under a supervisor that watches it, like systemd."""

import os
import pathlib
import signal
import socket
import threading
import time

import fixtures

from ovn_network_agent.tests.functional.forward import base

# Seconds.  Long for a loop that gives a sign of life each half of it, on a
# machine that is busy with other tests.
INTERVAL = 3.0


class Supervisor:
    """Reads the notifications, like systemd.

    :ivar signs: number of signs of life so far
    """

    def __init__(self, path):
        self.signs = 0
        self._ready = threading.Event()
        self._last = time.monotonic()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self):
        while message := self._socket.recv(4096):
            lines = message.decode().splitlines()
            if 'WATCHDOG=1' in lines:
                self.signs += 1
                self._last = time.monotonic()
            if 'READY=1' in lines:
                self._ready.set()

    @property
    def ready(self):
        """Whether the service is ready."""
        return self._ready.is_set()

    @property
    def timed_out(self):
        """Whether systemd would end the service now."""
        return time.monotonic() - self._last > INTERVAL

    def close(self):
        """End the thread, with a message that systemd never gets."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ending:
            ending.sendto(b'', self._socket.getsockname())
        self._thread.join()
        self._socket.close()


def children(process):
    """Process ids of the children of a process."""
    listed = pathlib.Path(f'/proc/{process}/task/{process}/children')
    return [int(child) for child in listed.read_text().split()]


class WatchdogTest(base.ForwardTestCase):

    def setUp(self):
        super().setUp()
        self.serve(self.backend(base.BACKENDS[0]), base.BACKENDS[0])
        self.write_rules(base.rules(base.BACKENDS[:1]))

    def watched(self):
        """An agent that is ready, and its supervisor."""
        path = os.path.join(self.useFixture(fixtures.TempDir()).path, 's')
        supervisor = Supervisor(path)
        self.addCleanup(supervisor.close)
        self.env['NOTIFY_SOCKET'] = path
        self.env['WATCHDOG_USEC'] = str(int(INTERVAL * 1000000))
        agent = self.start(self.alone(reconcile_interval=3600))
        self.eventually(lambda: supervisor.ready)
        return agent, supervisor

    def hang(self, agent):
        """Have the loop wait for privileged daemons that do not answer."""
        daemons = children(agent.pid)
        self.assertEqual(2, len(daemons))
        for daemon in daemons:
            os.kill(daemon, signal.SIGSTOP)
            self.addCleanup(_kill, daemon)
        self.sh(f'ip address del {base.VIP}/32 dev loopback1')
        return daemons

    def test_an_idle_loop_gives_signs_until_it_hangs_and_then_again(self):
        agent, supervisor = self.watched()
        so_far = supervisor.signs
        self.eventually(lambda: supervisor.signs >= so_far + 3)
        daemons = self.hang(agent)
        # Longer than systemd would wait, although the process lives.
        self.eventually(lambda: supervisor.timed_out)
        self.assertIsNone(agent.poll())
        so_far = supervisor.signs
        for daemon in daemons:
            os.kill(daemon, signal.SIGCONT)
        self.eventually(lambda: supervisor.signs > so_far)
        self.eventually(lambda: self.vips() == [base.VIP])
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(0, agent.wait(60), self.log())

    def test_what_systemd_does_then_withdraws_nothing(self):
        agent, supervisor = self.watched()
        daemons = self.hang(agent)
        self.eventually(lambda: supervisor.timed_out)
        # KillMode=mixed: the signal for the main process, and SIGKILL for
        # all others when the main process has ended.
        agent.send_signal(signal.SIGABRT)
        self.assertEqual(-signal.SIGABRT, agent.wait(60))
        for daemon in daemons:
            _kill(daemon)
        # The address of the VIP was taken away by this test; all else stays,
        # and clients are served.
        self.assertEqual(['table ip ovn-network-agent'], self.tables())
        self.assertTrue(self.ask())
        # The log says where the loop was.
        self.logged('Fatal Python error: Aborted')
        self.logged('runtime/loop.py', 'in run')
        # The agent that Restart=on-failure starts takes over.
        self.watched()
        self.eventually(lambda: self.vips() == [base.VIP])
        self.assertTrue(self.ask())


def _kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return
