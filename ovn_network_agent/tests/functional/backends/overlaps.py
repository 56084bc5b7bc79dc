# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Two gateways whose tunnel has BFD, and an ovn-controller to pause."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import threading

from oslo_config import cfg
from oslotest import base as oslotest

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import switch_ports as backend
from ovn_network_agent.conf.options import ovs as options
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
class OverlapTestCase(oslotest.BaseTestCase):
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
