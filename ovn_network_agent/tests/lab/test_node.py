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
