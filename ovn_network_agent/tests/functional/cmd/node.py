# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A node for the real program: a network namespace."""

import json
import os

from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.cmd import base

PLAIN = '[frr]\nvrf_name =\nfrr_prefix_list =\n'
BRIDGE = 'ip link add br-ex type veth peer name br-ex-peer'


@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class NodeTestCase(base.ProgramTestCase):
    """A node is a namespace; a process holds it."""

    def setUp(self):
        super().setUp()
        self.node = namespaces.hold(self)
        self.write_vtysh()
        self.sh('ip link set lo up')

    def inside(self, *argv):
        """A command that runs in the namespace."""
        return self.node.inside(*argv)

    def sh(self, script):
        """Run a script on the node; gives its output."""
        return self.node.sh(script)

    def start(self, config, *prefix):
        """Start the program on the node; ended with the test."""
        return self.spawned(
            self.inside(*prefix, *self.command('--config-file', config)),
            os.path.join(self.directory, 'log'))

    def log(self):
        with open(os.path.join(self.directory, 'log')) as opened:
            return opened.read()

    def logged(self, *words):
        """Wait for a line with these words."""
        waiting.eventually(lambda: any(
            all(word in line for word in words)
            for line in self.log().splitlines()), self.log)

    def addresses(self):
        return [address['local'] for link in json.loads(
            self.sh('ip -j -4 address show dev br-ex'))
            for address in link['addr_info']]
