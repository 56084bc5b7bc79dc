# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An agent with a control socket, and the programs that talk to it."""

import json
import os
import subprocess
import sys

import fixtures

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.control.socket import client
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services

HERE = cloud.CHASSIS
THERE = cloud.OTHER
DRIVERS = ['fip_route', 'veth_leak', 'gateway_drain']
LIMIT = 60


class ControlTestCase(services.ServiceTestCase):
    """The service in this process; kernel and FRR are a world.

    Nothing here lowers a priority: what comes of a wish is for other tests.
    """

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path
        self.socket = os.path.join(self.directory, 'control.ctl')

    def agent(self, **options):
        """The service, with its socket."""
        return super().agent(**{'control_socket': self.socket,
                                'drivers': DRIVERS,
                                'gateway_drain__drain_on_shutdown': False,
                                **options})

    def ready(self, *groups, **options):
        """The service, which has seen these gateway groups."""
        made = self.agent(**options)
        self.eventually(lambda: self.seen() == set(groups),
                        'the agent has seen OVN')
        return made

    def seen(self):
        """Names of the groups it has seen, a set; None: it has seen nothing.
        """
        if self.phase() in (None, model.Phase.RESTORING.value):
            return None
        return {group['name'] for group in self.status()['groups']}

    def phase(self):
        """The phase of the agent; None: no answer."""
        try:
            return self.status()['phase']
        except client.NoAgent:
            return None

    def call(self, command, *argv):
        return client.call(self.socket, command, list(argv), LIMIT)

    def status(self):
        return json.loads(self.call('status', '--json'))

    def refused(self, command, *argv):
        """Why a command is refused."""
        error = self.assertRaises(client.Refused, self.call, command, *argv)
        return str(error)

    def group(self, name):
        return next(group for group in self.status()['groups']
                    if group['name'] == name)

    def wished(self):
        """What is in the database, None when there is no wish."""
        row, = self.ovs.rows('Open_vSwitch', 'external_ids')
        return dict(row['external_ids'][1]).get(ownership.EXT_ID_DRAIN)

    def priority(self, lrp, chassis, priority):
        """Set the priority of a candidate."""
        self.nb.transact(ovsdb.update(
            'Gateway_Chassis', {'name': f'{lrp}_{chassis}'},
            priority=priority))

    def appctl(self, *argv):
        """The program of Open vSwitch; gives a CompletedProcess."""
        return subprocess.run(
            ['ovs-appctl', '-t', self.socket, *argv], text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)

    def ctl_argv(self, *argv):
        return [sys.executable, '-W', 'ignore', '-m',
                'ovn_network_agent.cmd.ctl', *argv]

    def ctl(self, *argv, **kwargs):
        """Our program; gives a CompletedProcess."""
        return subprocess.run(
            self.ctl_argv('--socket', self.socket, *argv), text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT,
            **kwargs)


class CtlTestCase(ControlTestCase):
    """With what ovn-network-agent-ctl ends with."""

    def ends(self, status, ended):
        self.assertEqual(status, ended.returncode,
                         ended.stdout + ended.stderr)
        self.assertNotIn('Traceback', ended.stderr)
        return ended

    def begun(self, *argv):
        """Our program, which goes on; ended with the test.

        :returns: subprocess.Popen with pipes for the output
        """
        started = subprocess.Popen(
            self.ctl_argv('--socket', self.socket, *argv), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        self.addCleanup(started.stdout.close)
        self.addCleanup(started.stderr.close)
        return started

    def waiting(self, *argv):
        """The program, once it has said what it waits for."""
        started = self.begun(*argv)
        while 'waiting for ' not in (line := started.stdout.readline()):
            if not line:
                self.fail(started.stderr.read())
        return started
