# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents that ask each other whether they work, with real databases.

The agents of a test are in one process.  The driver wants nothing, and the
backend has only the lock of the writer.
"""

import contextlib
import os
import socket
import threading
import time

import fixtures

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.conf.options import egress_ip as options
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.metrics import egress_probe
from ovn_network_agent.metrics import server
from ovn_network_agent.ovsdb import lock
from ovn_network_agent.runtime.process import status as watchdog
from ovn_network_agent.tests import http_get
from ovn_network_agent.tests import pki
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.metrics import base as metrics
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches import egress_question

PORT = 6643
THREADS = {'egress-probe', 'egress probes', 'watchdog'}
HERE, OTHER = cloud.CHASSIS, cloud.OTHER


class Driver(drivers.Driver):
    CONFIG_OPTS = options.OPTS

    def resources(self, subject, node):
        return ()


class Backend(backends.Backend):
    """The lock alone."""

    name = 'egress'
    kinds = ()

    def __init__(self, conf):
        super().__init__(conf)
        self.lock = lock.Lock('nb', ','.join(conf.ovn.ovn_nb_remote),
                              'ovn_network_agent_egress_ip', 60000)

    def read(self, known):
        return []

    def apply(self, delta):
        return {}

    def close(self):
        self.lock.close()


class ProbeTest(services.ServiceTestCase):

    drivers = {options.GROUP: Driver}
    real = {'egress': Backend}

    def setUp(self):
        super().setUp()
        # Loopback addresses of this process alone.
        self.hosts = [
            f'127.{each:d}.{os.getpid() >> 8 & 255:d}.{os.getpid() & 255:d}'
            for each in (83, 84)]
        self.here, self.other = self.hosts
        self.nb.transact(ovsdb.insert('NB_Global'))
        self.publish(HERE, OTHER)
        for chassis, address in ((HERE, self.here), (OTHER, self.other)):
            self.sb.transact(ovsdb.update(
                'Encap', {'chassis_name': chassis}, ip=address))
        self.tunnels(self.here)
        # The same work, more often.
        self.patch(egress_probe, 'INTERVAL', 0.1)
        self.patch(egress_probe, 'SILENCE', 1.0)

    def patch(self, module, name, value):
        before = getattr(module, name)
        setattr(module, name, value)
        self.addCleanup(setattr, module, name, before)

    def publish(self, *chassis):
        for each in chassis:
            self.cloud.say('NB_Global', {}, external_ids={
                ownership.EXT_ID_EGRESS_NETWORKS + each: '192.0.2.0/24'})

    def tunnels(self, *addresses):
        """Another ovn-encap-ip of this node."""
        self.ovs.transact(
            ovsdb.mutate('Open_vSwitch', {}, 'external_ids', 'delete',
                         ovsdb.ovsdb_set(['ovn-encap-ip'])),
            ovsdb.mutate('Open_vSwitch', {}, 'external_ids', 'insert',
                         ovsdb.ovsdb_dict(
                             {'ovn-encap-ip': ','.join(addresses)})))

    def agent(self, **values):
        return super().agent(drivers=[options.GROUP], **values)

    def said(self, host=None):
        """(status, line) of an agent."""
        return http_get.get(host or self.here, PORT, egress_question.PATH)

    def says(self, status, word, host=None, chassis=HERE):
        self.eventually(
            lambda: self.said(host) == (status, f'{word} {chassis}\n'),
            lambda: self.said(host))

    @contextlib.contextmanager
    def hanging(self, agent):
        """The loop does not go on; the other threads do."""
        begun, hangs = threading.Event(), threading.Event()

        def hang():
            begun.set()
            hangs.wait()
        asked = threading.Thread(target=agent._loop.questions.ask,
                                 args=(hang, 60))
        asked.start()
        try:
            self.assertTrue(begun.wait(ovsdb.DEADLINE))
            yield
        finally:
            hangs.set()
            asked.join()

    def another(self):
        """The listener of the other agent."""
        made = server.Server(
            f'{self.other}:{PORT:d}', {egress_question.PATH: lambda: (
                200, 'text/plain', egress_question.line('ready', OTHER))})
        made.start()
        self.addCleanup(made.stop)
        return made

    def writer(self, agent):
        """Have an agent write the rows."""
        found, = (each for each in agent._reconciler.backends.all
                  if each.name == 'egress')
        found.lock.ask(ovsdb.DEADLINE)
        self.eventually(lambda: found.lock.is_held, found.lock.state)
        return found.lock

    def probe(self, agent):
        found, = (each for each in agent._observers
                  if isinstance(each, egress_probe.EgressProbe))
        return found

    def dead(self, agent):
        """The chassis in the table, with the reasons."""
        return {chassis: row.why for chassis, row in
                self.probe(agent).table.rows.items()}


class AnswerTest(ProbeTest):

    def test_a_stop_is_told(self):
        """At once, also while the loop has something else to do."""
        self.patch(egress_probe, 'SILENCE', 60)
        agent = self.agent()
        self.says(200, 'ready')
        with self.hanging(agent):
            agent.stop()
            self.says(503, 'draining')
        self.assertTrue(agent.wait(ovsdb.DEADLINE))

    def test_a_start_is_told(self):
        self.nb.pause()
        self.agent()
        self.says(503, 'starting', chassis='')
        self.nb.resume()
        self.says(200, 'ready')

    def test_several_addresses_that_change(self):
        self.tunnels('gw1.test', *self.hosts)
        self.agent()
        for host in self.hosts:
            self.says(200, 'ready', host)
        self.tunnels(self.other)
        self.eventually(lambda: self.said() == (0, ''), self.said)
        self.says(200, 'ready', self.other)

    def test_a_loop_without_work_and_one_that_hangs(self):
        """The process lives, and its other threads answer."""
        agent = self.agent(reconcile_interval=3600)
        self.eventually(lambda: agent.status.is_ready, 'not ready')
        self.says(200, 'ready')
        began = time.time()
        waiting.lasts(lambda: self.assertEqual(200, self.said()[0]),
                      3 * egress_probe.SILENCE)
        # It wakes for a sign of life, and not for a pass.
        self.assertFalse([each for each in agent._loop.passes.last
                          if each.at > began and 'interval' in each.reasons])
        with self.hanging(agent):
            self.says(503, 'stuck')
        self.says(200, 'ready')

    def test_a_port_in_use(self):
        listen = '127.85.0.1'
        with socket.create_server((self.here, PORT)):
            agent = self.agent(metrics__listen=f'{listen}:{metrics.PORT:d}')
            self.eventually(lambda: agent.status.is_ready, 'not ready')
            self.eventually(lambda: agent.status.reasons, 'no reason')
            self.assertEqual(
                (f'[egress_ip] probe_port = {PORT:d}, ovn-encap-ip = '
                 f'{self.here}: Address already in use: another program '
                 'listens there; choose another port',), agent.status.reasons)
            listener = metrics.Listener(listen)
            self.eventually(lambda: listener.value(
                'egress_probe_listening', address=self.here) == 0,
                listener.values)
            self.assertIn('probe_port', f'{listener.unready()}')

    def test_it_costs_nothing_where_it_is_off(self):
        def threads():
            return {each for each in threading.enumerate()
                    if each.name in THREADS}
        for port, more in ((0, set()), (PORT, THREADS)):
            before = threads()
            agent = self.agent(egress_ip__probe_port=port)
            self.eventually(lambda agent=agent: agent.status.is_ready,
                            'not ready')
            self.eventually(
                lambda before=before, more=more:
                {each.name for each in threads() - before} == more, threads)
            self.assertEqual(bool(port), any(
                isinstance(each, egress_probe.EgressProbe)
                for each in agent._observers))
            self.stop(agent)
            agent.close()


class TlsTest(ProbeTest):

    def setUp(self):
        super().setUp()
        authority = pki.Authority(self.useFixture(fixtures.TempDir()).path)
        certificate, key = authority.issue('agent')
        self.files = {'ovn__ovn_ssl_ca': authority.path,
                      'ovn__ovn_ssl_cert': certificate,
                      'ovn__ovn_ssl_key': key}

    def test_both_sides(self):
        """The agent asks itself, and nobody without TLS has an answer."""
        agent = self.agent(**self.files)
        self.writer(agent)
        self.eventually(lambda: self.dead(agent).keys() == {OTHER},
                        lambda: self.dead(agent))
        self.assertEqual((0, ''), self.said())
        # Its trouble says nothing about others.
        os.truncate(self.files['ovn__ovn_ssl_cert'], 0)
        self.eventually(lambda: any(
            reason.startswith('[ovn] ovn_ssl_cert = ')
            for reason in self.probe(agent).reasons), 'no reason')
        waiting.lasts(lambda: self.assertEqual(
            {OTHER}, self.dead(agent).keys()), 0.5)

    def test_a_warning_without_all_files(self):
        for files, warned in (({}, True), (self.files, False)):
            log = self.useFixture(fixtures.FakeLogger())
            egress_probe.EgressProbe(
                worlds.conf(ovn__ovn_nb_remote=['ssl:192.0.2.1:6641'],
                            **files), dict, bool, watchdog.Watchdog(1), bool)
            self.assertEqual(
                warned, 'Agents ask each other without TLS' in log.output)


class DoctorTest(doctor.Looks, ProbeTest):

    def setUp(self):
        super().setUp()
        self.conf = self.of_databases(drivers=[options.GROUP])

    def test_agents_that_answer_and_do_not(self):
        evidence = self.looked('egress-probe', doctor.BROKEN)
        self.assertIn('the agent of this node does not answer other agents: '
                      f'{self.here} port {PORT:d}: nobody listens', evidence)
        self.agent()
        self.says(200, 'ready')
        self.assertIn(f'{OTHER} ({self.other} port {PORT:d}: nobody listens)',
                      self.looked('egress-probe', doctor.WARN))
        self.another()
        self.eventually(lambda: doctor.look(self.conf, 'egress-probe')[
            'egress-probe'][0] is doctor.OK, 'not well')

    def test_the_port_of_another_program(self):
        with socket.create_server((self.here, PORT)):
            self.assertIn('no answer within 1 s',
                          self.looked('egress-probe', doctor.BROKEN))
