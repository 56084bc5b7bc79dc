# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the supervisor hears."""

import os
import socket

import fixtures
from oslotest import base

from ovn_network_agent.runtime.process import status


class NotifyTest(base.BaseTestCase):

    def supervisor(self, address):
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listening.close)
        listening.bind(address.replace('@', '\0', 1))
        listening.settimeout(5)
        self.useFixture(fixtures.EnvironmentVariable('NOTIFY_SOCKET',
                                                     address))
        return listening

    def test_a_socket_in_the_file_system_and_an_abstract_one(self):
        folder = self.useFixture(fixtures.TempDir()).path
        for address in (os.path.join(folder, 'notify'),
                        f'@ovn-network-agent-test-{os.getpid()}'):
            listening = self.supervisor(address)
            status.notify(READY=1, STATUS='in sync')
            self.assertEqual(b'READY=1\nSTATUS=in sync',
                             listening.recv(1000))

    def test_a_name_of_ovn_is_no_message_of_its_own(self):
        folder = self.useFixture(fixtures.TempDir()).path
        listening = self.supervisor(os.path.join(folder, 'notify'))
        status.notify(READY=1, STATUS='degraded: router r\nWATCHDOG=trigger'
                                      '\r\0\u2028\x1b[2J')
        self.assertEqual(
            b'READY=1\nSTATUS=degraded: router r?WATCHDOG=trigger????[2J',
            listening.recv(1000))

    def test_nobody_listens(self):
        self.useFixture(fixtures.EnvironmentVariable('NOTIFY_SOCKET',
                                                     '/nowhere/notify'))
        status.notify(READY=1)
        self.useFixture(fixtures.EnvironmentVariable('NOTIFY_SOCKET'))
        status.notify(READY=1)
