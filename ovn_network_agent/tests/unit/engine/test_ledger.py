# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The table: where each resource stands, why, and since when."""

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import table as tables
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.engine import gateways

FIP = gateways.FIP
STRAY = resources.KernelRoute(254, '203.0.113.9/32', 'br-ex')
ROUTER_ROUTE = resources.Ref(
    'default_route', (cloud.router().uuid, '0.0.0.0/0'))
State = ledger.State


class TableTest(gateways.OneGatewayTestCase):

    def row(self, ref):
        """The one line of the table about a key."""
        row, = self.made.reconciler.table().rows(lambda each: each == ref)
        self.assertEqual(ref, row.ref)
        return row

    def test_all_is_in_place(self):
        self.assertTrue(self.run_pass().settled)
        rows = self.made.reconciler.table().rows()
        self.assertEqual({State.IN_PLACE}, {row.state for row in rows})
        self.assertEqual({r.ref for r in self.made.world.objects.values()},
                         {row.ref for row in rows})
        row = self.row(gateways.ROUTE)
        self.assertEqual(row.wanted, row.there)
        self.assertEqual(('', None, None, 'route'),
                         (row.reason, row.holder, row.due_in, row.backend))

    def test_what_is_refused_and_what_waits_for_it(self):
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.run_pass()
        row = self.row(gateways.ROUTE)
        self.assertEqual((State.REFUSED, 'no space', None, 1.0),
                         (row.state, row.reason, row.there, row.due_in))
        waiting = self.row(gateways.ANNOUNCEMENT)
        self.assertEqual((State.WAITS, gateways.ROUTE),
                         (waiting.state, waiting.holder))
        self.assertIn('waits for kernel_route', waiting.reason)

    def test_a_refusal_ends_when_nobody_wants_it(self):
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.run_pass()
        self.assertTrue(self.made.run(cloud.router()).settled)
        self.assertEqual([], self.made.reconciler.table().rows(
            lambda ref: ref == gateways.ROUTE))

    def test_a_backend_that_cannot_be_reached(self):
        self.run_pass()
        self.made.world.down.add('route')
        self.made.run(cloud.router(fips=[FIP, '198.51.100.11']))
        row = self.row(resources.Ref('kernel_route',
                                     (254, '198.51.100.11/32')))
        self.assertEqual((State.UNREACHABLE, 'route is down', 1.0),
                         (row.state, row.reason, row.due_in))
        # What was there before is still believed to be there.
        self.assertIs(State.IN_PLACE, self.row(gateways.ROUTE).state)

    def test_what_is_under_way(self):
        """Whether or not something waits for the backend."""
        for values in {'concurrent': True}, {'system': 'Northbound'}:
            self.made = self.gateway()
            northbound = self.made.backend('northbound')
            for name, value in values.items():
                setattr(northbound, name, value)
            self.addCleanup(northbound.gate.set)
            self.run_pass()
            self.assertTrue(self.made.reconciler.wait_for_threads(10))
            self.run_pass()
            northbound.gate.clear()
            self.made.world.objects.pop(ROUTER_ROUTE)
            self.run_pass(stale=['northbound'])
            self.assertIs(State.UNDER_WAY, self.row(ROUTER_ROUTE).state)
            northbound.gate.set()
            self.assertTrue(self.made.reconciler.wait_for_threads(10))
            self.run_pass()
            self.assertIs(State.IN_PLACE, self.row(ROUTER_ROUTE).state)

    def test_what_stays_on_purpose(self):
        self.made.world.put(STRAY)
        self.made.world.refuses[STRAY.ref] = backends.Kept('in use')
        self.assertTrue(self.run_pass().settled)
        row = self.row(STRAY.ref)
        self.assertEqual((State.KEPT, 'in use', None, 1.0),
                         (row.state, row.reason, row.wanted, row.due_in))

    def test_what_stayed_until_another_agent_wrote(self):
        """The reading that finds the object says so, and not the next one."""
        self.made.world.refuses[ROUTER_ROUTE] = backends.LeftToAnother('left')
        self.run_pass()
        self.assertIs(State.KEPT, self.row(ROUTER_ROUTE).state)
        wanted = self.row(ROUTER_ROUTE).wanted
        self.made.world.put(wanted)
        self.run_pass(stale={'northbound'})
        self.assertIs(State.IN_PLACE, self.row(ROUTER_ROUTE).state)

    def test_what_is_due(self):
        self.run_pass()
        self.made.world.put(STRAY)
        # As long as not all is known nothing is removed.
        self.run_pass(stale=['route'], prune=False)
        row = self.row(STRAY.ref)
        self.assertEqual((State.DUE, None, STRAY),
                         (row.state, row.wanted, row.there))

    def test_what_drivers_do_not_agree_about(self):
        self.made.run(cloud.router(1, fips=[FIP]), cloud.router(2, fips=[FIP]))
        row = self.row(gateways.HAIRPIN)
        self.assertIs(State.DISPUTED, row.state)
        self.assertIn('fip_route', row.reason)

    def test_the_removal_that_an_announcement_holds_back(self):
        self.run_pass()
        self.made.world.refuses[gateways.ANNOUNCEMENT] = 'no answer'
        self.made.run(cloud.router())
        row = self.row(gateways.ROUTE)
        self.assertEqual((State.WAITS, gateways.ANNOUNCEMENT, None),
                         (row.state, row.holder, row.wanted))


class MomentsTest(gateways.ReconcilerTestCase):

    def setUp(self):
        super().setUp()
        self.made = self.gateway()
        self.router = cloud.router(fips=[FIP])

    def began(self, ref):
        """(state, monotonic seconds) of the row of a key."""
        row = self.made.reconciler.table().row(ref)
        self.assertIs(row.state, row.began.state)
        return row.state, row.began.monotonic

    def after(self, seconds, *routers, **options):
        self.made.clock += seconds
        return self.made.run(*(routers or (self.router,)), **options)

    def test_a_state_that_lasts_keeps_its_time(self):
        self.after(0)
        for full in (False, True):
            self.after(10, full=full)
            self.assertEqual((State.IN_PLACE, 1000.0),
                             self.began(gateways.ROUTE))

    def test_a_repair_does_not_show_as_a_new_state(self):
        """What was gone is in place again before the pass ends."""
        self.after(0)
        self.made.world.objects.pop(gateways.ROUTE)
        self.after(10, stale=['route'])
        self.assertIn(gateways.ROUTE, self.made.world.objects)
        self.assertEqual((State.IN_PLACE, 1000.0), self.began(gateways.ROUTE))

    def test_a_refusal_and_its_end(self):
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.after(0)
        self.after(10)
        self.assertEqual((State.REFUSED, 1000.0), self.began(gateways.ROUTE))
        self.assertEqual((State.WAITS, 1000.0),
                         self.began(gateways.ANNOUNCEMENT))
        del self.made.world.refuses[gateways.ROUTE]
        self.after(90)
        for ref in (gateways.ROUTE, gateways.ANNOUNCEMENT):
            self.assertEqual((State.IN_PLACE, 1100.0), self.began(ref))

    def test_what_drivers_do_not_agree_about(self):
        self.after(0)
        other = cloud.router(2, fips=[FIP])
        self.after(10, self.router, other)
        self.after(10, self.router, other)
        self.assertEqual((State.DISPUTED, 1010.0),
                         self.began(gateways.HAIRPIN))
        self.after(10)
        self.assertEqual((State.IN_PLACE, 1030.0),
                         self.began(gateways.HAIRPIN))

    def test_what_is_gone_is_forgotten(self):
        self.after(0)
        self.after(10, cloud.router())
        self.assertIsNone(
            self.made.reconciler.table().row(gateways.ROUTE).began)
        self.after(10)
        self.assertEqual((State.IN_PLACE, 1020.0), self.began(gateways.ROUTE))

    def test_a_table_does_not_change_with_the_next_pass(self):
        """Another thread looks at it while the loop goes on."""
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.after(0)
        table = self.made.reconciler.table()
        before = table.rows()
        self.made.world.refuses.clear()
        self.made.clock += 100
        self.assertTrue(self.made.run(cloud.router()).settled)
        self.made.clock -= 100
        self.assertEqual(before, table.rows())

    def test_the_cost_follows_the_change(self):
        """A pass without news asks for no state of a settled resource."""
        self.after(0)
        asked = []
        known = tables.StateTimes(lambda: 0.0, lambda: 0.0)
        refs = [resources.Ref('kernel_route', (n,)) for n in range(9)]

        def state(ref):
            asked.append(ref)
            return State.REFUSED if ref == refs[0] else State.IN_PLACE
        known.note(refs, state)
        del asked[:]
        known.note([refs[1]], state)
        self.assertEqual({refs[0], refs[1]}, set(asked))
