# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent that asks the others whether they work."""

from ovn_network_agent import ownership
from ovn_network_agent.metrics import egress_probe
from ovn_network_agent.ovsdb import lock
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.metrics import base as metrics
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.functional.service import test_egress_probe

PORT = 6643
HERE, OTHER = cloud.CHASSIS, cloud.OTHER


class WriterTest(test_egress_probe.ProbeTest):

    def test_one_agent_asks(self):
        """Another one has the lock first; there is nothing to write."""
        other = lock.Lock('nb', self.nb.remote, 'ovn_network_agent_egress_ip',
                          60000)
        self.addCleanup(other.close)
        other.ask(ovsdb.DEADLINE)
        self.eventually(lambda: other.is_held, lambda: other.state)
        agent = self.agent()
        self.says(200, 'ready')
        waiting.lasts(lambda: self.assertEqual({}, self.dead(agent)),
                      5 * egress_probe.INTERVAL)
        other.close()
        self.eventually(lambda: self.dead(agent).keys() == {OTHER},
                        lambda: self.dead(agent))
        self.assertEqual(f'{self.other} port {PORT:d}: nobody listens',
                         self.dead(agent)[OTHER])

    def test_nobody_asks_without_networks(self):
        for chassis in (HERE, OTHER):
            self.cloud.say('NB_Global', {}, external_ids={
                ownership.EXT_ID_EGRESS_NETWORKS + chassis: None})
        agent = self.agent()
        self.says(200, 'ready')
        found, = (each for each in agent._reconciler.backends.all
                  if each.name == 'egress')
        waiting.lasts(lambda: self.assertFalse(found.lock.started),
                      5 * egress_probe.INTERVAL)

    def test_the_other_agent_goes_and_comes(self):
        agent = self.agent()
        self.eventually(lambda: agent.status.is_ready, 'not ready')
        passes = services.Passes(self)
        mine = self.writer(agent)
        self.eventually(lambda: self.dead(agent).keys() == {OTHER},
                        lambda: self.dead(agent))
        # A change wakes the loop.
        self.eventually(lambda: passes.times, 'no pass')
        other = self.another()
        self.eventually(lambda: not self.dead(agent),
                        lambda: self.dead(agent))
        other.stop()
        self.eventually(lambda: self.dead(agent).keys() == {OTHER},
                        lambda: self.dead(agent))
        results = self.probe(agent).counts['egress_probes_total']
        # The first one after an answer was forgiven.
        self.assertGreaterEqual(results['refused',], 3)
        # A chassis without a tunnel, which then is gone.
        self.publish('gone')
        self.eventually(lambda: self.dead(agent).get('gone') ==
                        'no address of its tunnels is known',
                        lambda: self.dead(agent))
        self.cloud.say('NB_Global', {}, external_ids={
            ownership.EXT_ID_EGRESS_NETWORKS + 'gone': None})
        self.eventually(lambda: self.dead(agent).keys() == {OTHER},
                        lambda: self.dead(agent))
        # An agent that is no longer the writer has nothing left.
        mine.close()
        self.eventually(lambda: not self.dead(agent),
                        lambda: self.dead(agent))

    def test_the_metrics(self):
        listen = '127.85.0.2'
        self.agent(metrics__listen=f'{listen}:{metrics.PORT:d}')
        listener = metrics.Listener(listen)
        self.eventually(lambda: listener.value(
            'egress_probe_listening', address=self.here) == 1,
            listener.values)
        for chassis, alive in ((HERE, 1), (OTHER, 0)):
            self.eventually(
                lambda chassis=chassis, alive=alive: listener.value(
                    'egress_chassis_reachable', chassis=chassis) == alive,
                listener.values)
        self.assertGreater(listener.value('egress_probes_total',
                                          result='ready'), 0)
        # Others' trouble is not that of this agent.
        self.assertEqual([], listener.unready())
