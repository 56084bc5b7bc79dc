# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""bgpd never lets the instance of a VNI go whose VRF went first."""

from ovn_network_agent import resources
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import test_executor
from ovn_network_agent.tests.unit.engine import test_slow_answers

RULE = resources.VniRule(1100, resources.BLACKHOLE, iif='br-7')
DEVICES = resources.VniDevices(7, 10, '', '', 4789, 1450,
                               requires=(RULE.ref,))
ANCHOR = resources.KernelRoute(10, '100.64.0.1/32', 'vrf-7',
                               requires=(DEVICES.ref,))
INSTANCE = resources.EvpnInstance(7, 0, '192.0.2.1')


class VniRemovalTest(test_slow_answers.SlowTestCase):
    """A node with one VNI, whose FRR may be slow."""

    def setUp(self):
        super().setUp()
        self.gate('evpn_instance')
        self.frr = self.made.backend('evpn_instance')
        self.kernel = self.made.backend('vni_devices')
        self.kernel.concurrent = True
        for backend in self.frr, self.kernel:
            self.addCleanup(backend.gate.set)
        self.driver = worlds.driver(
            'vnis', worlds.conf(), test_executor.Wanting, ())
        self.made.drivers.append(self.driver)

    def want(self, *wanted):
        self.driver.wanted, self.driver.settings = wanted, object()

    def there(self):
        self.want(RULE, DEVICES, ANCHOR, INSTANCE)
        self.settle()
        self.assertLess({DEVICES, INSTANCE}, self.made.world.values())

    def settle(self):
        """Enough passes for all that can be done."""
        for _pass in range(10):
            self.made.reconciler.wait_for_threads(10)
            self.made.clock += self.made.reconciler.next_retry() or 0
            self.pass_()

    def changes(self):
        return [(verb, ref.kind) for verb, ref in self.made.world.journal
                if ref in (INSTANCE.ref, DEVICES.ref)]

    def is_gone_in_order(self):
        self.settle()
        self.assertEqual([('delete', INSTANCE.kind), ('delete', DEVICES.kind)],
                         self.changes()[-2:])
        self.assertTrue(self.made.world.values().isdisjoint(
            (RULE, DEVICES, ANCHOR, INSTANCE)))

    def test_a_former_run_and_a_slow_reading(self):
        """What FRR does not need goes."""
        rule = resources.Rule(2000, 200, src='192.0.2.0/24')
        self.made.world.put(DEVICES, INSTANCE, rule)
        self.gates['evpn_instance'].clear()
        self.pass_()
        self.pass_()
        self.assertIn(DEVICES, self.made.world.values())
        self.assertNotIn(rule, self.made.world.values())
        self.gates['evpn_instance'].set()
        self.is_gone_in_order()

    def test_a_former_run_and_a_failed_reading(self):
        self.made.world.put(DEVICES, INSTANCE)
        self.made.world.mute.add('evpn_instance')
        self.assertEqual('stays while evpn_instance cannot be read',
                         self.pass_().failures[DEVICES.ref])
        self.assertIn(DEVICES, self.made.world.values())
        self.made.world.mute.clear()
        self.is_gone_in_order()

    def test_the_instance_cannot_be_removed(self):
        self.made.world.put(DEVICES, INSTANCE)
        self.made.world.refuses[INSTANCE.ref] = 'no'
        self.settle()
        self.assertIn('which needs it, could not be removed',
                      self.pass_().failures[DEVICES.ref])
        self.assertIn(DEVICES, self.made.world.values())
        self.made.world.refuses.clear()
        self.is_gone_in_order()

    def test_the_instance_is_still_written(self):
        self.frr.gate.clear()
        self.want(RULE, DEVICES, INSTANCE)
        for _pass in range(3):
            # The devices have to be there.
            self.pass_()
            self.made.threads.wait(10, [self.kernel.name])
        self.assertIn('evpn_instance', self.made.threads.jobs)
        self.want()
        self.pass_()
        self.frr.gate.set()
        self.is_gone_in_order()

    def test_others_that_need_the_devices_fail_as_well(self):
        self.there()
        self.made.world.refuses.update({INSTANCE.ref: 'no', ANCHOR.ref: 'no'})
        self.want()
        self.settle()
        self.assertLess({DEVICES, RULE}, self.made.world.values())
        self.made.world.refuses.clear()
        self.is_gone_in_order()

    def test_the_instance_appears_during_a_slow_reading(self):
        """As after a restart of FRR that has saved the agent's lines."""
        self.want(RULE, DEVICES)
        self.settle()
        self.gates['evpn_instance'].clear()
        self.pass_(stale=('evpn_instance',))
        self.made.world.put(INSTANCE)
        self.want()
        self.pass_()
        self.gates['evpn_instance'].set()
        self.is_gone_in_order()

    def test_it_comes_back_while_it_goes(self):
        self.there()
        self.kernel.gate.clear()
        self.want()
        while ('delete', INSTANCE.kind) not in self.changes():
            self.pass_()
            self.made.threads.wait(10, [self.frr.name])
        self.pass_()
        self.want(RULE, DEVICES, ANCHOR, INSTANCE)
        self.pass_()
        self.kernel.gate.set()
        self.settle()
        self.assertEqual([
            ('delete', INSTANCE.kind), ('delete', DEVICES.kind),
            ('create', DEVICES.kind), ('create', INSTANCE.kind)],
            self.changes()[-4:])

    def test_devices_that_stay_hold_nothing_of_others(self):
        drop = resources.EgressDrop(901, resources.BLACKHOLE, iif='egress')
        self.want(RULE, DEVICES, INSTANCE, drop)
        self.settle()
        self.made.world.refuses[INSTANCE.ref] = 'no'
        self.want()
        self.settle()
        self.assertLess({DEVICES, RULE}, self.made.world.values())
        self.assertNotIn(drop, self.made.world.values())
