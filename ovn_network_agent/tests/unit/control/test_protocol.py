# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The server's side of a client whose socket the end of the agent closes."""

import socket

from oslotest import base
from ovs import jsonrpc

from ovn_network_agent.control.socket import protocol


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
