# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Since when each resource has its state."""

from ovn_network_agent import resources
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import state_times
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

FIP = gateways.FIP
State = ledger.State


class MomentsTest(gateways.ReconcilerTestCase):

    def setUp(self):
        super().setUp()
        self.made = self.gateway()
        self.router = worlds.router(fips=[FIP])

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
        self.assertEqual((State.IN_PLACE, 1000.0),
                         self.began(gateways.ROUTE))

    def test_a_refusal_and_its_end(self):
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.after(0)
        self.after(10)
        self.assertEqual((State.REFUSED, 1000.0),
                         self.began(gateways.ROUTE))
        self.assertEqual((State.WAITS, 1000.0),
                         self.began(gateways.ANNOUNCEMENT))
        del self.made.world.refuses[gateways.ROUTE]
        self.after(90)
        for ref in (gateways.ROUTE, gateways.ANNOUNCEMENT):
            self.assertEqual((State.IN_PLACE, 1100.0), self.began(ref))

    def test_what_others_removed_while_its_backend_is_down(self):
        self.after(0)
        self.made.world.objects.pop(gateways.ROUTE)
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.after(10, stale=['route'])
        self.assertEqual((State.REFUSED, 1010.0),
                         self.began(gateways.ROUTE))

    def test_what_drivers_do_not_agree_about(self):
        self.after(0)
        other = worlds.router(2, fips=[FIP])
        self.after(10, self.router, other)
        self.after(10, self.router, other)
        self.assertEqual((State.DISPUTED, 1010.0),
                         self.began(gateways.HAIRPIN))
        self.after(10)
        self.assertEqual((State.IN_PLACE, 1030.0),
                         self.began(gateways.HAIRPIN))

    def test_what_is_gone_is_forgotten(self):
        self.after(0)
        self.after(10, worlds.router())
        self.assertIsNone(
            self.made.reconciler.table().row(gateways.ROUTE).began)
        self.after(10)
        self.assertEqual((State.IN_PLACE, 1020.0),
                         self.began(gateways.ROUTE))

    def test_each_row_has_its_moment(self):
        self.after(0)
        for row in self.made.reconciler.table().rows():
            self.assertIsInstance(row.began, state_times.StateTime, row)

    def test_a_table_does_not_change_with_the_next_pass(self):
        """Another thread looks at it while the loop goes on."""
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.after(0)
        table = self.made.reconciler.table()
        before = table.rows()
        self.made.world.refuses.clear()
        self.made.clock += 100
        self.assertTrue(self.made.run(worlds.router()).settled)
        self.made.clock -= 100
        self.assertEqual(before, table.rows())

    def test_the_cost_follows_the_change(self):
        """A pass without news asks for no state of a settled resource."""
        self.after(0)
        asked = []
        known = state_times.StateTimes(lambda: 0.0, lambda: 0.0)
        refs = [resources.Ref('kernel_route', (n,)) for n in range(9)]

        def state(ref):
            asked.append(ref)
            return State.REFUSED if ref == refs[0] else State.IN_PLACE
        known.note(refs, state)
        del asked[:]
        known.note([refs[1]], state)
        self.assertEqual({refs[0], refs[1]}, set(asked))
