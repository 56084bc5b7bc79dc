# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What ovn-network-agent-ctl prints, and its exit status."""

import os
import re
import signal
import subprocess

from ovn_network_agent import ownership
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb


class CtlTest(base.CtlTestCase):
    """What ovn-network-agent-ctl prints and ends with."""

    def setUp(self):
        super().setUp()
        self.uuid = self.cloud.add_router('r1', chassis=base.HERE)

    def test_done_and_refused(self):
        """A start takes long, so this is one test."""
        self.ready('lrp-r1')
        self._status_at_a_terminal()
        self._socket_from_the_configuration()
        self.assertIn('written', self.ends(0, self.ctl('drain')).stdout)
        self.assertIn('gateway of r1 (198.51.100.1/24): Gateway_Chassis '
                      'lrp-r1', self.ends(0, self.ctl(
                          'status', '--verbose')).stdout)
        self._wait_in_vain()
        self.ends(0, self.ctl('undrain'))
        refused = self.ends(1, self.ctl('drain', '--router', 'r2'))
        self.assertEqual('', refused.stdout)
        self.assertIn('no router "r2"', refused.stderr)

    def _status_at_a_terminal(self):
        plain = ''

        def complete():
            nonlocal plain
            plain = self.ends(0, self.ctl('status')).stdout
            return re.match(r'gw1\S*  READY +\S+  up \d', plain)
        waiting.eventually(complete, lambda: plain)
        self.assertNotIn('\x1b', plain)
        self.assertNotIn('last passes', plain)
        started = self.begun('status', '--watch', '0.1')
        heads = 0
        while heads < 2:
            line = started.stdout.readline()
            self.assertTrue(line)
            heads += line.endswith('Z\n') and line.startswith('20')

    def _socket_from_the_configuration(self):
        path = os.path.join(self.directory, 'agent.conf')

        def status(value, **env):
            with open(path, 'w') as opened:
                opened.write(f'[DEFAULT]\ncontrol_socket = {value}\n')
            return self._of_file(path, {**os.environ, **env})
        self.ends(0, status('/nowhere',
                            OS_DEFAULT__CONTROL_SOCKET=self.socket))
        self.ends(0, status(self.socket))
        self.assertIn('is empty', self.ends(2, status('')).stderr)
        self.assertIn('not an absolute path',
                      self.ends(2, status('here')).stderr)
        os.unlink(path)
        self.assertIn(path, self.ends(2, self._of_file(path)).stderr)

    def _of_file(self, path, env=None):
        return subprocess.run(
            self.ctl_argv('--config-file', path, 'status'), text=True,
            capture_output=True, timeout=base.LIMIT, env=env)

    def _wait_in_vain(self):
        self.eventually(lambda: self.status()['drains'], 'seen')
        ended = self.ends(3, self.ctl('drain', '--wait', '--timeout', '1'))
        self.assertIn('0 of 1 handed over; r1 (198.51.100.1/24): gateway '
                      'port is here, priority 2 is', ended.stderr)
        started = self.waiting('drain', '--wait')
        started.send_signal(signal.SIGINT)
        error = started.communicate(timeout=base.LIMIT)[1]
        self.assertEqual(1, started.returncode, error)
        self.assertNotIn('Traceback', error)
        # What was asked for stays.
        self.assertEqual('all', self.wished())

    def test_usage(self):
        for argv in ((), ('nonsense',), ('drain', '--nonsense'),
                     ('drain', '--timeout', 'soon'),
                     ('drain', '--timeout', '-1'), ('undrain', '--force')):
            self.ends(2, self.ctl(*argv))
        helped = self.ends(0, self.ctl('--help'))
        self.assertIn('exit status', helped.stdout)

    def test_a_reader_that_has_gone(self):
        reads, writes = os.pipe()
        os.close(reads)
        with open(writes, 'w') as pipe:
            for argv in (['doctor', '--list'], ['report', '-']):
                ended = subprocess.run(
                    self.ctl_argv('--socket', self.socket, *argv), text=True,
                    stdout=pipe, stderr=subprocess.PIPE, timeout=base.LIMIT)
                self.assertEqual(128 + signal.SIGPIPE, ended.returncode,
                                 argv)
                said = [line for line in ended.stderr.splitlines()
                        if 'no agent answers' not in line]
                self.assertEqual([], said)

    def test_nobody_answers(self):
        ended = self.ends(4, self.ctl('status'))
        self.assertIn(self.socket, ended.stderr)
        self.assertIn('start the agent', ended.stderr)

    def test_the_proof_is_shown(self):
        self.cloud.move('lrp-r1', base.THERE)
        self.cloud.add_static_route('r1', external_ids={
            ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
            ownership.EXT_ID_CHASSIS: cloud.OTHER_HOSTNAME,
            ownership.EXT_ID_ADVERTISED: cloud.OTHER_HOSTNAME})
        self.ready('lrp-r1')
        router, = self.status()['routers']
        self.assertEqual(
            (self.uuid, 'neutron-r1', 'r1', cloud.OTHER_HOSTNAME,
             cloud.OTHER_HOSTNAME), tuple(router[key] for key in (
                 'uuid', 'name', 'neutron_name', 'routed_by',
                 'advertised_by')))

    def test_wait_over_a_restart_of_the_agent(self):
        agent = self.ready('lrp-r1', cleanup_on_shutdown=False)
        started = self.waiting('drain', '--wait')
        self.stop(agent)
        agent.close()
        while 'no agent answers' not in (line := started.stdout.readline()):
            self.assertTrue(line)
        self.priority('lrp-r1', base.HERE, 0)
        self.cloud.move('lrp-r1', base.THERE)
        self.ready('lrp-r1')
        rest = started.communicate(timeout=base.LIMIT)[0]
        self.assertEqual(0, started.returncode, rest)

    def test_status_until_the_end(self):
        # Also while an orderly stop waits for something (trap T72).
        agent = self.ready('lrp-r1', shutdown_timeout=60)
        # There has to be something that it waits for.
        self.eventually(
            lambda: self.nb.rows('Logical_Router_Static_Route'), 'a route')
        self.nb.pause()
        try:
            agent.stop()
            waiting.lasts(lambda: self.still_stops(agent), 1)
            # A question to the loop is refused at once.
            for command in 'fips', 'plan', 'resync':
                self.eventually(lambda command=command: self.refuses(command),
                                'the clean-up')
            # What takes nothing from the loop is answered.
            self.assertTrue(self.status()['backends'])
        finally:
            self.nb.resume()
        self.assertTrue(agent.wait(ovsdb.DEADLINE))
        self.assertEqual('stopped', self.status()['phase'])

    def still_stops(self, agent):
        """An agent answers, and has not ended."""
        self.assertEqual(cloud.CHASSIS, self.status()['chassis'])
        self.assertFalse(agent.wait(0))

    def refuses(self, command):
        """Whether a command is refused because the agent stops."""
        ended = self.ctl(command)
        return ended.returncode == 1 and re.search(
            'the agent .*stop', ended.stderr)
