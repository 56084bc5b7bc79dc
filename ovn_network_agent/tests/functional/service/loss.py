# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A service whose databases can be taken away, and its supervisor."""

import os
import socket

import fixtures

from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.service import base as services

HERE = cloud.CHASSIS
# Nothing here may be found out by the pass that comes anyhow.
NEVER = 3600
PROBE = 1000


class Supervisor:
    """What systemd hears: a socket for the notifications."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self._socket.setblocking(False)
        self.status = None

    def hears(self):
        """The last STATUS so far."""
        try:
            while True:
                for line in self._socket.recv(4096).decode().splitlines():
                    name, _equals, value = line.partition('=')
                    if name == 'STATUS':
                        self.status = value
        except BlockingIOError:
            return self.status

    def close(self):
        self._socket.close()


class LossTestCase(services.ServiceTestCase):

    def setUp(self):
        super().setUp()
        path = os.path.join(self.useFixture(fixtures.TempDir()).path, 's')
        self.useFixture(fixtures.EnvironmentVariable('NOTIFY_SOCKET', path))
        self.supervisor = Supervisor(path)
        self.addCleanup(self.supervisor.close)
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')

    def running(self, **options):
        agent = self.agent(**{'reconcile_interval': NEVER,
                              'ovn__ovsdb_probe_interval': PROBE, **options})
        self.eventually(lambda: self.announced() and self.routes() and
                        self.nb.rows('Static_MAC_Binding') and
                        self.supervisor.hears() == 'in sync', 'running')
        return agent

    def lose_both(self, agent):
        """End the servers of NB and SB, until the agent has noticed."""
        for server in (self.nb, self.sb):
            server.kill()
        self.degraded(agent, 'OVN_Northbound', 'OVN_Southbound')

    def degraded(self, agent, *parts):
        """The log's reasons and the supervisor's text have these parts."""
        def said():
            return all(part in str(agent.status.reasons) and
                       part in (self.supervisor.hears() or '')
                       for part in parts)
        self.eventually(said, lambda: (agent.status.reasons,
                                       self.supervisor.status))

    def well(self, agent):
        self.eventually(lambda: agent.status.reasons == () and
                        self.supervisor.hears() == 'in sync',
                        lambda: agent.status.reasons)
