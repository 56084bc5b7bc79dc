# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A system that is put in doubt faster than it answers."""

import threading

from ovn_network_agent import resources
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


class FormerRunTest(SlowTestCase):
    """bgpd never lets an instance go whose VRF went first."""

    def setUp(self):
        super().setUp()
        self.gate('evpn_instance')
        self.devices = resources.VniDevices(
            1001, 1001, 'fa:16:3e:00:00:01', '10.0.0.1', 4789, 1500)
        self.instance = resources.EvpnInstance(1001, 65001, '10.0.0.1')
        self.made.world.put(self.devices, self.instance)

    def goes(self):
        for _pass in range(10):
            self.made.reconciler.wait_for_threads(10)
            self.made.clock += self.made.reconciler.next_retry() or 0
            self.pass_()
        self.assertEqual([self.instance.kind, self.devices.kind],
                         self.made.world.order('delete')[-2:])

    def test_devices_of_a_vni_wait_for_its_instance(self):
        """And what FRR does not need goes."""
        rule = resources.Rule(2000, 200, src='192.0.2.0/24')
        self.made.world.put(rule)
        self.gates['evpn_instance'].clear()
        self.pass_()
        self.pass_()
        self.assertIn(self.devices, self.made.world.values())
        self.assertNotIn(rule, self.made.world.values())
        self.gates['evpn_instance'].set()
        self.goes()

    def test_devices_of_a_vni_stay_while_instances_are_unknown(self):
        self.made.world.mute.add('evpn_instance')
        self.assertEqual('stays while evpn_instance cannot be read',
                         self.pass_().failures[self.devices.ref])
        self.assertIn(self.devices, self.made.world.values())
        self.made.world.mute.clear()
        self.goes()

    def test_devices_of_a_vni_stay_with_its_instance(self):
        self.made.world.refuses[self.instance.ref] = 'no'
        self.pass_()
        self.made.reconciler.wait_for_threads(10)
        self.assertIn('which needs it, could not be removed',
                      self.pass_().failures[self.devices.ref])
        self.assertIn(self.devices, self.made.world.values())
        self.made.world.refuses.clear()
        self.goes()


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
