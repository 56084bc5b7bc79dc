# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A real agent on a node of its own, and who asks it for something."""

import json
import os
import signal

from ovn_network_agent import ownership
from ovn_network_agent import version
from ovn_network_agent.control.socket import server
from ovn_network_agent.tests.functional.cmd import quiet
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

CONFIG = quiet.CONFIG


class ProgramTest(quiet.QuietTestCase):

    def spawn(self, text=CONFIG, **default):
        """A real agent that has seen OVN."""
        self.path = self.configured(text, **default)
        agent = self.start(self.path)
        self.eventually(self.seen, self.log)
        return agent

    def kill(self, agent):
        agent.kill()
        agent.wait()

    def test_appctl(self):
        self.spawn()
        listed = self.appctl('list-commands')
        self.assertEqual(0, listed.returncode, listed.stderr)
        for name in ('drain', 'undrain', 'status', 'version'):
            self.assertIn(name, listed.stdout)
        self.assertEqual(f'ovn-network-agent {version.STRING}',
                         self.appctl('version').stdout.strip())
        said = self.appctl('status', '--verbose').stdout
        for words in ('gw1.example.org', 'running', 'database nb: connected',
                      'drains: none', 'Gateway_Chassis lrp-r1',
                      'port 198.51.100.1/24: on gw2.example.org',
                      'candidate gw1.example.org: priority 2'):
            self.assertIn(words, said)
        self.assertEqual(
            cloud.CHASSIS,
            json.loads(self.appctl('status', '--json').stdout)['chassis'])
        done = self.appctl('drain', '--router', 'r1')
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue(self.wished())
        failed = self.appctl('drain', '--router', 'ürgs')
        self.assertNotEqual(0, failed.returncode)
        self.assertIn('no router "ürgs"', failed.stderr)

    def test_a_drain_outlives_the_agent(self):
        agent = self.spawn()
        self.assertEqual(0, self.ctl('drain').returncode)
        self.assertEqual('all', self.wished())
        self.kill(agent)
        # The socket of a killed agent is still there, and is taken over.
        self.assertTrue(os.path.exists(self.socket))
        again = self.spawn()
        self.assertEqual(['all'], self.status()['drains'])
        self.assertEqual('all', self.group('lrp-r1')['wish'])
        again.terminate()
        self.assertEqual(0, again.wait(base.LIMIT), self.log())
        self.assertFalse(os.path.exists(self.socket))
        self.spawn()
        self.assertEqual('all', self.group('lrp-r1')['wish'])
        self.assertEqual(0, self.ctl('undrain').returncode)
        self.assertIsNone(self.wished())

    def draining(self, number, *marks):
        """A real agent that has r1, and has been asked to stop.

        :param marks: of the other candidate, which is at 0 with them
        """
        if marks:
            self.nb.transact(ovsdb.update(
                'Gateway_Chassis', {'name': 'lrp-r1_' + base.THERE},
                priority=0, external_ids=ovsdb.ovsdb_dict(dict(zip(
                    (ownership.EXT_ID_DRAINED, ownership.EXT_ID_EARLIER),
                    marks)))))
        self.cloud.move('lrp-r1', base.HERE)
        agent = self.spawn(CONFIG.replace('drain_on_shutdown = false', ''))
        self.eventually(lambda: self.group('lrp-r1')['ports'][0]['here'],
                        self.log)
        agent.send_signal(number)
        return agent

    def own(self):
        """(priority, why it was lowered) of this chassis in NB."""
        row, = self.nb.rows('Gateway_Chassis', where=ovsdb.clauses(
            {'name': 'lrp-r1_' + base.HERE}))
        return row['priority'], dict(row['external_ids'][1]).get(
            ownership.EXT_ID_DRAINED, '')

    def test_either_signal_drains(self):
        # Row DRN-01: first lowered, then the port leaves, then it ends.
        for number in signal.SIGTERM, signal.SIGINT:
            agent = self.draining(number)
            self.eventually(lambda: self.own() == (0, 'shutdown'), self.log)
            self.assertIsNone(agent.poll())
            self.cloud.move('lrp-r1', base.THERE)
            self.assertEqual(0, agent.wait(base.LIMIT), self.log())
            self.assertIn('Drain: completed', self.log())
            self.priority('lrp-r1', base.HERE, 2)

    def test_nobody_takes_over(self):
        # Row DRN-24: it waits, says for whom, and ends with 4.
        agent = self.draining(signal.SIGTERM, 'shutdown', '1')
        waits = f'the agent of {base.THERE} to be back, for lrp-r1'
        self.eventually(lambda: self.status()['waiting'] == [waits],
                        self.log)
        self.assertIn('stopping, and waiting for: ' + waits,
                      self.ctl('status', '--verbose').stdout)
        self.logged('Drain: waiting up to 60 s for', waits)
        self.assertEqual((2, ''), self.own())
        agent.terminate()
        self.assertEqual(4, agent.wait(base.LIMIT), self.log())
        self.assertIn('Drain: timeout', self.log())
        self.assertIn('not every gateway was taken over', self.log())

    def test_a_socket_that_another_agent_has(self):
        """One of another network namespace, with the same /run."""
        first = server.Listener(self.socket)
        self.addCleanup(first.close)
        self.start(self.config(
            CONFIG, self.remotes(), control_socket=self.socket,
            bridge_dev=cloud.BRIDGE, drivers='gateway_drain',
            cleanup_on_shutdown=False))
        self.eventually(lambda: 'another agent listens there' in self.log(),
                        self.log)
        self.assertTrue(first.reachable)
        # The agent works all the same, but says so.
        self.logged('Degraded', 'control socket ' + self.socket)
        self.logged('First complete pass done')
