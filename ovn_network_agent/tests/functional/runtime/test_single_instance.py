# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Two agents would remove each other's work."""

import os

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.cmd import node

BRIDGE = node.BRIDGE
PLAIN = node.PLAIN


class SecondTest(node.NodeTestCase):
    """Two agents would remove each other's work."""

    def setUp(self):
        super().setUp()
        self.sh(BRIDGE)
        self.first = self.start(self.configured('first'))
        waiting.eventually(self.addresses, self.log)

    def configured(self, name):
        """A configuration with a control socket of its own."""
        config = self.config(
            PLAIN + '[ovn]\novsdb_connection_timeout = 1\n'
            'ovn_nb_remote = tcp:127.0.0.1:1\n'
            'ovn_sb_remote = tcp:127.0.0.1:1\n', remotes=False,
            control_socket=os.path.join(self.directory, name))
        path = f'{config}.{name}'
        os.rename(config, path)
        return path

    def second(self, *argv, prefix=()):
        return self.run_agent(
            '--config-file', self.configured('second'), *argv,
            inside=lambda *words: self.inside(*prefix, *words))

    def state(self):
        return self.sh('ip -d address; ip rule; ip route show table all')

    def test_the_second_ends_and_names_the_first(self):
        """As a service and as a container, that see other processes."""
        before = self.state()
        container = ('unshare', '--pid', '--fork', '--mount-proc')
        for prefix, seen in (
                ((), f'process {self.first.pid} here'),
                (container, 'in another container')):
            ended = self.second(prefix=prefix)
            self.assertEqual(1, ended.returncode, ended.stderr)
            said, = [line for line in ended.stderr.splitlines()
                     if line.startswith('ovn-network-agent: environment: ')]
            for words in ('another agent works', seen,
                          f'process {self.first.pid}',
                          os.path.join(self.directory, 'first')):
                self.assertIn(words, said)
            self.assertNotIn('Traceback', ended.stderr)
            self.assertEqual(before, self.state())
        self.assertIsNone(self.first.poll())

        self._a_plan_may_be_made_beside_it()
        self._one_that_was_killed_is_in_nobodys_way()

    def _a_plan_may_be_made_beside_it(self):
        ended = self.second('--dry-run')
        self.assertNotIn('another agent', ended.stderr)
        # It got as far as OVN, which is not there.
        self.assertIn('is not loaded yet', ended.stderr)

    def _one_that_was_killed_is_in_nobodys_way(self):
        self.first.kill()
        self.first.wait()
        # Its privileged daemons may still be there.
        again = self.start(self.configured('again'))
        waiting.eventually(
            lambda: 'trying for ever' in self.log() or again.poll(),
            self.log)
        self.assertIsNone(again.poll(), self.log())
