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

"""The server's side of a client whose socket the end of the agent closes."""

import socket

from oslotest import base
from ovs import jsonrpc

from ovn_network_agent.control import protocol


class ClosedTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        here, there = socket.socketpair()
        self.addCleanup(there.close)
        self.client = protocol.Client(here, 5.0)
        self.client.close()

    def test_no_request_comes(self):
        self.assertRaises(protocol.Broken, next, self.client.requests())

    def test_no_answer_can_be_given(self):
        request = jsonrpc.Message.create_request('status', [])
        self.assertRaises(protocol.Broken, self.client.answer, request, 'ok')
