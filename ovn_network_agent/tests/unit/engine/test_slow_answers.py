# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A system that is put in doubt faster than it answers."""

import threading

from ovn_network_agent.engine import executor
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

FRR = ('frr_static', 'frr_prefix_list')
WANTED = cloud.router(fips=[gateways.FIP])


class Watched(executor.Threads):
    """Waits only a moment, and notes the backends that it waits for.

    :ivar waited: list of lists of names
    """

    def __init__(self, wake):
        super().__init__(wake, 0.05)
        self.waited = []

    def wait(self, timeout, names=None, wake=True):
        self.waited.append(names)
        return super().wait(timeout, names, wake)


class SlowTestCase(gateways.ReconcilerTestCase):

    def setUp(self):
        super().setUp()
        self.gates = {}
        self.made = self.gateway(world=worlds.World(), threads=Watched)
        self.gate(*FRR)

    def gate(self, *names):
        for name in names:
            backend = self.made.backend(name)
            backend.system = 'FRR'
            self.gates[name] = self.gated(backend)

    def gated(self, backend):
        """Have a backend read only while the event is set."""
        gate = threading.Event()
        gate.set()
        self.addCleanup(gate.set)
        read = backend.read

        def slow(known):
            gate.wait(10)
            return read(known)
        backend.read = slow
        return gate

    def pass_(self, **how):
        return self.made.run(WANTED, **how)

    def answer(self, *names):
        """Let what is being read answer, and nothing that comes after."""
        for name in names:
            self.gates[name].set()
        self.assertTrue(self.made.reconciler.wait_for_threads(10))
        for name in names:
            self.gates[name].clear()


class SlowAnswersTest(SlowTestCase):

    def setUp(self):
        super().setUp()
        self.pass_()
        self.answer(*FRR)
        self.assertTrue(self.pass_().settled)

    def take_away(self):
        del self.made.world.objects[gateways.ANNOUNCEMENT]

    def test_what_is_missing_comes_back(self):
        """Each answer comes when the next comparison is due already."""
        self.take_away()
        self.assertEqual(set(FRR), set(self.pass_(full=True).pending))
        self.answer(*FRR)
        self.pass_(full=True)
        self.assertIn(gateways.DST, self.made.addresses())

    def test_no_reading_begins_beside_another_one(self):
        """A comparison that comes while only one of the two has answered.

        Otherwise the next one would find the other still at work, and so on.
        """
        self.take_away()
        self.pass_(full=True)
        self.gates['frr_static'].set()
        self.ended('frr_static')
        self.gates['frr_static'].clear()
        self.pass_()
        reads = len(self.made.world.reads)
        self.pass_(full=True)
        self.gates['frr_prefix_list'].set()
        self.ended('frr_prefix_list')
        self.gates['frr_prefix_list'].clear()
        self.assertNotIn('frr_static', self.made.world.reads[reads:])
        self.pass_()
        self.assertIn(gateways.DST, self.made.addresses())
        # The comparison is made up for.
        self.answer(*FRR)
        self.pass_()
        self.answer(*FRR)
        self.assertIn('frr_static', self.made.world.reads[reads:])
        self.assertTrue(self.pass_().settled)

    def test_a_failed_reading_is_tried_beside_another_one(self):
        """When its back-off is over; otherwise that would begin anew."""
        self.made.world.down.add('frr_static')
        self.pass_(full=True)
        self.gates['frr_static'].set()
        self.ended('frr_static')
        more = cloud.router(fips=[gateways.FIP, '198.51.100.12'])
        self.assertIn('frr_static', self.made.run(more).unreadable)
        self.made.world.down.clear()
        self.made.clock += 60
        reads = len(self.made.world.reads)
        self.made.run(more)
        self.made.reconciler.wait_for_threads(0.05)
        self.assertIn('frr_static', self.made.world.reads[reads:])
        self.assertEqual({}, self.made.run(more).unreadable)

    def ended(self, name):
        """Wait until the loop was woken because a reading has ended."""
        self.made.reconciler.wait_for_threads(0.05)
        deadline = threading.Event()
        for _look in range(1000):
            if f'{name} done' in self.made.woken:
                self.made.woken.remove(f'{name} done')
                return
            deadline.wait(0.01)
        self.fail(self.made.woken)

    def test_the_reading_that_was_put_off_is_made_up_for(self):
        self.take_away()
        self.pass_(full=True)
        self.answer(*FRR)
        reads = len(self.made.world.reads)
        self.assertFalse(self.pass_(full=True).settled)
        del self.made.woken[:]
        self.answer(*FRR)
        self.assertEqual(set(FRR), {
            each.partition(' ')[0] for each in self.made.woken})
        self.assertEqual(set(FRR), set(self.made.world.reads[
            reads:]) & set(FRR))
        self.assertTrue(self.pass_().settled)

    def test_a_slow_answer_is_not_waited_for_again(self):
        self.pass_(full=True)
        self.made.clock += 2 * self.made.threads.patience
        self.answer(*FRR)
        self.assertTrue(self.pass_().settled)
        waited = self.made.threads.waited
        del waited[:]
        self.pass_(full=True)
        self.assertEqual([[]], waited)
        self.answer(*FRR)
        # One that came in time is.
        self.pass_()
        del waited[:]
        self.pass_(full=True)
        self.assertEqual([list(FRR)], [sorted(each, reverse=True)
                                       for each in waited])
