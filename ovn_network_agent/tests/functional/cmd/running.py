# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The real program in a network namespace of its own, on real databases."""

import json
import os
import signal

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.cmd import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

# A device br-ex is all that the programs of these tests need of a node.
INSIDE = ('unshare', '-n', 'sh', '-ec',
          'ip link set lo up; '
          'ip link add br-ex type veth peer name br-ex-peer; '
          'exec "$@"', 'sh')


class RunningTestCase(base.ProgramTestCase):
    """With a cloud, which the tests of a class fill with other routers."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        servers = {}
        for name in ('nb', 'sb', 'ovs'):
            servers[name] = ovsdb.Server(name)
            cls.addClassCleanup(servers[name].close)
            servers[name].start()
        cls.cloud = cloud.Cloud(**servers)
        cls.cloud.fill()
        cls.remotes = {name: server.remote
                       for name, server in servers.items()}

    def inside(self, *argv):
        """A command inside of a namespace of its own."""
        return [*INSIDE, *argv]

    def start(self, config):
        """Start the agent.

        :param config: path of a configuration
        """
        self.agent = self.spawned(
            self.inside(*self.command('--config-file', config)),
            os.path.join(self.directory, 'log'))

    def stop(self):
        """Ask for the orderly stop, and wait for its end."""
        self.agent.send_signal(signal.SIGTERM)
        # There is no FRR whose routes it could have checked: incomplete.
        self.assertEqual(3, self.agent.wait(base.LIMIT), self.log())
        self.assertIn('Clean-up is not complete: ', self.log())

    def log(self):
        with open(os.path.join(self.directory, 'log')) as log:
            return log.read()

    def eventually(self, condition):
        """Wait for a condition, as long as the agent lives."""
        def met():
            if self.agent.poll() is not None:
                self.fail(self.log())
            return condition()
        return waiting.eventually(met, self.log)

    def status(self, socket):
        """What ovn-network-agent-ctl says, a dict; {} without an answer."""
        ended = self.run_program('ctl', '--socket', socket, 'status',
                                 '--json')
        return json.loads(ended.stdout) if ended.returncode == 0 else {}
