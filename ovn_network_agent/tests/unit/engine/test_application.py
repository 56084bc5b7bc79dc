# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The order in which a pass changes things, and what it holds back."""

import dataclasses

import fixtures

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

ANNOUNCEMENT = gateways.ANNOUNCEMENT
DST = gateways.DST
FIP = gateways.FIP
HAIRPIN = gateways.HAIRPIN
PROOF = gateways.PROOF
ROUTE = gateways.ROUTE


class OrderTest(gateways.ReconcilerTestCase):

    def test_all_of_a_router_appears_and_is_announced_last(self):
        gateway = self.gateway()
        outcome = gateway.run(cloud.router(fips=[FIP]))
        self.assertTrue(outcome.settled, outcome)
        self.assertIn(DST, gateway.addresses())
        order = gateway.world.order('create')
        self.assertEqual(
            ['address', 'neighbour', 'kernel_route', 'rule', 'flow',
             'prefix_list_entry', 'announcement'],
            [kind for kind in order if kind in {
                'address', 'neighbour', 'kernel_route', 'rule', 'flow',
                'prefix_list_entry', 'announcement'}])
        self.assertEqual(['announcement', 'advertised'], order[-2:])

    def test_withdrawn_first(self):
        # But for what no packet from outside needs.
        gateway = self.announcing()
        del gateway.world.journal[:]
        self.assertTrue(gateway.run(cloud.router()).settled)
        self.assertEqual([('delete', HAIRPIN), ('delete', ANNOUNCEMENT),
                          ('delete', ROUTE)], gateway.world.journal)

    def test_what_a_client_needs_goes_after_the_announcement(self):
        # The way back through the router, too, though it may come late.
        gateway = self.announcing()
        del gateway.world.journal[:]
        gateway.run(cloud.router(fips=[FIP]), phase=model.Phase.STOPPED)
        order = gateway.world.order('delete')
        self.assertEqual(['flow', 'announcement'], order[:2])
        for kind in ('default_route', 'mac_binding', 'kernel_route'):
            self.assertGreater(order.index(kind), 1, order)

    def test_a_restart_adopts_what_is_there(self):
        gateway = self.announcing()
        before = gateway.world.values()
        del gateway.world.journal[:]
        gateway.reconciler.close()
        gateway.start()
        outcome = gateway.run(cloud.router(fips=[FIP]))
        self.assertEqual([], gateway.world.journal)
        self.assertEqual(before, gateway.world.values())
        self.assertTrue(outcome.settled)

    def test_a_new_link_has_what_hangs_on_it_read_again(self):
        world = worlds.World()
        backends = worlds.backends(world)
        backends[0].invalidates = ('address', 'neighbour')

        def lose_addresses(verb, resource, failures):
            worlds.WorldBackend._change(backends[0], verb, resource, failures)
            for ref in [r for r in world.objects
                        if r.kind in ('address', 'neighbour')
                        and r.key[0].startswith('veth-')]:
                del world.objects[ref]

        gateway = self.gateway(world=world, backends=backends)
        gateway.run(cloud.router())
        pair = resources.Ref('veth_pair', ('veth-default',))
        # The pair left its VRF: the kernel drops what was on it when the
        # backend repairs it.
        world.objects[pair] = dataclasses.replace(world.objects[pair], vrf='')
        backends[0]._change = lose_addresses
        self.assertTrue(gateway.run(cloud.router(), stale=['link']).settled)
        self.assertEqual(3, len(world.found(resources.Address)))
        self.assertEqual(2, len(world.found(resources.Neighbour)))


class KeptTest(gateways.ReconcilerTestCase):
    """What stays on purpose: others would lose something with it."""

    STRAY = resources.KernelRoute(254, '203.0.113.9/32', 'br-ex')

    def setUp(self):
        super().setUp()
        self.kept = self.gateway()
        self.kept.world.put(self.STRAY)
        self.kept.world.refuses[self.STRAY.ref] = backends.Kept('in use')
        self.kept.run()

    def passes(self, count, seconds, **values):
        """So many passes; how often the kernel was asked in them."""
        del self.kept.world.refused[:]
        for number in range(count):
            self.kept.clock += seconds
            outcome = self.kept.run(
                cloud.router(fips=[f'198.51.100.{50 + number}']), **values)
            self.assertTrue(outcome.settled, outcome)
        return len(self.kept.world.refused)

    def test_it_waits_for_its_back_off(self):
        """However many events there are; later and later."""
        del self.kept.world.reads[:]
        self.assertEqual(0, self.passes(20, 0.01))
        self.assertEqual([], self.kept.world.reads)
        # After 1, 2, 4, 8, 16 and 32 seconds, and then every 60.
        self.assertEqual(6, self.passes(100, 1))
        self.assertLessEqual(self.kept.reconciler.next_retry(), 60)

    def test_it_goes_when_nothing_keeps_it(self):
        del self.kept.world.refuses[self.STRAY.ref]
        self.kept.clock += self.kept.reconciler.next_retry()
        self.kept.run()
        self.assertNotIn(self.STRAY, self.kept.world.values())
        self.assertIsNone(self.kept.reconciler.next_retry())

    def test_it_is_tried_again_when_its_backend_is_in_doubt(self):
        self.assertEqual(3, self.passes(3, 0.01, stale=['route']))

    def test_the_end_tries_it_again(self):
        del self.kept.world.refuses[self.STRAY.ref]
        self.kept.run(phase=model.Phase.STOPPED)
        self.assertNotIn(self.STRAY, self.kept.world.values())


class HoldBackTest(gateways.ReconcilerTestCase):

    def test_no_announcement_without_its_route(self):
        gateway = self.gateway()
        gateway.world.refuses_once[ROUTE] = 'no memory'
        outcome = gateway.run(cloud.router(fips=[FIP, '198.51.100.11']))
        self.assertNotIn(DST, gateway.addresses())
        self.assertIn('198.51.100.11/32', gateway.addresses())
        self.assertEqual('no memory', outcome.failures[ROUTE])
        self.assertIn('waits for kernel_route', outcome.failures[ANNOUNCEMENT])
        self.assertFalse(outcome.settled)
        # The failure was one of a moment.
        gateway.clock += 60
        outcome = gateway.run(cloud.router(fips=[FIP, '198.51.100.11']))
        self.assertTrue(outcome.settled)
        self.assertIn(DST, gateway.addresses())

    def test_no_announcement_without_its_hairpin_flow(self):
        # Nothing requires it; it is about the same address.
        gateway = self.gateway()
        gateway.world.refuses[HAIRPIN] = 'table full'
        outcome = gateway.run(cloud.router(fips=[FIP]))
        self.assertEqual({'198.51.100.1/32'}, gateway.addresses())
        # Trap T16: with one address missing the router is not taken over.
        self.assertEqual({HAIRPIN, ANNOUNCEMENT, PROOF}, set(outcome.failures))
        self.assertEqual({}, gateway.world.found(resources.Advertised))

    def test_one_cause_is_one_line_of_the_log(self):
        log = self.useFixture(fixtures.FakeLogger())
        gateway = self.gateway()
        routes = [resources.KernelRoute(254, f'198.51.100.{number}/32',
                                        'br-ex').ref for number in (11, 12)]
        gateway.world.refuses.update(dict.fromkeys(routes, 'no memory'))
        router = cloud.router(fips=['198.51.100.11', '198.51.100.12'])
        for _attempt in range(3):
            gateway.run(router)
            gateway.clock += 60
        self.assertEqual(
            ['kernel_route 254,198.51.100.11/32 and 1 more: no memory'],
            [line for line in log.output.splitlines()
             if 'no memory' in line and 'Degraded' not in line])

    def test_the_route_stays_while_the_announcement_does(self):
        gateway = self.gateway()
        gateway.run(cloud.router(fips=[FIP, '198.51.100.11']))
        gateway.world.refuses[ANNOUNCEMENT] = 'vtysh is stuck'
        outcome = gateway.run(cloud.router())
        self.assertEqual({'198.51.100.1/32', DST}, gateway.addresses())
        self.assertIn(ROUTE, gateway.world.objects)
        self.assertEqual('vtysh is stuck', outcome.failures[ANNOUNCEMENT])
        gateway.world.refuses.clear()
        gateway.clock += 60
        self.assertTrue(gateway.run(cloud.router()).settled)
        self.assertNotIn(ROUTE, gateway.world.objects)

    def test_what_leaves_early_holds_no_withdrawal(self):
        gateway = self.announcing()
        gateway.world.down.add('flow')
        self.assertIn(HAIRPIN, gateway.run(cloud.router()).failures)
        self.assertNotIn(DST, gateway.addresses())
        self.assertNotIn(ROUTE, gateway.world.objects)

    def test_nor_does_it_while_it_cannot_be_changed(self):
        gateway = self.announcing()
        gateway.world.refuses[HAIRPIN] = 'no room'
        outcome = gateway.run(cloud.router(
            fips=[FIP], withheld=((FIP, 'a word'),),
            ports=(cloud.port(mac='fa:16:3e:00:00:77'),)))
        self.assertIn(HAIRPIN, outcome.failures)
        self.assertNotIn(DST, gateway.addresses())

    def test_so_it_is_when_all_of_frr_is_down(self):
        gateway = self.announcing()
        gateway.world.down.add('frr_static')
        outcome = gateway.run(cloud.router())
        self.assertIn(ROUTE, gateway.world.objects)
        self.assertEqual('frr_static is down',
                         outcome.unreadable['frr_static'])

    def test_and_when_nobody_knows_what_is_announced(self):
        # What a former run announced is not known before FRR was read.
        gateway = self.announcing()
        gateway.reconciler.close()
        gateway.start()
        gateway.world.down.add('frr_static')
        gateway.run(cloud.router())
        self.assertIn(ROUTE, gateway.world.objects)
        self.assertIn(HAIRPIN, gateway.world.objects)
        gateway.world.down.clear()
        gateway.clock += 60
        self.assertTrue(gateway.run(cloud.router()).settled)
        self.assertNotIn(ROUTE, gateway.world.objects)
        self.assertEqual({'198.51.100.1/32'}, gateway.addresses())

    def test_and_when_a_change_may_have_been_made_after_all(self):
        # Trap T43: what timed out in FRR may have got there.
        gateway = self.gateway()
        gateway.run()
        gateway.world.down.add('frr_static')
        gateway.run(cloud.router(fips=[FIP]))
        gateway.world.put(resources.Announcement(
            'vrf-provider', DST, '169.254.0.1'))
        gateway.run()
        self.assertIn((254, DST), gateway.world.found(resources.KernelRoute))
        gateway.world.down.clear()
        gateway.clock += 60
        self.assertTrue(gateway.run().settled)
        self.assertEqual(set(), gateway.addresses())
        self.assertNotIn((254, DST),
                         gateway.world.found(resources.KernelRoute))

    def test_an_announcement_follows_its_flows_to_a_new_port(self):
        # The flow that it requires has another key afterwards.
        gateway = self.announcing()
        moved = cloud.router(fips=[FIP], ports=(
            cloud.port(segment=cloud.segment(patch_port=7)),))
        self.assertTrue(gateway.run(moved).settled)
        del gateway.world.objects[ANNOUNCEMENT]
        outcome = gateway.run(moved, stale=['frr_static'])
        self.assertTrue(outcome.settled, outcome.failures)
        self.assertIn(DST, gateway.addresses())
