# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an urgent pass does first, and what it does later."""

import fixtures

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.engine import reconciler
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.engine import gateways

ANNOUNCEMENT = gateways.ANNOUNCEMENT
DST = gateways.DST
FIP = gateways.FIP
HAIRPIN = gateways.HAIRPIN
PROOF = gateways.PROOF
ROUTE = gateways.ROUTE


class UrgentTest(gateways.ReconcilerTestCase):
    """A gateway has moved here."""

    FIRST = {'kernel_route', 'rule', 'flow', 'prefix_list_entry',
             'announcement'}
    REST = {HAIRPIN, PROOF, resources.Ref(
        'flow', ('br-ex', 910, 3, 4, '198.51.100.1/32')),
        resources.Ref('mac_binding', ('lrp-1', '198.51.100.254')),
        resources.Ref('default_route', (PROOF.key[0], '0.0.0.0/0'))}

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
        outcome = self.taker.run(cloud.router(fips=[FIP]), urgent=True)
        self.assertEqual({'198.51.100.1/32', DST}, self.taker.addresses())
        written = self.written()
        self.assertEqual(self.FIRST, {ref.kind for ref in written})
        self.assertFalse(written & self.REST)
        self.assertEqual(('announcing',), outcome.pending)
        self.assertEqual({}, outcome.failures)
        self.assertEqual(reconciler.PAUSE, self.taker.reconciler.next_retry())
        # What else happens meanwhile does not hurry it.
        self.taker.run(cloud.router(fips=[FIP]))
        self.assertEqual(set(), self.written())
        self.taker.clock += reconciler.PAUSE
        outcome = self.taker.run(cloud.router(fips=[FIP]))
        self.assertTrue(outcome.settled)
        self.assertEqual(self.REST, self.written())
        self.assertIsNone(self.taker.reconciler.next_retry())

    def test_what_was_done_is_told_later(self):
        """A line for each of hundreds takes a tenth of a second."""
        self.taker.run(cloud.router(fips=[FIP]), urgent=True)
        self.assertIn('Announced 2 addresses first', self.log.output)
        self.assertNotIn('created announcement', self.log.output)
        self.taker.clock += reconciler.PAUSE
        self.taker.run(cloud.router(fips=[FIP]))
        self.assertIn('created announcement', self.log.output)
        self.assertIn('created advertised', self.log.output)

    def test_it_is_told_at_the_end(self):
        self.taker.run(cloud.router(fips=[FIP]), urgent=True)
        self.taker.reconciler.close()
        self.assertIn('created announcement', self.log.output)

    def test_one_after_the_other_the_rest_does_not_wait_for_ever(self):
        fips = []
        for number in range(10, 16):
            fips.append(f'198.51.100.{number}')
            self.taker.run(cloud.router(fips=fips), urgent=True)
            self.taker.clock += reconciler.PAUSE / 3
        self.assertLessEqual({HAIRPIN}, self.written())

    def test_nothing_waits_where_nothing_is_announced(self):
        self.taker.world.refuses[ANNOUNCEMENT] = 'vtysh is stuck'
        self.taker.world.refuses[resources.Ref('announcement', (
            'vrf-provider', '198.51.100.1/32'))] = 'vtysh is stuck'
        outcome = self.taker.run(cloud.router(fips=[FIP]), urgent=True)
        self.assertEqual((), outcome.pending)
        # Each was tried once, and what failed later holds nothing back.
        self.assertEqual(self.REST - {PROOF}, self.written() & self.REST)

    def test_without_its_route_nothing_of_an_address_follows(self):
        self.taker.world.refuses[ROUTE] = 'no memory'
        self.taker.run(cloud.router(fips=[FIP]), urgent=True)
        self.taker.clock += reconciler.PAUSE
        outcome = self.taker.run(cloud.router(fips=[FIP]))
        self.assertEqual({'198.51.100.1/32'}, self.taker.addresses())
        self.assertEqual({ROUTE, HAIRPIN, ANNOUNCEMENT, PROOF},
                         set(outcome.failures))

    def test_no_proof_without_what_follows(self):
        """Trap T16: it is not taken over before every plane has it."""
        self.taker.world.refuses[HAIRPIN] = 'table full'
        self.taker.run(cloud.router(fips=[FIP]), urgent=True)
        self.taker.clock += reconciler.PAUSE
        outcome = self.taker.run(cloud.router(fips=[FIP]))
        self.assertEqual({'198.51.100.1/32', DST}, self.taker.addresses())
        self.assertEqual({HAIRPIN, PROOF}, set(outcome.failures))
        self.assertEqual({}, self.taker.world.found(resources.Advertised))

    def test_the_end_waits_for_nothing(self):
        self.taker.run(cloud.router(fips=[FIP]), urgent=True)
        outcome = self.taker.run(cloud.router(fips=[FIP]),
                                 phase=model.Phase.STOPPED)
        self.assertEqual((), outcome.pending)
        self.assertEqual(set(), self.taker.addresses())
