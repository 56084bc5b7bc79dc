# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The whole service, scraped: a start, events, faults and a stop.

The databases are real; kernel and FRR are a world.
"""

import os
import threading

from ovn_network_agent.tests.functional.metrics import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.service import base as services

HERE = services.HERE
FIP = '198.51.100.10'


class ScrapedTest(services.ServiceTestCase):

    def setUp(self):
        super().setUp()
        # A loopback address of this process alone.
        host = f'127.78.{os.getpid() >> 8 & 255:d}.{os.getpid() & 255:d}'
        self.listener = base.Listener(host)
        self.listen = f'{host}:{base.PORT:d}'
        self.cloud.add_router('r1', chassis=HERE)

    def running(self, **options):
        """An agent that is ready."""
        made = self.agent(metrics__listen=self.listen, **options)
        self.is_ready()
        return made

    def is_ready(self):
        self.eventually(lambda: self.listener.unready() == [],
                        self.listener.unready)

    def becomes(self, expected, name, **labels):
        self.eventually(
            lambda: self.listener.value(name, **labels) == expected,
            lambda: f'{name}: {self.listener.value(name, **labels)}')

    def reaches(self, least, name, **labels):
        self.eventually(
            lambda: (self.listener.value(name, **labels) or 0) >= least,
            lambda: f'{name}: {self.listener.value(name, **labels)}')

    def test_the_start(self):
        made = self.agent(start=False, metrics__listen=self.listen)
        self.assertEqual((0, ''), self.listener.ask('/healthz'))
        for database in self.servers.values():
            database.pause()
        made.start()
        self.addCleanup(self.cut_short, made, made._conf)
        self.eventually(lambda: self.listener.ask('/healthz')[0] == 200,
                        'alive')
        self.assertNotEqual([], self.listener.unready())
        self.assertEqual(0, self.listener.value('ready'))
        self.becomes(0, 'ovn_connection_state', db='nb')
        self.assertIsNone(self.listener.value('local_routers'))
        for database in self.servers.values():
            database.resume()
        self.is_ready()
        self.becomes(1, 'ready')
        self.becomes(1, 'local_routers')
        self.becomes(1, 'announced_ips')
        self.assertEqual(1, self.listener.value('ovn_connection_state',
                                                db='sb'))
        self.assertEqual(1, self.listener.value('phase', phase='running'))
        self.assertEqual(1, self.listener.value('gateway_port_served',
                                                port='lrp-r1'))
        self.assertEqual(0, self.listener.value('announce_seconds_count'))
        self.assertEqual(0, self.listener.value('takeovers_total'))

    def test_from_an_event_to_the_end(self):
        """A start takes long, so this is one test."""
        self.cloud.add_router('r2', chassis=cloud.OTHER,
                              networks=['203.0.113.1/24'])
        agent = self.running()
        self.cloud.add_nat('r1', FIP)
        self.becomes(2, 'announced_ips')
        self.becomes(1, 'announce_seconds_count')
        took = self.listener.value('announce_seconds_sum')
        self.assertTrue(0 < took < base.LIMIT, took)
        self.cloud.move('lrp-r2', HERE)
        self.becomes(2, 'gateway_ports_here')
        self.becomes(1, 'takeovers_total')
        self.becomes(1, 'failover_announce_seconds_count')
        self.becomes(3, 'announced_ips')

        self._a_database_that_goes()
        self._it_answers_until_it_ends(agent)

    def _a_database_that_goes(self):
        self.servers['nb'].kill()
        self.becomes(0, 'ovn_connection_state', db='nb')
        self.assertTrue(any('Northbound' in reason or 'nb' in reason
                            for reason in self.listener.unready()))
        # The routes stay, and so does what is said of them.
        self.assertEqual(3, self.listener.value('announced_ips'))
        self.servers['nb'].start()
        self.is_ready()

    def _it_answers_until_it_ends(self, agent):
        self.nb.pause()
        agent.stop()
        # The clean-up waits for NB.
        self.becomes(0, 'announced_ips')
        self.assertEqual(1, self.listener.value('drain_total',
                                                result='noop'))
        self.assertEqual(1, self.listener.value('phase', phase='stopped'))
        self.assertEqual(0, self.listener.value('gateway_port_served',
                                                port='lrp-r1'))
        self.assertEqual(200, self.listener.ask('/healthz')[0])
        self.assertIn('an orderly stop cleans up', self.listener.unready())
        self.nb.resume()
        self.assertTrue(agent.wait(base.LIMIT * 3))
        self.assertEqual(0, self.listener.value('announced_ips'))
        agent.close()
        self.assertEqual((0, ''), self.listener.ask('/healthz'))

    def test_without_the_option_there_is_nothing(self):
        threads = {thread.name for thread in threading.enumerate()}
        agent = self.agent()
        self.eventually(lambda: agent.status.is_ready, 'ready')
        self.assertEqual((0, ''), self.listener.ask('/healthz'))
        self.assertNotIn('metrics', {
            thread.name for thread in threading.enumerate()} - threads)
