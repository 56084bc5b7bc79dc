# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The overlap of two owners, with real Open vSwitches and ovn-controller."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading

import fixtures
from oslo_config import cfg
from oslotest import base as oslotest

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import overlap as backend
from ovn_network_agent.conf import ovs as options
from ovn_network_agent.privileged import controller
from ovn_network_agent.privileged import overlap
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.openflow import base as openflow
from ovn_network_agent.tests.functional.ovs import base
from ovn_network_agent.tests.unit import world

# As ovn-controller of OVN 25.03 sets it.
BFD = {'enable': 'true', 'check_tnl_key': 'true'}
WANTED = resources.Overlap((base.address(2),))


@openflow.needs_open_vswitch
@needs.needs(shutil.which('ovn-controller'), 'needs ovn-controller')
class OverlapTest(oslotest.BaseTestCase):
    """Two gateways with BFD in OVN's tunnel; one has an ovn-controller."""

    def setUp(self):
        super().setUp()
        self.here, self.there = (base.Gateway(n) for n in (1, 2))
        for gateway in (self.here, self.there):
            self.addCleanup(gateway.stop)
        self.here.connect(self.there)
        for gateway in (self.here, self.there):
            gateway.vsctl('set', 'interface', base.OVN, *(
                f'bfd:{key}={value}' for key, value in BFD.items()))
        waiting.eventually(self.both_up, 'BFD is up')
        self._start_controller()
        self._configure()
        self.local = base.LocalDatabase(self.here.remote)
        self.addCleanup(self.local.stop)
        self.backend = self.new_backend()

    def _start_controller(self):
        # In the place of the Southbound database: who connects is seen.
        self.southbound = self.listening('sb.sock')
        remote = f'unix:{self.southbound.getsockname()}'
        self.here.vsctl('set', 'Open_vSwitch', '.',
                        'external_ids:system-id=gw1',
                        f'external_ids:ovn-remote={remote}')
        self.controller = subprocess.Popen(
            ['ovn-controller', '--no-chdir', self.here.remote],
            stderr=subprocess.DEVNULL,
            env={**os.environ, 'OVN_RUNDIR': self.here.rundir})
        self.addCleanup(self.controller.wait)
        self.addCleanup(self.controller.kill)
        waiting.eventually(lambda: self.state() == 'running', 'it answers')

    def _configure(self):
        cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
        for name, value in (('ovn_rundir', self.here.rundir),
                            ('ovsdb_connection', self.here.remote)):
            cfg.CONF.set_override(name, value, group='ovs')
            self.addCleanup(cfg.CONF.clear_override, name, group='ovs')
        privileged.ovs.set_client_mode(False)
        self.addCleanup(privileged.ovs.set_client_mode, True)
        self.addCleanup(self._all_ended)

    def listening(self, name):
        """A socket in the run directory that somebody may connect to."""
        opened = socket.socket(socket.AF_UNIX)
        self.addCleanup(opened.close)
        opened.settimeout(10)
        opened.bind(os.path.join(self.here.rundir, name))
        opened.listen()
        return opened

    def accepted(self):
        """The next connection of ovn-controller."""
        opened = self.southbound.accept()[0]
        self.addCleanup(opened.close)
        opened.settimeout(10)
        return opened

    def _all_ended(self):
        for keeper in overlap._keepers:
            keeper.stdin.close()
            keeper.wait()
        overlap._keepers.clear()

    def new_backend(self):
        made = backend.OverlapBackend(world.conf())
        made.attach(backends.Context({'ovs': self.local.database},
                                     lambda: 'gw1'))
        return made

    # -- looking ----------------------------------------------------------

    def _controller_socket(self):
        return os.path.join(self.here.rundir,
                            f'ovn-controller.{self.controller.pid}.ctl')

    def state(self):
        """What ovn-controller says of itself, '' when nothing."""
        done = subprocess.run(
            ['ovn-appctl', '-t', self._controller_socket(), 'debug/status'],
            capture_output=True, text=True)
        return done.stdout.strip()

    def bfd(self, gateway, column='bfd_status'):
        text = gateway.vsctl('get', 'interface', base.OVN, column)
        return {key: value.strip('"') for key, _equal, value in (
            pair.partition('=') for pair in
            text.strip().strip('{}').split(', '))}

    def both_up(self):
        return all(self.bfd(gateway).get('state') == 'up'
                   for gateway in (self.here, self.there))

    def mark(self):
        return self.here.vsctl(
            '--if-exists', 'get', 'Open_vSwitch', '.',
            'external_ids:' + ownership.EXT_ID_OVERLAP).strip().strip('"')

    def assert_begun(self):
        self.assertEqual('paused', self.state())
        self.assertEqual(base.address(2), self.mark())
        waiting.eventually(lambda: self.bfd(self.there).get('state') == 'down',
                           'to the other one this gateway is dead')

    def wait_ended(self):
        waiting.eventually(lambda: not self.mark(), 'it ends')
        self.assertEqual('running', self.state())
        self.assertEqual(BFD, self.bfd(self.here, 'bfd'))

    def external_ids(self):
        return self.here.vsctl('get', 'Open_vSwitch', '.', 'external_ids')

    def begin(self):
        self.assertEqual({}, self.backend.apply(
            backends.Delta(create=(WANTED,))))

    def end(self):
        self.assertEqual({}, self.backend.apply(
            backends.Delta(delete=(WANTED,))))

    # -- tests ------------------------------------------------------------

    def test_begin_and_end(self):
        """BFD is up again before ovn-controller goes on."""
        self.assertEqual([], self.backend.read(frozenset()))
        self.begin()
        self.assert_begun()
        waiting.eventually(lambda: self.backend.read(frozenset()) == [WANTED],
                           'the mark is seen')
        self.end()
        self.end()
        self.wait_ended()
        self.assertTrue(self.both_up())
        waiting.eventually(lambda: self.backend.read(frozenset()) == [],
                           'the mark is gone')
        self.begin()
        self.assert_begun()

    def test_the_state_that_doctor_asks_for(self):
        version, state, connection = controller.read_state()
        self.assertRegex(version, r'^\d+\.\d\d$')
        self.assertEqual(('running', 'connected'), (state, connection))
        self.here.vsctl('set', 'Open_vSwitch', '.',
                        'external_ids:ovn-remote=unix:/nowhere')
        waiting.eventually(
            lambda: controller.read_state()[2] == 'not connected',
            'it has lost the Southbound database')
        subprocess.run(['ovn-appctl', '-t', self._controller_socket(),
                        'debug/pause'], check=True, capture_output=True)
        self.assertEqual('paused', controller.read_state()[1])
        self.controller.kill()
        self.controller.wait()
        self.assertEqual([], controller.read_state())

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

    def test_the_agent_dies(self):
        """Its end of the pipe is closed by the kernel."""
        self.begin()
        self.assert_begun()
        overlap._keepers[0].stdin.close()
        self.wait_ended()
        self.assertTrue(self.both_up())

    def test_the_program_is_asked_to_end(self):
        self.begin()
        overlap._keepers[0].send_signal(signal.SIGTERM)
        self.wait_ended()

    def test_its_time_is_up(self):
        """Of an agent that hangs."""
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.privileged.overlap.LIMIT', 0.5))
        self.begin()
        self.assert_begun()
        self.wait_ended()

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

    # -- where it cannot be -----------------------------------------------

    def failed(self):
        failures = self.backend.apply(backends.Delta(create=(WANTED,)))
        self.assertEqual([], overlap._keepers)
        return failures[WANTED.ref]

    def test_somebody_else_has_paused_it(self):
        subprocess.run(['ovn-appctl', '-t', self._controller_socket(),
                        'debug/pause'], check=True)
        self.assertIn('paused already', self.failed())
        self.assertEqual(('paused', ''), (self.state(), self.mark()))

    def test_no_such_tunnel(self):
        self.here.vsctl('set', 'interface', base.OVN, 'bfd:enable=false')
        self.assertIn('no tunnel of OVN to 192.0.2.2', self.failed())
        waiting.eventually(lambda: not self.mark(), 'it ends')
        self.assertEqual('running', self.state())

    def test_no_controller(self):
        self.controller.kill()
        self.controller.wait()
        self.assertIn('ovn-controller', self.failed())
        self.assertEqual('', self.mark())
        self.assertTrue(self.both_up())

    def test_a_database_behind_tls(self):
        cfg.CONF.set_override('ovsdb_connection', 'ssl:192.0.2.1:6640',
                              group='ovs')
        self.assertIn('neither unix: nor tcp:', self.failed())
        self.assertEqual('running', self.state())

    def test_a_remote_of_its_own(self):
        """What the operator has set stays as it is."""
        self.assertEqual('', overlap.standing())
        mine = 'external_ids:ovn-remote-gw1="tcp:192.0.2.9:6642"'
        self.here.vsctl('set', 'Open_vSwitch', '.', mine)
        self.assertIn('ovn-remote-gw1 is set', self.failed())
        self.assertIn('ovn-remote-gw1 is set', overlap.standing())
        self.assertEqual('running', self.state())
        self.assertIn('ovn-remote-gw1="tcp:192.0.2.9:6642"',
                      self.external_ids())

    def test_a_remote_that_cannot_be_said_otherwise(self):
        self.here.vsctl('set', 'Open_vSwitch', '.',
                        'external_ids:ovn-remote="unix:sb.sock"')
        self.assertIn("'unix:sb.sock'", self.failed())
        self.assertEqual(('running', ''), (self.state(), self.mark()))

    def test_versions_of_ovn(self):
        """An old one is left alone; of one to come it is said."""
        self.controller.kill()
        self.controller.wait()
        with self.saying('ovn-controller 22.12.1\nOpen vSwitch Library'):
            self.assertIn('OVN 22.12', self.failed())
            self.assertIn('22.12; it needs OVN 23.03', overlap.standing())
            self.assertEqual('', self.mark())
        with self.saying('ovn-controller 31.09.0\nOpen vSwitch Library'):
            self.assertIn('not tried with OVN 31.09', overlap.standing())
        with self.saying('something else'):
            self.assertIn('says no version', overlap.standing())

    def saying(self, version):
        """Somebody in the place of ovn-controller, of another version."""
        return self.answering({'version': lambda: version,
                               'debug/status': lambda: 'running\n'})

    @contextlib.contextmanager
    def answering(self, answers):
        """Somebody in the place of ovn-controller.

        :param answers: dict of a command to a function that gives the
            answer, None to refuse it
        """
        opened = self.listening('ovn-controller.1.ctl')

        def serve():
            # Until somebody connects and says nothing.
            while answer():
                pass

        def answer():
            with opened.accept()[0] as client:
                asked = client.recv(65536)
                if asked:
                    asked = json.loads(asked)
                    result = answers[asked['method']]()
                    client.sendall(json.dumps({
                        'id': asked['id'], 'result': result,
                        'error': 'refused' if result is None else None,
                    }).encode())
                return asked

        opened.settimeout(None)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            with socket.socket(socket.AF_UNIX) as last:
                last.connect(opened.getsockname())
            thread.join()
            os.unlink(opened.getsockname())
