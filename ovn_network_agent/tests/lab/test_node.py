# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The life of a node; nothing of the cloud is needed."""

import concurrent.futures
import os

import testtools

from lab import node as nodes
from ovn_network_agent.tests import needs

# As many as start the programs of a cloud, and as many as these are.
THREADS, PROGRAMS = 8, 60


@needs.needs(os.environ.get('LAB_MACHINE'),
             'makes hosts, and so needs the machine of the lab')
class NodeTest(testtools.TestCase):

    def test_what_several_threads_started_dies_with_it(self):
        """A program that nobody reaps keeps the node from dying."""
        node = nodes.Node('host')
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            # Somebody holds them, as a node holds its services.
            started = list(pool.map(
                lambda _number: node.popen(['sleep', '600']),
                range(PROGRAMS)))
        node.kill()
        self.assertEqual([-9] * PROGRAMS,
                         [process.returncode for process in started])
