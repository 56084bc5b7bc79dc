# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The one pass, against a small stateful world."""

import dataclasses
import threading
import time

import fixtures
import hypothesis
from hypothesis import stateful
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import port_forwards
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.drivers import fip_route
from ovn_network_agent.drivers import port_forward
from ovn_network_agent.drivers import veth_leak
from ovn_network_agent.engine import announce_first
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.tests import budget
from ovn_network_agent.tests.unit import golden
from ovn_network_agent.tests.unit import world as worlds

FIP = '198.51.100.10'
DST = FIP + '/32'
ROUTE = resources.Ref('kernel_route', (254, DST))
HAIRPIN = resources.Ref('flow', ('br-ex', 910, 3, 4, DST))
ANNOUNCEMENT = resources.Ref('announcement', ('vrf-provider', DST))
# What a standby for the network of a router has of it.
PREPARED = {
    *(resources.Ref('flow', ('br-ex', 900, 3, family, None))
      for family in (4, 6)),
    resources.Ref('prefix_list_entry', ('ANNOUNCED-NETWORKS',
                                        '198.51.100.0/24', 32, 32)),
    resources.Ref('rule', (2000, '198.51.100.0/24', None, None, None, None)),
    resources.Ref('rule', (2001, '198.51.100.0/24', None, 'br-ex', None,
                           None))}
PROOF = resources.Ref('advertised', (worlds.router().uuid,))


class Counting(fip_route.FipRouteDriver):
    """Counts what it is asked, and raises where a test says so."""

    def __init__(self, name, conf):
        super().__init__(name, conf)
        self.asked = []
        self.raises_for = set()

    def for_router(self, router, node):
        self.asked.append(router.uuid)
        if router.uuid in self.raises_for:
            raise RuntimeError('a bug')
        yield from super().for_router(router, node)


class Wanting(drivers.Driver):
    """Wants some resources, always."""

    def __init__(self, name, conf, *wanted):
        super().__init__(name, conf)
        self.wanted = wanted

    def for_node(self, node):
        return self.wanted


class Gateway:
    """Drivers, a world and a reconciler between them.

    :ivar world: :class:`worlds.World`
    """

    def __init__(self, backends=None, world=None, **options):
        self.world = world or worlds.World()
        conf = worlds.conf(**options)
        self.fip_route = Counting('fip_route', conf)
        self.drivers = [self.fip_route,
                        veth_leak.VethLeakDriver('veth_leak', conf)]
        self.woken = []
        self.backends = backends or worlds.backends(self.world)
        self.start()

    def start(self):
        """A new reconciler on the same world, as after a restart."""
        self.clock = 1000.0
        self.reconciler = reconciler.Reconciler(
            self.drivers, self.backends, self.woken.append,
            lambda: self.clock)

    def run(self, *routers, full=False, stale=(), prune=True, urgent=False,
            **node):
        return self.reconciler.run(passes.Pass(
            worlds.snapshot(*routers, **node), stale, full, prune,
            urgent=urgent))

    def backend(self, name):
        return next(b for b in self.backends if b.name == name)

    def addresses(self):
        """What is announced, as prefixes."""
        return {key[1] for key in
                self.world.of(resources.Announcement)}


class ReconcilerTestCase(base.BaseTestCase):

    def gateway(self, **options):
        made = Gateway(**options)
        self.addCleanup(lambda: made.reconciler.close())
        return made


class OrderTest(ReconcilerTestCase):

    def test_all_of_a_router_appears_and_is_announced_last(self):
        gateway = self.gateway()
        outcome = gateway.run(worlds.router(fips=[FIP]))
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

    def test_a_second_pass_writes_nothing(self):
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP]))
        del gateway.world.journal[:]
        outcome = gateway.run(worlds.router(fips=[FIP]), full=True)
        self.assertEqual([], gateway.world.journal)
        self.assertEqual(0, outcome.changes)

    def test_withdrawn_first(self):
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP]))
        del gateway.world.journal[:]
        outcome = gateway.run(worlds.router())
        self.assertTrue(outcome.settled)
        self.assertEqual([('delete', ANNOUNCEMENT), ('delete', HAIRPIN),
                          ('delete', ROUTE)], gateway.world.journal)

    def test_one_added_and_one_removed_in_one_pass(self):
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP, '198.51.100.11']))
        gateway.run(worlds.router(fips=[FIP, '198.51.100.12']))
        self.assertEqual({'198.51.100.1/32', DST, '198.51.100.12/32'},
                         gateway.addresses())
        self.assertEqual(
            gateway.addresses() | {'198.51.100.0/24', '0.0.0.0/0'},
            {key[1] for key in gateway.world.of(resources.KernelRoute)})

    def test_what_came_before_us_and_is_ours_goes(self):
        gateway = self.gateway()
        stray = resources.KernelRoute(254, '203.0.113.9/32', 'br-ex')
        gateway.world.put(stray)
        gateway.run(worlds.router())
        self.assertNotIn(stray, gateway.world.values())

    def test_drift_is_repaired_when_it_is_noticed(self):
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP]))
        del gateway.world.objects[ROUTE]
        gateway.run(worlds.router(fips=[FIP]))
        self.assertNotIn(ROUTE, gateway.world.objects)
        gateway.run(worlds.router(fips=[FIP]), stale=['route'])
        self.assertIn(ROUTE, gateway.world.objects)

    def test_a_restart_adopts_what_is_there(self):
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP]))
        before = gateway.world.values()
        del gateway.world.journal[:]
        gateway.reconciler.close()
        gateway.start()
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual([], gateway.world.journal)
        self.assertEqual(before, gateway.world.values())
        self.assertTrue(outcome.settled)

    def test_a_new_link_has_what_hangs_on_it_read_again(self):
        world = worlds.World()
        backends = worlds.backends(world)
        backends[0].invalidates = ('address', 'neighbour')

        def lose_addresses(verb, resource, failures):
            worlds.WorldBackend._change(backends[0], verb, resource,
                                        failures)
            for ref in [r for r in world.objects
                        if r.kind in ('address', 'neighbour')
                        and r.key[0].startswith('veth-')]:
                del world.objects[ref]

        gateway = self.gateway(world=world, backends=backends)
        gateway.run(worlds.router())
        pair = resources.Ref('veth_pair', ('veth-default',))
        # The pair left its VRF: the kernel drops what was on it when the
        # backend repairs it.
        world.objects[pair] = dataclasses.replace(world.objects[pair],
                                                  vrf='')
        backends[0]._change = lose_addresses
        outcome = gateway.run(worlds.router(), stale=['link'])
        self.assertTrue(outcome.settled)
        self.assertEqual(3, len(world.of(resources.Address)))
        self.assertEqual(2, len(world.of(resources.Neighbour)))


class UrgentTest(ReconcilerTestCase):
    """A gateway has moved here."""

    FIRST = {'kernel_route', 'rule', 'flow', 'prefix_list_entry',
             'announcement'}
    REST = {HAIRPIN, PROOF, resources.Ref(
        'flow', ('br-ex', 910, 3, 4, '198.51.100.1/32')),
        resources.Ref('mac_binding', ('lrp-1', '198.51.100.254')),
        resources.Ref('default_route', (PROOF.key[0],))}

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.taker = self.gateway()
        self.taker.run()
        del self.taker.world.journal[:]

    def written(self):
        found = {ref for _verb, ref in self.taker.world.journal}
        del self.taker.world.journal[:]
        return found

    def test_the_announcements_come_first_and_the_rest_later(self):
        outcome = self.taker.run(worlds.router(fips=[FIP]), urgent=True)
        self.assertEqual({'198.51.100.1/32', DST}, self.taker.addresses())
        written = self.written()
        self.assertEqual(self.FIRST, {ref.kind for ref in written})
        self.assertFalse(written & self.REST)
        self.assertEqual(('announcing',), outcome.pending)
        self.assertEqual({}, outcome.failures)
        self.assertEqual(announce_first.PAUSE,
                         self.taker.reconciler.next_retry())
        # What else happens meanwhile does not hurry it.
        self.taker.run(worlds.router(fips=[FIP]))
        self.assertEqual(set(), self.written())
        self.taker.clock += announce_first.PAUSE
        outcome = self.taker.run(worlds.router(fips=[FIP]))
        self.assertTrue(outcome.settled)
        self.assertEqual(self.REST, self.written())
        self.assertIsNone(self.taker.reconciler.next_retry())

    def test_what_was_done_is_told_later(self):
        """A line for each of hundreds takes a tenth of a second."""
        self.taker.run(worlds.router(fips=[FIP]), urgent=True)
        self.assertIn('Announced 2 addresses first', self.log.output)
        self.assertNotIn('created announcement', self.log.output)
        self.taker.clock += announce_first.PAUSE
        self.taker.run(worlds.router(fips=[FIP]))
        self.assertIn('created announcement', self.log.output)
        self.assertIn('created advertised', self.log.output)

    def test_what_goes_is_told_at_once(self):
        self.taker.run(worlds.router(fips=[FIP]))
        self.taker.run(worlds.router(), urgent=True)
        self.assertIn('deleted announcement', self.log.output)

    def test_it_is_told_at_the_end(self):
        self.taker.run(worlds.router(fips=[FIP]), urgent=True)
        self.taker.reconciler.close()
        self.assertIn('created announcement', self.log.output)

    def test_one_after_the_other_the_rest_does_not_wait_for_ever(self):
        fips = []
        for number in range(10, 16):
            fips.append('198.51.100.%d' % number)
            self.taker.run(worlds.router(fips=fips), urgent=True)
            self.taker.clock += announce_first.PAUSE / 3
        self.assertLessEqual({HAIRPIN}, self.written())

    def test_nothing_waits_where_nothing_is_announced(self):
        self.taker.world.refuses[ANNOUNCEMENT] = 'vtysh is stuck'
        self.taker.world.refuses[resources.Ref('announcement', (
            'vrf-provider', '198.51.100.1/32'))] = 'vtysh is stuck'
        outcome = self.taker.run(worlds.router(fips=[FIP]), urgent=True)
        self.assertEqual((), outcome.pending)
        # Each was tried once, and what failed later holds nothing back.
        self.assertEqual(self.REST - {PROOF}, self.written() & self.REST)

    def test_without_its_route_nothing_of_an_address_follows(self):
        self.taker.world.refuses[ROUTE] = 'no memory'
        self.taker.run(worlds.router(fips=[FIP]), urgent=True)
        self.taker.clock += announce_first.PAUSE
        outcome = self.taker.run(worlds.router(fips=[FIP]))
        self.assertEqual({'198.51.100.1/32'}, self.taker.addresses())
        self.assertEqual({ROUTE, HAIRPIN, ANNOUNCEMENT, PROOF},
                         set(outcome.failures))

    def test_no_proof_without_what_follows(self):
        """Trap T16: it is not taken over before every plane has it."""
        self.taker.world.refuses[HAIRPIN] = 'table full'
        self.taker.run(worlds.router(fips=[FIP]), urgent=True)
        self.taker.clock += announce_first.PAUSE
        outcome = self.taker.run(worlds.router(fips=[FIP]))
        self.assertEqual({'198.51.100.1/32', DST}, self.taker.addresses())
        self.assertEqual({HAIRPIN, PROOF}, set(outcome.failures))
        self.assertEqual({}, self.taker.world.of(resources.Advertised))

    def test_the_end_waits_for_nothing(self):
        self.taker.run(worlds.router(fips=[FIP]), urgent=True)
        outcome = self.taker.run(worlds.router(fips=[FIP]),
                                 phase=model.Phase.STOPPED)
        self.assertEqual((), outcome.pending)
        self.assertEqual(set(), self.taker.addresses())


class KeptTest(ReconcilerTestCase):
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
                worlds.router(fips=['198.51.100.%d' % (50 + number)]),
                **values)
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


class HoldBackTest(ReconcilerTestCase):

    def test_no_announcement_without_its_route(self):
        gateway = self.gateway()
        gateway.world.refuses_once[ROUTE] = 'no memory'
        outcome = gateway.run(worlds.router(fips=[FIP, '198.51.100.11']))
        self.assertNotIn(DST, gateway.addresses())
        self.assertIn('198.51.100.11/32', gateway.addresses())
        self.assertEqual('no memory', outcome.failures[ROUTE])
        self.assertIn('waits for kernel_route',
                      outcome.failures[ANNOUNCEMENT])
        self.assertFalse(outcome.settled)
        # The failure was one of a moment.
        gateway.clock += 60
        outcome = gateway.run(worlds.router(fips=[FIP, '198.51.100.11']))
        self.assertTrue(outcome.settled)
        self.assertIn(DST, gateway.addresses())

    def test_no_announcement_without_its_hairpin_flow(self):
        # Nothing requires it; it is about the same address.
        gateway = self.gateway()
        gateway.world.refuses[HAIRPIN] = 'table full'
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual({'198.51.100.1/32'}, gateway.addresses())
        # Trap T16: with one address missing the router is not taken over.
        self.assertEqual({HAIRPIN, ANNOUNCEMENT, PROOF},
                         set(outcome.failures))
        self.assertEqual({}, gateway.world.of(resources.Advertised))

    def test_the_route_stays_while_the_announcement_does(self):
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP, '198.51.100.11']))
        gateway.world.refuses[ANNOUNCEMENT] = 'vtysh is stuck'
        outcome = gateway.run(worlds.router())
        self.assertEqual({'198.51.100.1/32', DST}, gateway.addresses())
        self.assertIn(ROUTE, gateway.world.objects)
        self.assertIn(HAIRPIN, gateway.world.objects)
        self.assertEqual('vtysh is stuck', outcome.failures[ANNOUNCEMENT])
        gateway.world.refuses.clear()
        gateway.clock += 60
        self.assertTrue(gateway.run(worlds.router()).settled)
        self.assertNotIn(ROUTE, gateway.world.objects)

    def test_so_it_is_when_all_of_frr_is_down(self):
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP]))
        gateway.world.down.add('frr_static')
        outcome = gateway.run(worlds.router())
        self.assertIn(ROUTE, gateway.world.objects)
        self.assertEqual('frr_static is down',
                         outcome.unreadable['frr_static'])

    def test_and_when_nobody_knows_what_is_announced(self):
        # What a former run announced is not known before FRR was read.
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP]))
        gateway.reconciler.close()
        gateway.start()
        gateway.world.down.add('frr_static')
        gateway.run(worlds.router())
        self.assertIn(ROUTE, gateway.world.objects)
        self.assertIn(HAIRPIN, gateway.world.objects)
        gateway.world.down.clear()
        gateway.clock += 60
        self.assertTrue(gateway.run(worlds.router()).settled)
        self.assertNotIn(ROUTE, gateway.world.objects)
        self.assertEqual({'198.51.100.1/32'}, gateway.addresses())

    def test_and_when_a_change_may_have_been_made_after_all(self):
        # Trap T43: what timed out in FRR may have got there.
        gateway = self.gateway()
        gateway.run()
        gateway.world.down.add('frr_static')
        gateway.run(worlds.router(fips=[FIP]))
        gateway.world.put(resources.Announcement(
            'vrf-provider', DST, '169.254.0.1'))
        gateway.run()
        self.assertIn((254, DST),
                      gateway.world.of(resources.KernelRoute))
        gateway.world.down.clear()
        gateway.clock += 60
        self.assertTrue(gateway.run().settled)
        self.assertEqual(set(), gateway.addresses())
        self.assertNotIn((254, DST),
                         gateway.world.of(resources.KernelRoute))

    def test_an_announcement_follows_its_flows_to_a_new_port(self):
        # The flow that it requires has another key afterwards.
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP]))
        moved = worlds.router(fips=[FIP], ports=(
            worlds.port(segment=worlds.segment(patch_port=7)),))
        self.assertTrue(gateway.run(moved).settled)
        del gateway.world.objects[ANNOUNCEMENT]
        outcome = gateway.run(moved, stale=['frr_static'])
        self.assertTrue(outcome.settled, outcome.failures)
        self.assertIn(DST, gateway.addresses())

    def test_many_failures_cost_no_more_than_their_number(self):
        # Every address fails in one plane: looking each of them up among
        # all the failures would take minutes.
        fips = ['10.%d.%d.7' % (n // 250, n % 250) for n in range(5000)]
        router = worlds.router(fips=fips, ports=(worlds.port(
            networks=('10.0.0.1/8',)),))
        gateway = self.gateway()
        gateway.world.down.add('flow')
        ended = threading.Event()
        loop = threading.Thread(
            target=lambda: (gateway.run(router), ended.set()), daemon=True)
        loop.start()
        self.assertTrue(ended.wait(20))
        self.assertEqual(set(), gateway.addresses())


class IsolationTest(ReconcilerTestCase):

    def test_one_bad_item_costs_only_itself(self):
        gateway = self.gateway()
        bad = resources.Ref('sysctl', ('net/ipv4/conf/br-ex/proxy_arp',))
        gateway.world.refuses[bad] = 'read-only file system'
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual({bad: 'read-only file system'}, outcome.failures)
        self.assertIn(DST, gateway.addresses())

    def test_what_was_refused_is_not_tried_at_every_event(self):
        gateway = self.gateway()
        gateway.world.refuses[ROUTE] = 'no memory'
        gateway.run(worlds.router(fips=[FIP]))
        gateway.world.refuses.clear()
        # Another event, before the time: still failed, nothing tried.
        outcome = gateway.run(worlds.router(fips=[FIP, '198.51.100.11']))
        self.assertEqual('no memory', outcome.failures[ROUTE])
        self.assertNotIn(DST, gateway.addresses())
        self.assertIn('198.51.100.11/32', gateway.addresses())
        self.assertIsNotNone(gateway.reconciler.next_retry())
        gateway.clock += 60
        self.assertTrue(gateway.run(
            worlds.router(fips=[FIP, '198.51.100.11'])).settled)
        self.assertIn(DST, gateway.addresses())

    def test_what_was_refused_is_tried_when_its_backend_is_in_doubt(self):
        gateway = self.gateway()
        gateway.world.refuses_once[ROUTE] = 'no such device'
        gateway.run(worlds.router(fips=[FIP]))
        self.assertTrue(gateway.run(worlds.router(fips=[FIP]),
                                    stale=['route']).settled)

    def test_a_last_pass_does_not_wait_for_the_time(self):
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP]))
        gateway.world.refuses_once[ANNOUNCEMENT] = 'vtysh is stuck'
        gateway.run(phase=model.Phase.STOPPED)
        gateway.run(phase=model.Phase.STOPPED)
        self.assertNotIn(ANNOUNCEMENT, gateway.world.objects)

    def test_a_backend_that_is_down_costs_only_itself(self):
        gateway = self.gateway()
        gateway.world.down.add('northbound')
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual(['northbound'], list(outcome.unreadable))
        self.assertEqual({}, gateway.world.of(resources.DefaultRoute))
        self.assertIn(DST, gateway.addresses())

    def test_port_forwards_without_their_plane(self):
        """Row LOOP-01: no nftables, no VIP, and all else as ever."""
        gateway = self.gateway()
        gateway.drivers.append(port_forward.PortForwardDriver(
            'port_forward', worlds.conf()))
        gateway.start()
        view = dataclasses.replace(
            worlds.snapshot(worlds.router(fips=[FIP])),
            forwards=port_forwards.Forwards((golden.vip(),), True))
        gateway.world.down.add('nftables')
        outcome = gateway.reconciler.run(passes.Pass(view))
        self.assertEqual(['nftables'], list(outcome.unreadable))
        self.assertIn(DST, gateway.addresses())
        self.assertEqual({}, gateway.world.of(resources.VipAddress))
        # By itself, and not before its back-off is over.
        gateway.world.down.clear()
        self.assertFalse(gateway.reconciler.run(passes.Pass(view)).settled)
        gateway.clock += gateway.reconciler.next_retry()
        self.assertTrue(gateway.reconciler.run(passes.Pass(view)).settled)
        self.assertEqual([('loopback1', '192.0.2.53/32')],
                         list(gateway.world.of(resources.VipAddress)))

    def test_a_backend_with_a_bug_costs_only_itself(self):
        gateway = self.gateway()
        gateway.world.raises['northbound'] = KeyError('a bug')
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertIn('a bug', outcome.unreadable['northbound'])
        self.assertIn(DST, gateway.addresses())
        gateway.world.raises.clear()
        gateway.clock += 60
        self.assertTrue(gateway.run(worlds.router(fips=[FIP])).settled)

    def test_a_backend_that_gets_its_bug_later(self):
        gateway = self.gateway()
        gateway.run(worlds.router())
        gateway.world.raises['rule'] = KeyError('a bug')
        other = worlds.router(2, fips=[FIP], ports=(worlds.port(
            2, networks=('203.0.113.2/24',)),),
            nats=(worlds.fip('203.0.113.9'),))
        outcome = gateway.run(worlds.router(), other)
        self.assertIn('a bug', outcome.unreadable['rule'])
        self.assertIn('203.0.113.9/32', gateway.addresses())

    def test_nothing_is_withdrawn_from_what_cannot_be_read(self):
        for name in worlds.BACKENDS:
            gateway = self.gateway()
            gateway.run(worlds.router(fips=[FIP]))
            before = gateway.world.values()
            gateway.world.down.add(name)
            outcome = gateway.run(worlds.router(fips=[FIP]), full=True)
            self.assertEqual(before, gateway.world.values())
            self.assertEqual([name], list(outcome.unreadable))

    def test_what_is_down_is_not_asked_at_every_event(self):
        gateway = self.gateway()
        gateway.world.down.add('frr_static')
        gateway.run(worlds.router(fips=[FIP]))
        gateway.world.down.clear()
        reads = len(gateway.world.reads)
        gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual(reads, len(gateway.world.reads))
        self.assertEqual(1, gateway.reconciler.next_retry())
        gateway.clock += 1
        self.assertTrue(gateway.run(worlds.router(fips=[FIP])).settled)
        self.assertIsNone(gateway.reconciler.next_retry())
        self.assertIn(DST, gateway.addresses())

    def test_a_change_that_worked_is_no_reading(self):
        # What vanished is noticed by reading only: that it failed must not
        # be forgotten because a change came through.
        gateway = self.gateway()
        gateway.run(worlds.router(fips=[FIP]))
        del gateway.world.objects[ANNOUNCEMENT]
        gateway.world.mute.add('frr_static')
        router = worlds.router(fips=[FIP, '198.51.100.11'])
        outcome = gateway.run(router, stale=['frr_static'])
        self.assertIn('198.51.100.11/32', gateway.addresses())
        self.assertEqual({'frr_static': 'frr_static cannot be read'},
                         outcome.unreadable)
        self.assertEqual(1, gateway.reconciler.next_retry())
        gateway.world.mute.clear()
        gateway.clock += 1
        self.assertTrue(gateway.run(router).settled)
        self.assertIn(DST, gateway.addresses())

    def test_a_retry_needs_no_other_reason(self):
        gateway = self.gateway()
        gateway.world.refuses_once[ROUTE] = 'no memory'
        gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual(1, gateway.reconciler.next_retry())

    def test_what_half_failed_is_read_again(self):
        # The item is there although it was reported as failed.
        gateway = self.gateway()
        gateway.world.refuses_once[ROUTE] = 'answer lost'
        gateway.run(worlds.router(fips=[FIP]))
        gateway.world.put(resources.KernelRoute(254, DST, 'br-ex'))
        gateway.clock += 60
        del gateway.world.journal[:]
        self.assertTrue(gateway.run(worlds.router(fips=[FIP])).settled)
        self.assertEqual([('create', HAIRPIN), ('create', ANNOUNCEMENT),
                          ('create', PROOF)], gateway.world.journal)


class DriverTest(ReconcilerTestCase):

    def two(self):
        one = worlds.router(1, fips=[FIP])
        two = worlds.router(2, fips=['198.51.100.20'])
        return one, two

    def test_an_event_on_one_router_costs_that_router(self):
        gateway = self.gateway()
        routers = [worlds.router(n, ['198.51.100.%d' % (100 + n)])
                   for n in range(1, 50)]
        gateway.run(*routers)
        del gateway.fip_route.asked[:], gateway.world.journal[:]
        del gateway.world.reads[:]
        routers[7] = worlds.router(8, ['198.51.100.108', '198.51.100.240'])
        outcome = gateway.run(*routers)
        self.assertEqual([routers[7].uuid], gateway.fip_route.asked)
        self.assertEqual(
            ['kernel_route', 'flow', 'announcement'],
            [ref.kind for _verb, ref in gateway.world.journal])
        self.assertEqual(3, outcome.changes)
        self.assertEqual([], gateway.world.reads)

    def test_a_gateway_that_dies_costs_no_other_router(self):
        # Its relays answer no more at the moment when others take over.
        gateway = self.gateway()
        for alive in (True, False):
            del gateway.fip_route.asked[:]
            gateway.reconciler.run(passes.Pass(worlds.snapshot(
                *self.two(), relays=(
                    model.Relay('br-ex', '192.0.2.2', 9, alive),))))
        self.assertEqual([], gateway.fip_route.asked)

    def test_a_driver_that_raises_keeps_what_it_wanted_last(self):
        gateway = self.gateway()
        one, two = self.two()
        gateway.run(one, two)
        before = gateway.world.values()
        gateway.fip_route.raises_for.add(one.uuid)
        changed = dataclasses.replace(one, nats=())
        two = worlds.router(2, fips=['198.51.100.21'])
        outcome = gateway.run(changed, two)
        self.assertIn('a bug',
                      outcome.broken['fip_route', one.uuid])
        self.assertFalse(outcome.settled)
        self.assertIn(DST, gateway.addresses())
        self.assertIn('198.51.100.21/32', gateway.addresses())
        self.assertNotIn('198.51.100.20/32', gateway.addresses())
        self.assertLess(before - gateway.world.values(), before)
        gateway.fip_route.raises_for.clear()
        self.assertTrue(gateway.run(changed, two).settled)
        self.assertNotIn(DST, gateway.addresses())

    def test_it_is_well_again_when_its_input_is_as_before(self):
        gateway = self.gateway()
        one, _two = self.two()
        gateway.run(one)
        gateway.fip_route.raises_for.add(one.uuid)
        self.assertTrue(gateway.run(
            dataclasses.replace(one, nats=())).broken)
        self.assertEqual({}, gateway.run(one).broken)

    def test_its_trouble_goes_with_the_router(self):
        gateway = self.gateway()
        one, two = self.two()
        gateway.fip_route.raises_for.add(one.uuid)
        self.assertTrue(gateway.run(one, two).broken)
        self.assertEqual({}, gateway.run(two).broken)

    def test_what_is_no_resource_costs_only_its_contribution(self):
        class Careless(drivers.Driver):
            def for_router(self, router, node):
                return ['route %s' % router.name]

        gateway = self.gateway()
        gateway.drivers.append(Careless('careless', None))
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertIn('is not a resource', str(outcome.broken))
        self.assertIn(DST, gateway.addresses())

    def test_what_nobody_can_make_is_reported(self):
        @dataclasses.dataclass(frozen=True, slots=True)
        class Exotic(resources.Resource):
            name: str
            kind = 'exotic'

            @property
            def key(self):
                return (self.name,)

        class Dreamer(drivers.Driver):
            def for_node(self, node):
                return [Exotic('one')]

        gateway = self.gateway()
        gateway.drivers.append(Dreamer('dreamer', None))
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual(
            ['driver dreamer on node: ValueError: no backend makes resources '
             'of the kind exotic; install the package that has this backend'],
            outcome.degraded)
        self.assertIn(DST, gateway.addresses())

    def test_a_conflict_is_reported_and_changes_nothing_else(self):
        gateway = self.gateway()
        one = worlds.router(1, fips=[FIP])
        two = worlds.router(2, fips=[FIP, '198.51.100.20'])
        outcome = gateway.run(one, two)
        self.assertEqual([HAIRPIN], list(outcome.failures))
        self.assertEqual('fa:16:3e:00:00:01',
                         gateway.world.objects[HAIRPIN].set_dst)
        self.assertIn('198.51.100.20/32', gateway.addresses())
        self.assertTrue(gateway.run(two).settled)
        self.assertEqual('fa:16:3e:00:00:02',
                         gateway.world.objects[HAIRPIN].set_dst)


class Reporting(drivers.Driver):
    """Leaves routers out, and says so."""

    def for_router(self, router, node):
        if not router.nats:
            yield resources.Problem('router %s has no NAT' % router.name)


class ProblemTest(ReconcilerTestCase):

    def setUp(self):
        super().setUp()
        self.made = self.gateway()
        self.made.drivers.append(Reporting('reporting', worlds.conf()))
        self.made.start()
        self.log = self.useFixture(fixtures.FakeLogger())

    def test_it_lasts_as_long_as_its_reason(self):
        text = 'router %s has no NAT' % worlds.router().name
        for _event in range(2):
            outcome = self.made.run(worlds.router())
            self.assertEqual((text,), outcome.problems)
            self.assertIn(text, outcome.degraded)
            # It is nothing that a retry would change.
            self.assertTrue(outcome.settled)
            self.assertIsNone(self.made.reconciler.next_retry())
        self.assertEqual(1, self.log.output.count('Left out: ' + text))
        outcome = self.made.run(worlds.router(fips=[FIP]))
        self.assertEqual([], outcome.degraded)
        self.assertIn('No longer left out: ' + text, self.log.output)

    def test_it_goes_with_its_router(self):
        self.made.run(worlds.router())
        self.assertEqual((), self.made.run().problems)

    def test_it_is_in_the_plan(self):
        _steps, outcome = self.made.reconciler.plan(
            worlds.snapshot(worlds.router()))
        self.assertEqual(1, len(outcome.problems))


class PhaseTest(ReconcilerTestCase):

    def test_stopped_leaves_nothing_but_what_others_need(self):
        gateway = self.gateway()
        moved = worlds.router(2, ports=(worlds.port(
            2, local=False, chassis=worlds.OTHER),), default_routes=(
            model.NbDefaultRoute('198.51.100.254', 'lrp-2', True,
                                 worlds.HOSTNAME),))
        theirs = {
            resources.DefaultRoute(moved.uuid, 'lrp-2', '198.51.100.254',
                                   worlds.HOSTNAME),
            resources.MacBinding('lrp-2', '198.51.100.254',
                                 worlds.BRIDGE_MAC)}
        gateway.world.put(*theirs)
        gateway.run(worlds.router(fips=[FIP]), moved)
        self.assertLess(theirs, gateway.world.values())
        outcome = gateway.run(worlds.router(fips=[FIP]), moved,
                              phase=model.Phase.STOPPED)
        self.assertTrue(outcome.settled)
        left = gateway.world.values()
        self.assertEqual(theirs, {r for r in left if not r.retained})
        # A sysctl's earlier value is not known, so it stays as it is.
        # And the proof goes with its route.
        self.assertEqual({'sysctl', 'link_up', 'advertised'},
                         {r.kind for r in left - theirs})

    def test_stopped_keeps_nothing_in_doubt(self):
        """A segment that cannot be used; nobody is left to use it again."""
        for segment in (None, worlds.segment(patch_port=0),
                        worlds.segment(bridge='', device='', mac='')):
            gateway = self.gateway()
            gateway.run(worlds.router(fips=[FIP]))
            doubtful = worlds.router(
                fips=[FIP], ports=(worlds.port(segment=segment),))
            self.assertTrue(gateway.run(doubtful).settled)
            self.assertIn(DST, gateway.addresses())
            self.assertEqual(1, len(gateway.world.of(
                resources.DefaultRoute)))
            outcome = gateway.run(doubtful, phase=model.Phase.STOPPED)
            self.assertTrue(outcome.settled, outcome)
            self.assertEqual(set(), gateway.addresses())
            self.assertEqual(set(), {
                r for r in gateway.world.values() if not r.retained})

    def test_nor_when_its_driver_raises_then(self):
        gateway = self.gateway()
        doubtful = worlds.router(fips=[FIP],
                                 ports=(worlds.port(segment=None),))
        gateway.run(worlds.router(fips=[FIP]))
        gateway.run(doubtful)
        gateway.fip_route.raises_for.add(doubtful.uuid)
        gateway.run(doubtful, phase=model.Phase.STOPPED)
        self.assertEqual(set(), gateway.addresses())

    def test_a_driver_that_raises_then_leaves_nothing_either(self):
        gateway = self.gateway()
        router = worlds.router(fips=[FIP])
        gateway.run(router)
        gateway.fip_route.raises_for.add(router.uuid)
        outcome = gateway.run(router, phase=model.Phase.STOPPED)
        self.assertTrue(outcome.settled)
        self.assertEqual(set(), gateway.addresses())
        self.assertNotIn(ROUTE, gateway.world.objects)

    def test_nothing_is_deleted_before_the_view_is_complete(self):
        gateway = self.gateway()
        stray = resources.KernelRoute(254, '203.0.113.9/32', 'br-ex')
        gateway.world.put(stray)
        outcome = gateway.run(prune=False)
        self.assertTrue(outcome.changes)
        self.assertIn(stray, gateway.world.values())
        gateway.run()
        self.assertNotIn(stray, gateway.world.values())

    def test_a_router_that_left_is_withdrawn(self):
        gateway = self.gateway()
        gateway.run(worlds.router(1, [FIP]),
                    worlds.router(2, ['198.51.100.20']))
        gateway.run(worlds.router(1, [FIP]))
        self.assertEqual({'198.51.100.1/32', DST}, gateway.addresses())

    def test_no_router_at_all(self):
        """Rows FIP-15, OVS-04 and VETH-07, of a candidate and without."""
        router = worlds.router(1, [FIP])
        standby = [worlds.group(worlds.away(router))]
        for groups, prepare, prepared in (
                ((), True, False), (standby, False, False),
                (standby, True, True)):
            gateway = self.gateway(fip_route__standby_prepare=prepare)
            gateway.run()
            bare = gateway.world.values()
            gateway.run(router, groups=groups and [worlds.group(router)])
            gateway.run(groups=groups)
            self.assertEqual(
                PREPARED if prepared else set(),
                {r.ref for r in gateway.world.values() - bare
                 if not r.retained})
            self.assertLessEqual(bare, gateway.world.values())
            self.assertEqual(set(), gateway.addresses())
            # At the stop it goes, too.
            gateway.run(groups=groups, phase=model.Phase.STOPPED)
            self.assertEqual(set(), {r for r in gateway.world.values()
                                     if not r.retained})


class MethodTest(ReconcilerTestCase):
    """The announce method changes while addresses are announced."""

    FIPS = (FIP, '198.51.100.11')

    def setUp(self):
        super().setUp()
        self.routers = [worlds.router(fips=self.FIPS)]
        self.prefixes = {a + '/32' for a in (*self.FIPS, '198.51.100.1')}

    def announced(self, gateway, kind):
        return {r.subject for r in gateway.world.of(kind).values()}

    def switched(self, gateway, old, new):
        """All of it, each address without a gap, nothing else touched."""
        self.assertEqual(self.prefixes, self.announced(gateway, new))
        self.assertEqual(set(), self.announced(gateway, old))
        changes = gateway.world.journal
        self.assertEqual(
            ['create'] * 3 + ['delete'] * 3, [v for v, _ref in changes])
        self.assertEqual({old.kind, new.kind},
                         {ref.kind for _verb, ref in changes})

    def methods(self):
        static, kernel = resources.Announcement, resources.AnnouncedRoute
        return (('static', static, 'kernel', kernel),
                ('kernel', kernel, 'static', static))

    def started(self, method, **options):
        gateway = self.gateway(fip_route__announce_method=method, **options)
        self.assertTrue(gateway.run(*self.routers).settled)
        del gateway.world.journal[:]
        return gateway

    def test_while_it_runs(self):
        for vrf in ('vrf-provider', ''):
            for before, old, after, new in self.methods():
                gateway = self.started(before, frr__vrf_name=vrf)
                gateway.fip_route.conf.set_override(
                    'announce_method', after, group='fip_route')
                self.assertTrue(
                    gateway.run(*self.routers, full=True).settled)
                self.switched(gateway, old, new)

    def test_over_a_restart(self):
        for before, old, after, new in self.methods():
            world = self.started(before).world
            gateway = self.gateway(world=world,
                                   fip_route__announce_method=after)
            gateway.run(prune=False)
            del world.journal[:]
            self.assertTrue(gateway.run(*self.routers).settled)
            self.switched(gateway, old, new)

    def test_the_old_one_waits_until_frr_knows_the_new_one(self):
        for before, old, after, new in self.methods():
            world = self.started(before).world
            gateway = self.gateway(world=world,
                                   fip_route__announce_method=after)
            ref = next(r.ref for r in fip_announcements(gateway)
                       if r.subject == DST)
            world.unknown.add(ref)
            outcome = gateway.run(*self.routers)
            self.assertEqual({DST}, self.announced(gateway, old))
            self.assertEqual(self.prefixes, self.announced(gateway, new))
            self.assertIn('until FRR knows', str(outcome.failures))
            self.assertIsNotNone(gateway.reconciler.next_retry())
            world.unknown.clear()
            self.assertTrue(gateway.run(*self.routers).settled)
            self.switched(gateway, old, new)

    def test_an_answer_that_takes_long_counts_when_it_comes(self):
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.engine.executor.PATIENCE', 0.01))
        for before, old, after, new in self.methods():
            world = self.started(before).world
            gateway = self.gateway(world=world,
                                   fip_route__announce_method=after)
            slow = gateway.backend(
                'frr_static' if after == 'static' else 'route')
            self.addCleanup(slow.answers.set)
            slow.answers.clear()
            for _pass in range(3):
                outcome = gateway.run(*self.routers)
                self.assertIn('until FRR knows', str(outcome.failures))
                self.assertEqual(self.prefixes, self.announced(gateway, old))
            self.assertEqual([], gateway.woken)
            slow.answers.set()
            deadline = time.monotonic() + 10
            while not gateway.woken:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.001)
            self.assertEqual([slow.name + ' answered'], gateway.woken)
            # No further question: the answer is there.
            slow.answers.clear()
            self.assertTrue(gateway.run(*self.routers).settled)
            self.switched(gateway, old, new)

    def test_the_old_one_stays_while_the_new_one_fails(self):
        for before, old, after, new in self.methods():
            for trouble in ('down', 'raises', 'refuses'):
                world = self.started(before).world
                gateway = self.gateway(world=world,
                                       fip_route__announce_method=after)
                if trouble == 'refuses':
                    world.refuses.update(
                        (r.ref, 'no') for r in fip_announcements(gateway))
                elif after == 'static':
                    world.down.add('frr_static')
                    if trouble == 'raises':
                        world.raises['frr_static'] = KeyError('a bug')
                else:
                    continue
                gateway.run(*self.routers)
                self.assertEqual(self.prefixes,
                                 self.announced(gateway, old))
                for what in (world.refuses, world.down, world.raises):
                    what.clear()
                gateway.clock += 100
                self.assertTrue(gateway.run(*self.routers).settled)
                self.switched(gateway, old, new)

    def test_what_is_withdrawn_meanwhile_goes(self):
        # Nothing takes its place.
        world = self.started('kernel').world
        gateway = self.gateway(world=world)
        self.assertTrue(gateway.run().settled)
        self.assertEqual(set(), self.announced(
            gateway, resources.AnnouncedRoute))

    def test_the_end_does_not_wait(self):
        world = self.started('kernel').world
        gateway = self.gateway(world=world)
        world.unknown.update(r.ref for r in fip_announcements(gateway))
        gateway.run(*self.routers)
        self.assertTrue(gateway.run(
            *self.routers, phase=model.Phase.STOPPED).settled)
        self.assertEqual(set(), self.announced(
            gateway, resources.AnnouncedRoute) | gateway.addresses())


def fip_announcements(gateway):
    """What fip_route announces for the routers of MethodTest."""
    return [r for r in gateway.fip_route.for_router(
        worlds.router(fips=MethodTest.FIPS), worlds.node())
        if r.kind in ('announcement', 'announced_route')]


class BesideTest(ReconcilerTestCase):

    def slow(self):
        """A gateway whose northbound works beside the loop."""
        world = worlds.World()
        backends = worlds.backends(world)
        gateway = self.gateway(world=world, backends=backends)
        nb = gateway.backend('northbound')
        nb.concurrent = True
        self.addCleanup(nb.gate.set)
        return gateway, nb

    def ended(self, gateway):
        self.assertTrue(gateway.reconciler.wait_beside(10))

    def test_a_slow_database_delays_nothing(self):
        # Trap T31: what is announced does not wait for OVN NB.
        gateway, nb = self.slow()
        nb.gate.clear()
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual(('northbound',), outcome.pending)
        self.assertFalse(outcome.settled)
        self.assertIn(DST, gateway.addresses())
        outcome = gateway.run(worlds.router(fips=[FIP, '198.51.100.11']))
        self.assertIn('198.51.100.11/32', gateway.addresses())
        self.assertEqual([], gateway.woken)
        nb.gate.set()
        self.ended(gateway)
        outcome = gateway.run(worlds.router(fips=[FIP, '198.51.100.11']))
        self.assertTrue(outcome.settled)
        self.assertEqual(['northbound done'], gateway.woken)
        self.assertEqual(1, len(gateway.world.of(resources.DefaultRoute)))

    def test_the_proof_waits_for_what_is_under_way_and_that_is_no_fault(
            self):
        gateway, nb = self.slow()
        nb.gate.clear()
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual([], outcome.degraded)
        self.assertNotIn(PROOF, gateway.world.objects)
        nb.gate.set()
        self.ended(gateway)
        self.assertTrue(gateway.run(worlds.router(fips=[FIP])).settled)
        self.assertIn(PROOF, gateway.world.objects)

    def test_no_proof_without_the_default_route(self):
        gateway, nb = self.slow()
        route = resources.Ref('default_route', (worlds.router().uuid,))
        gateway.world.refuses[route] = 'not ours'
        outcome = gateway.run(worlds.router(fips=[FIP]))
        while outcome.pending:
            self.ended(gateway)
            outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual({route, PROOF}, set(outcome.failures))
        self.assertNotIn(PROOF, gateway.world.objects)

    def test_those_that_come_last_do_not_wait_for_each_other(self):
        world = worlds.World()
        gateway = self.gateway(world=world, backends=worlds.backends(world))
        for name in ('advertised', 'gateway_priority'):
            gateway.backend(name).concurrent = True
        proof = gateway.backend('advertised')
        self.addCleanup(proof.gate.set)
        proof.gate.clear()
        lead = resources.GatewayPriority('Gateway_Chassis', 'g',
                                         worlds.CHASSIS, 2)
        gateway.drivers.append(Wanting('lead', worlds.conf(), lead))
        deadline = time.monotonic() + 10
        while (gateway.run(worlds.router(fips=[FIP])).pending !=
               ('advertised',)):
            self.assertLess(time.monotonic(), deadline)
        self.assertIn(lead.ref, world.objects)
        self.assertNotIn(PROOF, world.objects)

    def hanging(self, name='frr_static'):
        """A gateway where FRR may hang, and its backend that does."""
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.engine.executor.PATIENCE', 0.05))
        gateway = self.gateway(world=worlds.World())
        for each in ('frr_static', 'frr_prefix_list'):
            gateway.backend(each).system = 'FRR'
        self.settle(gateway)
        backend = gateway.backend(name)
        self.addCleanup(backend.gate.set)
        backend.gate.clear()
        return gateway, backend

    def settle(self, gateway, *routers):
        outcome = gateway.run(*routers)
        while outcome.pending:
            self.ended(gateway)
            outcome = gateway.run(*routers)
        self.assertTrue(outcome.settled, outcome)

    def routes(self, gateway):
        return {key[1] for key in gateway.world.of(resources.KernelRoute)}

    def test_frr_in_its_usual_time_needs_one_pass_and_wakes_nobody(self):
        # Trap T44, and the next three.
        gateway, frr = self.hanging()
        frr.gate.set()
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.engine.executor.PATIENCE', 10))
        del gateway.woken[:]
        self.assertTrue(gateway.run(worlds.router(fips=[FIP])).settled)
        self.assertTrue(gateway.run(full=True).settled)
        self.assertEqual([], gateway.woken)

    def test_what_is_being_announced_keeps_its_route(self):
        """Trap T44: the router has left before FRR has answered."""
        gateway, frr = self.hanging()
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual([], outcome.degraded)
        self.assertIn(DST, self.routes(gateway))
        self.assertEqual(set(), gateway.addresses())
        gateway.run()
        self.assertIn(DST, self.routes(gateway))
        frr.gate.set()
        self.settle(gateway)
        self.assertEqual(set(), gateway.addresses())
        self.assertNotIn(DST, self.routes(gateway))

    def test_what_is_being_withdrawn_keeps_its_route(self):
        # Trap T44: what the fabric sends on still has its way.
        gateway, frr = self.hanging()
        frr.gate.set()
        self.settle(gateway, worlds.router(fips=[FIP]))
        frr.gate.clear()
        for _pass in range(3):
            self.assertEqual([], gateway.run().degraded)
            self.assertIn(DST, self.routes(gateway))
        frr.gate.set()
        self.settle(gateway)
        self.assertEqual(set(), gateway.addresses())
        self.assertNotIn(DST, self.routes(gateway))

    def test_no_address_before_its_line_in_the_prefix_list(self):
        # Trap T44: the order is that of the stages.
        gateway, lines = self.hanging('frr_prefix_list')
        for _pass in range(3):
            gateway.run(worlds.router(fips=[FIP]))
            self.assertEqual(set(), gateway.addresses())
        self.assertIn(DST, self.routes(gateway))
        lines.gate.set()
        self.settle(gateway, worlds.router(fips=[FIP]))
        order = gateway.world.order('create')
        self.assertLess(order.index('prefix_list_entry'),
                        order.index('announcement'))

    def test_work_is_never_done_twice_at_a_time(self):
        gateway, nb = self.slow()
        nb.gate.clear()
        for _pass in range(5):
            gateway.run(worlds.router())
        nb.gate.set()
        self.ended(gateway)
        gateway.run(worlds.router())
        self.assertEqual(
            1, [ref.kind for _v, ref in gateway.world.journal].count(
                'default_route'))

    def test_what_changed_meanwhile_is_read_when_it_has_ended(self):
        # Somebody else writes while we do, and the notice comes before our
        # own work is collected.
        gateway, nb = self.slow()
        nb.gate.clear()
        gateway.run(worlds.router())
        nb.gate.set()
        self.ended(gateway)
        ref = resources.Ref('mac_binding', ('lrp-1', '198.51.100.254'))
        gateway.world.put(dataclasses.replace(
            gateway.world.objects[ref], mac='0a:00:00:00:00:99'))
        gateway.run(worlds.router(), stale=['northbound'])
        self.ended(gateway)
        self.assertTrue(gateway.run(worlds.router()).settled)
        self.assertEqual(worlds.BRIDGE_MAC, gateway.world.objects[ref].mac)

    def test_a_failure_comes_back(self):
        gateway, nb = self.slow()
        gateway.run()
        gateway.world.down.add('northbound')
        gateway.run(worlds.router())
        self.ended(gateway)
        outcome = gateway.run(worlds.router())
        self.assertEqual('northbound is down',
                         outcome.unreadable['northbound'])
        self.assertFalse(outcome.settled)
        gateway.world.down.clear()
        gateway.clock += 60
        gateway.run(worlds.router())
        self.ended(gateway)
        self.assertTrue(gateway.run(worlds.router()).settled)

    def test_a_bug_beside_the_loop_costs_only_its_plane(self):
        gateway, nb = self.slow()
        gateway.run()
        gateway.world.raises['northbound'] = KeyError('a bug')
        gateway.run(worlds.router())
        self.ended(gateway)
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertIn('a bug', outcome.unreadable['northbound'])
        self.assertIn(DST, gateway.addresses())


class PlanTest(ReconcilerTestCase):

    def planned(self, gateway, *routers):
        before = gateway.world.values()
        steps, outcome = gateway.reconciler.plan(worlds.snapshot(*routers))
        self.assertEqual(before, gateway.world.values())
        self.assertEqual([], gateway.world.journal)
        return [(verb, resource.ref) for verb, resource in steps], outcome

    def test_it_is_what_a_pass_then_does(self):
        gateway = self.gateway()
        gateway.world.put(
            resources.KernelRoute(254, '203.0.113.9/32', 'br-ex'),
            resources.KernelRoute(254, DST, 'br-other'),
            resources.Announcement('vrf-provider', '203.0.113.9/32',
                                   '169.254.0.1'))
        routers = (worlds.router(1, [FIP]),
                   worlds.router(2, ['198.51.100.20']))
        steps, outcome = self.planned(gateway, *routers)
        self.assertTrue(outcome.settled)
        self.assertEqual({'create', 'update', 'delete'},
                         {verb for verb, _ref in steps})
        gateway.start()
        gateway.run(*routers)
        self.assertEqual(steps, gateway.world.journal)

    def test_where_all_is_well_it_is_empty(self):
        gateway = self.gateway()
        gateway.run(worlds.router(1, [FIP]))
        del gateway.world.journal[:]
        gateway.start()
        steps, _outcome = self.planned(gateway, worlds.router(1, [FIP]))
        self.assertEqual([], steps)

    def test_it_says_what_cannot_be_read(self):
        gateway = self.gateway()
        gateway.world.down.add('frr_static')
        stray = resources.KernelRoute(254, '203.0.113.9/32', 'br-ex')
        gateway.world.put(stray)
        steps, outcome = self.planned(gateway, worlds.router(1, [FIP]))
        self.assertEqual(['frr_static: frr_static is down'],
                         outcome.degraded)
        # And what it says for certain is what a pass then does.
        gateway.start()
        gateway.run(worlds.router(1, [FIP]))
        self.assertEqual([step for step in steps if step[0] != 'unknown'],
                         gateway.world.journal)
        self.assertEqual(
            {ANNOUNCEMENT, PROOF, stray.ref, resources.Ref(
                'announcement', ('vrf-provider', '198.51.100.1/32'))},
            {ref for verb, ref in steps if verb == 'unknown'})


# An address that several routers want: a conflict.
SHARED = '198.51.100.99'


def routers_of(number):
    """Strategies for one of a few routers; now and then they conflict."""
    port = strategies.builds(
        worlds.port, strategies.just(number),
        local=strategies.booleans(),
        segment=strategies.sampled_from(
            [worlds.segment(), worlds.segment(), worlds.segment(
                patch_port=4), worlds.segment(patch_port=0), None]))
    return strategies.builds(
        worlds.router, strategies.just(number),
        fips=strategies.sets(strategies.sampled_from(
            ['198.51.100.%d' % (number * 10 + n) for n in range(9)] +
            ['2001:db8::%d' % number, SHARED])),
        ports=strategies.tuples(port),
        default_routes=strategies.sampled_from([
            (), (), (model.NbDefaultRoute('198.51.100.9', '', False),)]))


class IncrementalMachine(stateful.RuleBasedStateMachine):
    """Events in any order, with failures: it ends as if built afresh."""

    @stateful.initialize(method=strategies.sampled_from(
        ['static', 'kernel']), table=strategies.sampled_from([0, 201]),
        vrf=strategies.sampled_from(['vrf-provider', '']))
    def start(self, method, table, vrf):
        self.options = {'fip_route__announce_method': method,
                        'fip_route__route_table_id': table,
                        'frr__vrf_name': vrf}
        self.gateway = Gateway(**self.options)
        self.routers = {}
        self.node = {}
        self.full = False

    # -- what happens -----------------------------------------------------

    @stateful.rule(data=strategies.data(),
                   number=strategies.integers(2, 5))
    def change(self, data, number):
        self.routers[number] = data.draw(routers_of(number))

    @stateful.rule(number=strategies.integers(2, 5))
    def remove(self, number):
        self.routers.pop(number, None)

    @stateful.rule(method=strategies.sampled_from(['static', 'kernel']))
    def change_method(self, method):
        self.options['fip_route__announce_method'] = method
        self.gateway.fip_route.conf.set_override(
            'announce_method', method, group='fip_route')
        self.full = True

    @stateful.rule(there=strategies.booleans())
    def change_devices(self, there):
        """The VRF vanishes or comes back."""
        self.node = {} if there else {
            'devices': worlds.node().devices[:1]}

    @stateful.rule(number=strategies.integers(2, 5),
                   kind=strategies.sampled_from(
                       ['kernel_route', 'announcement', 'announced_route',
                        'flow']))
    def refuse_once(self, number, kind):
        dst = '198.51.100.%d0/32' % number
        keys = {'kernel_route': (254, dst), 'announced_route': (10, dst),
                'announcement': ('vrf-provider', dst),
                'flow': ('br-ex', 910, 3, 4, dst)}
        self.gateway.world.refuses_once[
            resources.Ref(kind, keys[kind])] = 'once'

    @stateful.rule(number=strategies.integers(2, 5))
    def a_bug_in_a_driver(self, number):
        self.gateway.fip_route.raises_for ^= {worlds.router(number).uuid}

    @stateful.rule(name=strategies.sampled_from(sorted(worlds.BACKENDS)))
    def drop_out(self, name):
        self.gateway.world.down.add(name)

    @stateful.rule(name=strategies.sampled_from(sorted(worlds.BACKENDS)))
    def come_back(self, name):
        self.gateway.world.down.discard(name)

    @stateful.rule()
    def frr_is_slow(self):
        """It does not know yet what it was told last."""
        self.gateway.world.unknown.update(
            ref for ref in self.gateway.world.objects
            if ref.kind in ('announcement', 'announced_route'))

    @stateful.rule(name=strategies.sampled_from(sorted(worlds.BACKENDS)))
    def lose_something(self, name):
        """Somebody else removes things of one backend, and it is seen."""
        kinds = {k.kind for k in worlds.BACKENDS[name]}
        objects = self.gateway.world.objects
        for ref in [r for r in objects if r.kind in kinds][::2]:
            del objects[ref]
        self.gateway.reconciler.heed([name])

    @stateful.rule()
    def restart(self):
        self.gateway.reconciler.close()
        self.gateway.start()

    # -- what follows -----------------------------------------------------

    @stateful.rule(seconds=strategies.sampled_from([0, 5]),
                   urgent=strategies.booleans())
    def run_a_pass(self, seconds, urgent):
        self.gateway.clock += seconds
        self.pass_in_order(urgent)

    # Often enough that most of what happens is seen by a pass of its own.
    run_another = run_one_more = run_a_pass

    def pass_in_order(self, urgent=False):
        """A pass; what it did, it did in the right order."""
        world = self.gateway.world
        del world.journal[:]
        before = dict(world.objects)
        outcome = self.gateway.run(*self.routers.values(), full=self.full,
                                   urgent=urgent, **self.node)
        self.full = False
        made = [ref for verb, ref in world.journal if verb != 'delete']
        gone = [ref for verb, ref in world.journal if verb == 'delete']
        # First all that comes, up the stages, then all that goes, down.
        assert [ref for _verb, ref in world.journal] == made + gone
        # Only what is made can be in a hurry.
        for refs, objects, hurried in ((made, world.objects, urgent),
                                       (gone[::-1], before, False)):
            stages = [(hurried and objects[ref].follows,
                       objects[ref].stage) for ref in refs]
            assert stages == sorted(stages), stages
        self.nothing_wanted_goes(gone, before)
        self.nothing_is_announced_too_early(made)
        self.nothing_is_taken_from_under(gone, before)
        return outcome

    def nothing_wanted_goes(self, gone, before):
        """Nor an announcement before what takes its place is known."""
        tracker, world = self.gateway.reconciler.tracker, self.gateway.world
        wanted = {r.subject: r.ref for r in tracker.wanted()
                  if r.stage is resources.Stage.ANNOUNCE}
        for ref in gone:
            assert tracker.desired(ref) is None, ref
            if before[ref].stage is resources.Stage.ANNOUNCE:
                successor = wanted.get(before[ref].subject)
                assert (successor is None or
                        successor in world.objects.keys() - world.unknown)

    def nothing_is_announced_too_early(self, made):
        tracker, world = self.gateway.reconciler.tracker, self.gateway.world
        # What was removed where nobody can look counts as it was last seen.
        unseen = {kind.kind for name in world.down
                  for kind in worlds.BACKENDS[name]}
        for ref in made:
            for needed in tracker.desired(ref).requires:
                assert (needed.kind in unseen or tracker.desired(needed) ==
                        world.objects.get(needed)), (ref, needed)

    def nothing_is_taken_from_under(self, gone, before):
        """What is still announced by mistake keeps what it rests on."""
        tracker = self.gateway.reconciler.tracker
        unwanted = {r.subject for r in tracker.delta(
            ['announcement', 'announced_route']).delete}
        wanted = {r.subject for r in tracker.wanted()
                  if r.stage is resources.Stage.ANNOUNCE}
        for ref in gone:
            if before[ref].stage is not resources.Stage.ANNOUNCE:
                assert before[ref].subject not in unwanted - wanted, ref

    @stateful.rule()
    def settle(self):
        world = self.gateway.world
        world.down.clear()
        world.refuses_once.clear()
        world.unknown.clear()
        self.gateway.fip_route.raises_for.clear()
        for _pass in range(3):
            self.gateway.clock += 100
            outcome = self.pass_in_order()
        fresh = Gateway(**self.options)
        expected = fresh.run(*self.routers.values(), **self.node)
        fresh.reconciler.close()
        # Conflicts, and nothing else; and the same ones.
        assert outcome.failures == expected.failures, outcome
        assert outcome.degraded == expected.degraded, outcome
        # Doubtful segments keep what is there, so only what is wanted is
        # determined by the present alone.
        wanted, present = fresh.world.values(), world.values()
        assert wanted <= present, wanted - present
        kept = {k.of for r in self.routers.values()
                for k in fresh.fip_route.for_router(
                    r, worlds.node(**self.node)) if k.kind == 'keep'}
        surplus = {r.ref for r in present - wanted if not r.retained}
        assert surplus <= kept, surplus - kept
        # And a full recompute has nothing to do.
        self.full = True
        assert self.pass_in_order().changes == 0, world.journal

    def teardown(self):
        if hasattr(self, 'gateway'):
            self.settle()
            self.gateway.reconciler.close()


class IncrementalTest(base.BaseTestCase):

    def test_it_is_as_if_built_afresh(self):
        stateful.run_state_machine_as_test(
            IncrementalMachine, settings=hypothesis.settings(
                max_examples=budget.examples(60), stateful_step_count=30,
                deadline=None, database=None))
