# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A new configuration while the service runs."""

import os
import threading

import fixtures

from ovn_network_agent import resources
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.unit import world as worlds

HERE = services.HERE


class FileTestCase(services.ServiceTestCase):
    """A service with a file of its own."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.path = os.path.join(
            self.useFixture(fixtures.TempDir()).path, 'agent.conf')

    def write(self, text):
        with open(self.path, 'w') as opened:
            nb, sb, ovs = self.remotes().values()
            opened.write(
                f'[DEFAULT]\nbridge_dev = {cloud.BRIDGE}\n{text}'
                '[frr]\nvrf_name =\n'
                f'[ovn]\novn_nb_remote = {nb}\novn_sb_remote = {sb}\n'
                'transaction_timeout = 2\n'
                f'[ovs]\novsdb_connection = {ovs}\n')

    def running(self, text=''):
        """The service, announcing, on a file with this text."""
        self.write(text)
        conf = configs.loaded('--config-file', self.path)
        self.gate = gate = threading.Event()
        self.held = held = threading.Event()
        gate.set()

        class Gated(worlds.WorldBackend):
            def read(self, known):
                found = super().read(known)
                if not gate.is_set():
                    held.set()
                gate.wait(10)
                return found

        agent = self.agent(conf=conf, backend_class=Gated)
        self.eventually(lambda: self.announced() and self.routes() and
                        agent.status.reasons == (), 'there')
        return agent


class ReloadTest(FileTestCase):
    """SIGHUP."""

    def test_the_announce_method_changes_while_it_runs(self):
        agent = self.running()
        del self.world.journal[:]
        self.write('[fip_route]\nannounce_method = kernel\n')
        agent.reset()
        self.eventually(lambda: self.world.found(resources.AnnouncedRoute) and
                        not self.announced(), 'the other method')
        self.assertEqual(
            [('create', 'announced_route'), ('delete', 'announcement')],
            [(verb, ref.kind) for verb, ref in self.world.journal])

    def test_what_comes_right_before_the_stop_counts(self):
        agent = self.running()
        before = self.world.values()
        self.write('cleanup_on_shutdown = false\n')
        # It is in the middle of a pass, be it an earlier one.
        self.gate.clear()
        self.addCleanup(self.gate.set)
        agent.trigger.fire('test', stale=('rule',))
        self.eventually(self.held.is_set, 'a pass')
        agent.reset()
        agent.stop()
        self.gate.set()
        self.stop(agent)
        self.assertTrue(agent.complete)
        self.assertEqual(before, self.world.values())

    def test_the_time_limit_of_the_stop(self):
        """An hour at the start, two seconds since the reload."""
        text = ('shutdown_timeout = {}\n'
                '[gateway_drain]\ndrain_on_shutdown = false\n')
        agent = self.running(text.format(3600))
        self.nb.pause()
        self.addCleanup(self.nb.resume)
        self.write(text.format(2))
        agent.reset()
        self.stop(agent)
        # Nobody has taken the rows in NB away.
        self.assertFalse(agent.complete)
