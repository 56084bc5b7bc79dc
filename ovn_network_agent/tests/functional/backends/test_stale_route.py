# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What chassis that are gone for good left behind, on real databases."""

import threading

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.backends import stale
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.unit import world as worlds

DEAD = stale.DEAD
GONE = stale.GONE
MAC = stale.MAC


class BackendTest(stale.StaleTestCase):

    def setUp(self):
        super().setUp()
        self.eyes_ = self.eyes()

    def agent(self, *dead, eyes=None, patience=ovsdb_writer.TIMEOUT):
        made = router_rows.StaleRouteBackend(worlds.conf(
            ovn__transaction_timeout=5), patience)
        made.attach(backends.Context(
            (eyes or self.eyes_).databases, frozenset,
            lambda: cloud.CHASSIS,
            lambda: frozenset(map(ownership.Owner, dead))))
        return made

    def clean(self, *dead, backend=None):
        self.synchronise(self.eyes_)
        backend = backend or self.agent(*dead)
        return backend.apply(backends.Delta(
            delete=tuple(backend.read(frozenset()))))

    def test_routes_and_bindings_of_the_dead_alone(self):
        """Rows STL-01, STL-09."""
        self.leave('dead', stale.tags(DEAD))
        self.leave('gone', stale.tags(GONE))
        self.leave('live', stale.tags(cloud.OTHER_HOSTNAME))
        self.leave('ours', stale.tags(cloud.HOSTNAME))
        self.assertEqual({}, self.clean(DEAD))
        self.assertEqual(
            ({('gone', GONE), ('live', cloud.OTHER_HOSTNAME),
              ('ours', cloud.HOSTNAME)}, {'lrp-gone', 'lrp-live',
                                          'lrp-ours'}), self.left())
        self.assertEqual({}, self.clean(DEAD, GONE))
        self.assertNotIn(('gone', GONE), self.left()[0])

    def test_what_is_not_managed_or_of_nobody_stays(self):
        """Row STL-05."""
        self.leave('foreign', {ownership.EXT_ID_CHASSIS: DEAD})
        self.leave('nobodys', {ownership.EXT_ID_MANAGED:
                               ownership.EXT_ID_MANAGED_VALUE})
        self.assertEqual({}, self.clean(DEAD))
        self.assertEqual(
            ({('foreign', DEAD), ('nobodys', None)},
             {'lrp-foreign', 'lrp-nobodys'}), self.left())

    def test_the_binding_of_a_live_route_on_the_same_port_stays(self):
        """Row STL-04, trap T17."""
        self.leave('r1', stale.tags(DEAD))
        self.leave('r1', stale.tags(cloud.OTHER_HOSTNAME), binding=False,
                   router=False)
        self.assertEqual({}, self.clean(DEAD))
        self.assertEqual(({('r1', cloud.OTHER_HOSTNAME)}, {'lrp-r1'}),
                         self.left())

    def test_two_dead_on_the_same_port(self):
        self.leave('r1', stale.tags(DEAD))
        self.leave('r1', stale.tags(GONE), binding=False, router=False)
        self.assertEqual({}, self.clean(DEAD, GONE))
        self.assertEqual((set(), set()), self.left())

    def test_a_binding_elsewhere_is_not_the_routes(self):
        self.leave('r1', stale.tags(DEAD))
        self.nb.transact(ovsdb.insert(
            'Static_MAC_Binding', logical_port='lrp-r1', ip='198.51.100.7',
            mac=MAC, override_dynamic_mac=True))
        self.assertEqual({}, self.clean(DEAD))
        self.assertEqual(['198.51.100.7'], [
            row['ip'] for row in self.nb.rows('Static_MAC_Binding')])

    def test_the_server_is_asked_once_more(self):
        """Row STL-10: whoever says that it is gone, SB has it."""
        self.leave('live', stale.tags(cloud.OTHER_HOSTNAME))
        self.leave('dead', stale.tags(DEAD))
        failures = self.clean(cloud.OTHER_HOSTNAME, DEAD)
        self.assertEqual([cloud.OTHER_HOSTNAME],
                         [ref.key[-1].hostname for ref in failures])
        self.assertIsInstance(*failures.values(), backends.Kept)
        self.assertEqual({('live', cloud.OTHER_HOSTNAME)}, self.left()[0])

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

    def test_one_that_is_taken_over_meanwhile(self):
        """A survivor writes its tag while this one decides."""
        self.leave('r1', stale.tags(DEAD))
        self.synchronise(self.eyes_)
        backend = self.agent(DEAD)
        base.meanwhile(backend, lambda: self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {},
            external_ids=ovsdb.ovsdb_dict(stale.tags(cloud.OTHER_HOSTNAME)))))
        self.assertEqual({}, self.clean(backend=backend))
        self.assertEqual(({('r1', cloud.OTHER_HOSTNAME)}, {'lrp-r1'}),
                         self.left())

    def test_another_route_for_the_port_comes_meanwhile(self):
        """Row STL-04: then the binding is that one's."""
        self.leave('r1', stale.tags(DEAD))
        self.synchronise(self.eyes_)
        backend = self.agent(DEAD)
        base.meanwhile(backend, lambda: self.leave(
            'r1', stale.tags(cloud.OTHER_HOSTNAME), binding=False,
            router=False))
        self.assertEqual({}, self.clean(backend=backend))
        self.assertEqual(({('r1', cloud.OTHER_HOSTNAME)}, {'lrp-r1'}),
                         self.left())


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

    def test_one_that_returns_keeps_its_rows(self):
        """Row STL-03."""
        self.leave('r3', stale.tags(DEAD))
        self.leave('r4', stale.tags(GONE))
        agent = self.survivor(grace=5)
        self.eventually(lambda: agent.status.reasons == (), 'all is well')
        self.appear('third', DEAD)
        self.eventually(lambda: self.left() == ({('r3', DEAD)}, {'lrp-r3'}),
                        self.left)

    def test_off(self):
        """Row STL-07."""
        self.leave('dead', stale.tags(DEAD))
        self.leave('also', stale.tags(GONE))
        agent = self.survivor(grace=0)
        self.eventually(lambda: agent.status.reasons == (), 'all is well')
        self.assertIsNone(agent._view.due_in())
        self.assertEqual(frozenset(), agent._view.dead)
        before = self.left()
        self.assertEqual(({('dead', DEAD), ('also', GONE)},
                          {'lrp-dead', 'lrp-also'}), before)
        # For longer than it takes when it is on, as it then is.
        waiting.lasts(lambda: self.stays(agent, before), 2)
        agent._conf.set_override('stale_chassis_grace_period', 1,
                                 'gateway_drain')
        agent.trigger.fire('test')
        self.eventually(lambda: self.left() == (set(), set()), self.left)
        # And off again: what is left now stays.
        agent._conf.set_override('stale_chassis_grace_period', 0,
                                 'gateway_drain')
        self.leave('later', stale.tags(DEAD))
        waiting.lasts(lambda: self.stays(
            agent, ({('later', DEAD)}, {'lrp-later'})), 2)

    def stays(self, agent, rows):
        """However often an agent wakes, rows of others are left."""
        agent.trigger.fire('test')
        self.assertEqual(rows, self.left())

    def test_without_fip_route_it_is_not_our_business(self):
        self.leave('dead', stale.tags(DEAD))
        agent = self.survivor(drivers=['veth_leak'])
        self.eventually(lambda: agent.status.reasons == (), 'all is well')
        self.assertIsNone(agent._view.due_in())

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
        self.eventually(lambda: self.left() == (set(), set()), self.left)

    def test_without_our_own_row_in_sb_nobody_is_condemned(self):
        """As after its restoration from nothing."""
        self.leave('dead', stale.tags(DEAD))
        agent = self.survivor(grace=5)
        self.eventually(lambda: agent._view.due_in(), 'it counts')
        self.vanish(cloud.HOSTNAME)
        self.eventually(lambda: agent._view.due_in() is None,
                        'it does not count any more')
        self.appear(cloud.CHASSIS, cloud.HOSTNAME)
        self.eventually(lambda: (agent._view.due_in() or 0) > 4,
                        'it counts from the beginning')
        self.assertEqual({('dead', DEAD)}, self.left()[0])
