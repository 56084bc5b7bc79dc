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

import os
import shutil
import signal
import subprocess

import fixtures
from oslo_config import cfg
from oslotest import base as oslotest

from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import overlap as backend
from ovn_network_agent.conf import ovs as options
from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.privileged import overlap
from ovn_network_agent import resources
from ovn_network_agent.tests.functional.openflow import base as openflow
from ovn_network_agent.tests.functional.ovs import base
from ovn_network_agent.tests import needs
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
                'bfd:%s=%s' % item for item in BFD.items()))
        base.eventually(self.both_up, 'BFD is up')
        self._start_controller()
        self._configure()
        self.local = base.LocalDatabase(self.here.remote)
        self.addCleanup(self.local.stop)
        self.backend = self.new_backend()

    def _start_controller(self):
        self.controller = subprocess.Popen(
            ['ovn-controller', '--no-chdir', self.here.remote],
            stderr=subprocess.DEVNULL,
            env={**os.environ, 'OVN_RUNDIR': self.here.rundir})
        self.addCleanup(self.controller.wait)
        self.addCleanup(self.controller.kill)
        base.eventually(lambda: self.state() == 'running', 'it answers')

    def _configure(self):
        cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
        for name, value in (('ovn_rundir', self.here.rundir),
                            ('ovsdb_connection', self.here.remote)):
            cfg.CONF.set_override(name, value, group='ovs')
            self.addCleanup(cfg.CONF.clear_override, name, group='ovs')
        privileged.ovs.set_client_mode(False)
        self.addCleanup(privileged.ovs.set_client_mode, True)
        self.addCleanup(self._all_ended)

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

    def state(self):
        """What ovn-controller says of itself, '' when nothing."""
        done = subprocess.run(
            ['ovn-appctl', '-t', os.path.join(
                self.here.rundir, 'ovn-controller.%d.ctl' %
                self.controller.pid), 'debug/status'],
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
        base.eventually(lambda: self.bfd(self.there).get('state') == 'down',
                        'to the other one this gateway is dead')

    def wait_ended(self):
        base.eventually(lambda: not self.mark(), 'it ends')
        self.assertEqual('running', self.state())
        self.assertEqual(BFD, self.bfd(self.here, 'bfd'))

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
        base.eventually(lambda: self.backend.read(frozenset()) == [WANTED],
                        'the mark is seen')
        self.end()
        self.end()
        self.wait_ended()
        self.assertTrue(self.both_up())
        base.eventually(lambda: self.backend.read(frozenset()) == [],
                        'the mark is gone')
        self.begin()
        self.assert_begun()

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
        base.eventually(lambda: after.read(frozenset()) == [WANTED],
                        'it is known')
        self.end()
        base.eventually(lambda: not self.mark(), 'it ends')
        self.assertEqual('running', self.state())

    # -- where it cannot be -----------------------------------------------

    def failed(self):
        failures = self.backend.apply(backends.Delta(create=(WANTED,)))
        self.assertEqual([], overlap._keepers)
        return failures[WANTED.ref]

    def test_somebody_else_has_paused_it(self):
        subprocess.run(['ovn-appctl', '-t', os.path.join(
            self.here.rundir, 'ovn-controller.%d.ctl' %
            self.controller.pid), 'debug/pause'], check=True)
        self.assertIn('paused already', self.failed())
        self.assertEqual(('paused', ''), (self.state(), self.mark()))

    def test_no_such_tunnel(self):
        self.here.vsctl('set', 'interface', base.OVN, 'bfd:enable=false')
        self.assertIn('no tunnel of OVN to 192.0.2.2', self.failed())
        base.eventually(lambda: not self.mark(), 'it ends')
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
