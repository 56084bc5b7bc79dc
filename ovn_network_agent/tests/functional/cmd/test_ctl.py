# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What ovn-network-agent-ctl prints, and its exit status."""

import json
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
        self.ready('lrp-r1')
        self.assertIn('written', self.ends(0, self.ctl('drain')).stdout)
        self.assertIn('gateway of r1 (198.51.100.1/24): Gateway_Chassis '
                      'lrp-r1', self.ends(0, self.ctl(
                          'status', '--verbose')).stdout)
        json.loads(self.ends(0, self.ctl('status', '--json')).stdout)
        self.ends(0, self.ctl('undrain'))
        refused = self.ends(1, self.ctl('drain', '--router', 'r2'))
        self.assertEqual('', refused.stdout)
        self.assertIn('no router "r2"', refused.stderr)

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

    def test_status_at_a_terminal(self):
        self.ready('lrp-r1')
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

    def test_nobody_answers(self):
        ended = self.ends(4, self.ctl('status'))
        self.assertIn(self.socket, ended.stderr)
        self.assertIn('start the agent', ended.stderr)

    def test_socket_from_the_configuration(self):
        self.ready('lrp-r1')
        path = os.path.join(self.directory, 'agent.conf')

        def status(value, **env):
            with open(path, 'w') as opened:
                opened.write(f'[DEFAULT]\ncontrol_socket = {value}\n')
            return subprocess.run(
                self.ctl_argv('--config-file', path, 'status'), text=True,
                capture_output=True, timeout=base.LIMIT,
                env={**os.environ, **env})
        self.ends(0, status(self.socket))
        self.ends(0, status('/nowhere',
                            OS_DEFAULT__CONTROL_SOCKET=self.socket))
        self.assertIn('is empty', self.ends(2, status('')).stderr)
        self.assertIn('not an absolute path',
                      self.ends(2, status('here')).stderr)
        os.unlink(path)
        ended = subprocess.run(
            self.ctl_argv('--config-file', path, 'status'), text=True,
            capture_output=True, timeout=base.LIMIT)
        self.assertIn(path, self.ends(2, ended).stderr)

    def test_wait_for_a_drain(self):
        self.ready('lrp-r1')
        started = self.waiting('drain', '--wait')
        self.priority('lrp-r1', base.HERE, 0)
        expected = ('0 of 1 handed over; r1 (198.51.100.1/24): gateway port '
                    'is here\n')
        while not (line := started.stdout.readline()).endswith(expected):
            self.assertTrue(line)
        self.assertIsNone(started.poll())
        self.cloud.move('lrp-r1', base.THERE)
        rest = started.communicate(timeout=base.LIMIT)[0]
        self.assertEqual(0, started.returncode, rest)
        self.assertIn('drain: carried out, 1 of 1 handed over', rest)

    def test_wait_for_an_undrain(self):
        # As the agent has marked it.
        where = {'name': 'lrp-r1_' + base.HERE}
        self.nb.transact(ovsdb.update(
            'Gateway_Chassis', where, priority=0,
            external_ids=ovsdb.ovsdb_dict({
                ownership.EXT_ID_DRAINED: 'maintenance',
                ownership.EXT_ID_EARLIER: '2'})))
        self.cloud.move('lrp-r1', base.THERE)
        self.ready('lrp-r1')
        self.assertEqual('maintenance', self.group('lrp-r1')['drained'])
        started = self.waiting('undrain', '--wait')
        self.nb.transact(ovsdb.update(
            'Gateway_Chassis', where, priority=1,
            external_ids=ovsdb.ovsdb_dict({})))
        rest = started.communicate(timeout=base.LIMIT)[0]
        self.assertEqual(0, started.returncode, rest)

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

    def test_wait_in_vain(self):
        self.ready('lrp-r1')
        self.ends(0, self.ctl('drain'))
        self.eventually(lambda: self.status()['drains'], 'seen')
        ended = self.ends(3, self.ctl('drain', '--wait', '--timeout', '1'))
        self.assertIn('0 of 1 handed over; r1 (198.51.100.1/24): gateway '
                      'port is here, priority 2 is', ended.stderr)
        # What was asked for stays.
        self.assertEqual('all', self.wished())

    def test_wait_for_nothing(self):
        self.cloud.move('lrp-r1', base.THERE)
        self.priority('lrp-r1', base.HERE, 0)
        self.ready('lrp-r1')
        self.ends(0, self.ctl('drain', '--wait'))
        self.ends(0, self.ctl('drain', '--wait', '--router', 'r1'))
        self.ends(0, self.ctl('undrain', '--wait'))

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

    def test_interrupted(self):
        self.ready('lrp-r1')
        started = self.waiting('drain', '--wait')
        started.send_signal(signal.SIGINT)
        error = started.communicate(timeout=base.LIMIT)[1]
        self.assertEqual(1, started.returncode, error)
        self.assertNotIn('Traceback', error)

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
        finally:
            self.nb.resume()
        self.assertTrue(agent.wait(ovsdb.DEADLINE))
        self.assertEqual('stopped', self.status()['phase'])

    def still_stops(self, agent):
        """An agent answers, and has not ended."""
        self.assertEqual(cloud.CHASSIS, self.status()['chassis'])
        self.assertFalse(agent.wait(0))
