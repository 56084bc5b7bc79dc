# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What chassis that are gone for good left behind, on real databases."""

import threading

from ovn_network_agent.backends import base as backends
from ovn_network_agent.tests.functional.backends import stale
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services

DEAD = stale.DEAD
GONE = stale.GONE


class BackendTest(stale.Backends, base.OvsdbTestCase):

    def test_without_its_answer_nothing_is_removed(self):
        """Row STL-10."""
        self.leave('dead', stale.tags(DEAD))
        self.synchronise(self.eyes_)
        backend = self.agent(DEAD, patience=0.5)
        found = tuple(backend.read(frozenset()))
        self.assertEqual(1, len(found))
        self.sb.pause()
        self.addCleanup(self.sb.resume)
        error = self.assertRaises(backends.BackendError, backend.apply,
                                  backends.Delta(delete=found))
        self.assertIn('OVN_Southbound', str(error))
        self.assertEqual(({('dead', DEAD)}, {'lrp-dead'}), self.left())

    def test_two_agents_at_once(self):
        """Row STL-06: whoever loses has nothing left to do."""
        other_eyes = self.eyes()
        agents = [self.agent(DEAD), self.agent(DEAD, eyes=other_eyes)]
        for number in range(10):
            self.leave(f'r{number}', stale.tags(DEAD))
            self.synchronise(self.eyes_)
            self.synchronise(other_eyes)
            together = threading.Barrier(2)
            failures = []

            def work(agent):
                found = tuple(agent.read(frozenset()))
                together.wait(ovsdb.DEADLINE)
                failures.append((len(found), agent.apply(
                    backends.Delta(delete=found))))

            threads = [threading.Thread(target=work, args=(agent,))
                       for agent in agents]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(ovsdb.DEADLINE)
            self.assertEqual([(1, {}), (1, {})], failures)
            self.assertEqual((set(), set()), self.left())


class AgentTest(stale.AgentTestCase):

    def vanish(self, hostname):
        """What 'ovn-sbctl chassis-del' does."""
        self.sb.transact(ovsdb.delete('Chassis', {'hostname': hostname}))

    def test_the_loop_wakes_for_it(self):
        """Rows STL-01, STL-03, STL-08, traps T17, T18."""
        self.appear('third', DEAD)
        self.leave('dead', stale.tags(DEAD))
        self.leave('taken', stale.tags(DEAD))
        self.leave('live', stale.tags(cloud.OTHER_HOSTNAME))
        agent = self.survivor()
        self.eventually(lambda: agent.status.reasons == (), 'all is well')
        self.assertEqual(3, len(self.left()[0]))
        # One of its routers comes here, before the time is up.
        self.vanish(DEAD)
        self.cloud.move('lrp-taken', cloud.CHASSIS)
        kept = {('taken', cloud.HOSTNAME), ('live', cloud.OTHER_HOSTNAME)}
        self.eventually(
            lambda: self.left() == (kept, {'lrp-taken', 'lrp-live'}),
            self.left)
        # Trap T18: and nobody writes it again.
        passes = services.Passes(self)
        for number in range(3):
            self.cloud.add_router(f'more{number}')
            self.eventually(lambda n=number: len(passes.times) > n, 'a pass')
        self.assertEqual(kept, self.left()[0])

    def test_without_sb_the_time_stands_still(self):
        """Row STL-10."""
        self.leave('dead', stale.tags(DEAD))
        agent = self.survivor(grace=3)
        self.eventually(lambda: agent._view.due_in(), 'it counts')
        self.sb.kill()
        self.eventually(lambda: agent._view.due_in() is None,
                        'it does not count any more')
        self.sb.start()
        self.eventually(lambda: (agent._view.due_in() or 0) > 2,
                        'it counts from the beginning')
        self.assertEqual({('dead', DEAD)}, self.left()[0])
