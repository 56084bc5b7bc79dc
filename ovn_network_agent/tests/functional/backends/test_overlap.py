# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The overlap of two owners, with real Open vSwitches and ovn-controller."""

import contextlib
import subprocess
import threading

import fixtures

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.privileged import overlap
from ovn_network_agent.privileged.switch import ovsdb
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.backends import overlaps
from ovn_network_agent.tests.functional.ovs import base

WANTED = overlaps.WANTED


class OverlapTest(overlaps.OverlapTestCase):
    """The overlap begins, and ends whatever happens."""

    def agent_dies(self):
        """Its end of the pipe is closed by the kernel."""
        overlap._keepers[-1].stdin.close()

    def ended_twice(self):
        self.end()
        self.end()

    def test_begin_and_end(self):
        """BFD is up again before ovn-controller goes on."""
        self.assertEqual([], self.backend.read(frozenset()))
        for end in self.ended_twice, self.agent_dies:
            self.begin()
            self.assert_begun()
            waiting.eventually(
                lambda: self.backend.read(frozenset()) == [WANTED],
                'the mark is seen')
            end()
            self.wait_ended()
            self.assertTrue(self.both_up())
            waiting.eventually(lambda: self.backend.read(frozenset()) == [],
                               'the mark is gone')
        # The agent hangs, and the time is up.
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.privileged.overlap.LIMIT', 0.5))
        self.begin()
        self.assert_begun()
        self.wait_ended()

    def test_the_state_that_doctor_asks_for(self):
        version, state, connection = ovsdb.read_state()
        self.assertRegex(version, r'^\d+\.\d\d$')
        self.assertEqual(('running', 'connected'), (state, connection))
        self.here.vsctl('set', 'Open_vSwitch', '.',
                        'external_ids:ovn-remote=unix:/nowhere')
        waiting.eventually(
            lambda: ovsdb.read_state()[2] == 'not connected',
            'it has lost the Southbound database')
        subprocess.run(['ovn-appctl', '-t', self._controller_socket(),
                        'debug/pause'], check=True, capture_output=True)
        self.assertEqual('paused', ovsdb.read_state()[1])
        self.controller.kill()
        self.controller.wait()
        self.assertEqual([], ovsdb.read_state())

    def test_it_connects_anew_when_it_goes_on(self):
        """Or it would read bit by bit what it has missed, and act on it."""
        before = self.accepted()
        self.begin()
        self.assertIn('ovn-remote-gw1="unix:/.', self.external_ids())
        # Nothing of this reaches it.
        before.sendall(b'{"method":"echo","params":[],"id":"missed"}')
        self.end()
        self.wait_ended()
        received = b''
        # It is reset because of what nobody has read.
        with contextlib.suppress(ConnectionResetError):
            while data := before.recv(65536):
                received += data
        self.assertNotIn(b'missed', received)
        self.accepted()
        self.assertNotIn('remote-', self.external_ids())
        self.assertNotIn(ownership.EXT_ID_OVERLAP_REMOTE,
                         self.external_ids())
        self.accepted()

    def test_the_next_agent_undoes_what_was_left(self):
        """All of the former one was killed, the program too.

        BFD is the business of ovn-controller, once it goes on; this one is
        not connected to any cloud.
        """
        self.begin()
        overlap._keepers[0].kill()
        overlap._keepers.pop().wait()
        self.assertEqual('paused', self.state())
        after = self.new_backend()
        waiting.eventually(lambda: after.read(frozenset()) == [WANTED],
                           'it is known')
        self.end()
        waiting.eventually(lambda: not self.mark(), 'it ends')
        self.assertEqual('running', self.state())
        self.assertNotIn('remote-', self.external_ids())

    def test_an_ovn_controller_that_does_not_go_on(self):
        """The mark stays until it does: nobody else would know of it."""
        self.begin()
        self.controller.kill()
        self.controller.wait()
        marks = []

        def resume():
            marks.append(self.mark())
            return None if len(marks) < 3 else ''

        with self.answering({'debug/resume': resume,
                             'debug/status': lambda: 'running\n'}):
            self.end()
            waiting.eventually(lambda: not self.mark(), 'it ends')
        self.assertEqual([base.address(2)] * 3, marks)
        self.assertNotIn('remote-', self.external_ids())

    def test_one_that_does_not_go_on_for_a_long_time(self):
        """It is said, and tried again."""
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.privileged.overlap.RESUME', 0.0))
        self.begin()
        self.controller.kill()
        self.controller.wait()
        keeper = overlap._keepers[0]
        goes_on = threading.Event()
        with self.answering({
                'debug/resume': lambda: '' if goes_on.is_set() else None,
                'debug/status': lambda: 'running\n'}):
            self.end()
            keeper.wait(20)
            self.assertEqual(base.address(2), self.mark())
            failures = self.backend.apply(backends.Delta(delete=(WANTED,)))
            self.assertIn('ovn-controller may be paused, so the mark of the '
                          'overlap stays', failures[WANTED.ref])
            goes_on.set()
            waiting.eventually(
                lambda: overlap._keepers[0].poll() is not None, 'it ends')
            self.backend.apply(backends.Delta(delete=(WANTED,)))
            waiting.eventually(lambda: not self.mark(), 'all is undone')
        self.assertEqual({}, self.backend.apply(
            backends.Delta(delete=(WANTED,))))
