# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The withdrawal guard of the engine; decision record 0021."""

import dataclasses

import fixtures

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import normal_wait
from ovn_network_agent.engine import guard
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import passes
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.engine import gateways

FIPS = [f'198.51.100.{n:d}' for n in range(10, 30)]
ALL = {fip + '/32' for fip in FIPS} | {'198.51.100.1/32'}


@dataclasses.dataclass
class CrossCheck:
    """What a test says about OVN; see :class:`ovn.cross_check.CrossCheck`."""

    others: frozenset = frozenset()
    reasons: tuple = ()
    confirmed: frozenset = frozenset()
    emptied: bool = False

    def elsewhere(self, subject):
        return subject in self.others

    def doubts(self, subjects):
        return self.reasons


class GuardTest(gateways.ReconcilerTestCase):

    def setUp(self):
        super().setUp()
        self.cross_check = CrossCheck()
        self.status = status.Status({}, lambda: self.gate.clock)
        self.gate = self.gateway()
        self.router = cloud.router(fips=FIPS)

    def run_pass(self, *routers, percent=50, minimum=10, **values):
        return self.gate.reconciler.run(passes.Pass(
            cloud.snapshot(*routers), limits=lambda: guard.Limits(
                percent, minimum, self.cross_check), **values))

    def announced(self):
        """A gateway that announces all addresses."""
        self.assertTrue(self.run_pass(self.router).settled)
        self.assertEqual(ALL, self.gate.addresses())
        self.before = self.gate.world.values()

    def without(self, count):
        """The router without its first floating IPs."""
        return dataclasses.replace(self.router, nats=self.router.nats[count:])

    def test_nothing_goes_before_the_confirmation(self):
        self.announced()
        outcome = self.run_pass()
        self.assertEqual(self.before, self.gate.world.values())
        self.assertEqual(ALL, outcome.held.subjects)
        self.assertEqual(ALL, outcome.held.unconfirmed)
        (reason,) = outcome.degraded
        self.assertIn('holds 21 of 21 announced addresses, because '
                      f'{guard.UNCONFIRMED}; ', reason)
        self.assertIn('resync --force', reason)
        # A hold is no failure: nothing is tried again by itself.
        self.assertEqual({}, outcome.failures)
        self.assertIsNone(self.gate.reconciler.next_retry())

    def lines(self, after, *routers, **values):
        """The important lines of a pass that comes some seconds later."""
        log = self.useFixture(fixtures.FakeLogger(format='%(levelname)s '
                                                         '%(message)s'))
        self.gate.clock += after
        self.status.report(self.run_pass(*routers, **values).degraded)
        return [line for line in log.output.splitlines()
                if 'Degraded' in line or 'guard holds' in line]

    def test_the_usual_wait_is_no_warning(self):
        """An operator removed the addresses, and the servers answer soon."""
        self.announced()
        for line in [*self.lines(0), *self.lines(normal_wait.USUAL / 2)]:
            self.assertIn('INFO', line)
        self.cross_check.confirmed = self.run_pass().held.unconfirmed
        line, = self.lines(0)
        self.assertIn('INFO The withdrawal guard holds nothing any', line)

    def test_a_wait_that_lasts_is_a_warning(self):
        self.announced()
        self.lines(0)
        first, second = self.lines(normal_wait.USUAL)
        self.assertIn('WARNING the withdrawal guard holds 21 of 21', first)
        self.assertIn('WARNING Degraded (1): the withdrawal guard', second)
        self.assertEqual([], self.lines(normal_wait.USUAL))
        self.cross_check.confirmed = self.run_pass().held.unconfirmed
        line, = self.lines(0)
        self.assertIn('WARNING The withdrawal guard holds nothing any', line)

    def test_a_doubt_is_a_warning_at_once(self):
        self.announced()
        self.cross_check.reasons = ('there is no router at all',)
        for line in self.lines(0):
            self.assertIn('WARNING', line)

    def test_all_goes_after_it(self):
        self.announced()
        self.cross_check.confirmed = self.run_pass().held.unconfirmed
        outcome = self.run_pass()
        self.assertEqual(set(), self.gate.addresses())
        self.assertEqual([], outcome.degraded)

    def test_an_earlier_confirmation_says_nothing_about_a_later_loss(self):
        self.announced()
        self.cross_check.confirmed = self.run_pass().held.unconfirmed
        self.run_pass(self.router)
        self.assertEqual(ALL, self.run_pass().held.unconfirmed)
        self.assertEqual(ALL, self.gate.addresses())

    def test_what_joins_meanwhile_is_confirmed_on_its_own(self):
        self.announced()
        self.cross_check.confirmed = self.run_pass(
            self.without(15)).held.unconfirmed
        self.assertEqual(15, len(self.cross_check.confirmed))
        self.assertEqual(6, len(self.run_pass().held.unconfirmed))
        self.assertEqual(6, len(self.gate.addresses()))

    def test_a_share_that_is_not_exceeded(self):
        self.announced()
        for count in (10, 20):
            outcome = self.run_pass(self.without(count), percent=100 - 1)
            self.assertEqual([], outcome.degraded)
            self.assertEqual(21 - count, len(self.gate.addresses()))

    def test_the_limits(self):
        """More than the share, and at least the minimum."""
        for lost, percent, minimum, held in (
                (10, 48, 10, False), (10, 47, 10, True),
                (10, 47, 11, False), (20, 0, 20, True), (20, 100, 1, False),
                (20, 0, 21, False), (1, 0, 1, True)):
            with self.subTest(f'{lost} of 21, {percent}, {minimum}'):
                self.gate = self.gateway()
                self.announced()
                outcome = self.run_pass(self.without(lost), percent=percent,
                                        minimum=minimum)
                self.assertEqual(lost if held else 0,
                                 len(outcome.held.subjects))
                self.assertEqual(21 if held else 21 - lost,
                                 len(self.gate.addresses()))

    def test_what_another_gateway_has_goes_at_once(self):
        self.announced()
        self.cross_check.others = frozenset(sorted(ALL)[:9])
        outcome = self.run_pass()
        self.assertEqual(ALL - self.cross_check.others, self.gate.addresses())
        self.assertEqual(ALL - self.cross_check.others, outcome.held.subjects)
        # The rest is below the minimum, and is still held.
        self.cross_check.others = frozenset(sorted(ALL)[:18])
        self.run_pass()
        self.assertEqual(ALL - self.cross_check.others, self.gate.addresses())
        self.cross_check.others = ALL
        self.assertEqual([], self.run_pass().degraded)
        self.assertEqual(set(), self.gate.addresses())

    def test_what_they_need_stays_too(self):
        """Rules of networks and flows of the patch port have no address."""
        self.announced()
        self.cross_check.others = frozenset(sorted(ALL)[:5])
        self.run_pass()
        gone = {r for r in self.before - self.gate.world.values()}
        self.assertEqual(self.cross_check.others, {r.subject for r in gone})
        table = self.gate.reconciler.table()
        self.assertEqual({ledger.State.HELD}, {
            row.state for row in table.rows() if not row.wanted and
            not row.there.retained})
        self.assertIn('withdrawal guard', table.held)

    def test_what_serves_several_addresses(self):
        """Packets of a network that is not in its set are dropped.

        The table of port forwards goes, and the anchors of a VNI stay.
        """
        found = {}
        for name, resource in (
                ('anchor', resources.KernelRoute(
                    10, '100.64.0.1/32', 'vrf-1001')),
                ('table', resources.NftTable('ip', 'digest')),
                ('network', resources.NftElement(
                    'ip', ownership.NFT_NETWORKS, '198.51.100.0/24'))):
            self.gate = self.gateway()
            self.announced()
            self.gate.world.put(resource)
            self.assertEqual(ALL, self.run_pass(
                full=True).held.subjects)
            found[name] = resource in self.gate.world.values()
        self.assertEqual({'anchor': True, 'table': False, 'network': True},
                         found)

    def test_a_doubt_outlasts_the_confirmation(self):
        self.announced()
        self.cross_check.reasons = ('a', 'b')
        self.cross_check.confirmed = self.run_pass().held.unconfirmed
        outcome = self.run_pass()
        self.assertIn('because a and b; ', outcome.degraded[0])
        self.assertEqual(frozenset(), outcome.held.unconfirmed)
        self.assertEqual(ALL, self.gate.addresses())
        self.cross_check.reasons = ()
        self.run_pass()
        self.assertEqual(set(), self.gate.addresses())

    def test_an_emptied_database_is_remembered(self):
        self.announced()
        self.cross_check.emptied, self.cross_check.reasons = True, ('empty',)
        self.cross_check.confirmed = self.run_pass().held.unconfirmed
        self.cross_check.emptied, self.cross_check.reasons = False, ()
        # It is filled again, row by row.
        for left in (20, 15, 5, 1):
            outcome = self.run_pass(self.without(left))
            self.assertEqual(ALL, self.gate.addresses())
            self.assertEqual(left, len(outcome.held.subjects))
            self.assertEqual((guard.EMPTIED,), outcome.held.reasons)
        self.assertEqual([], self.run_pass(self.router).degraded)
        # Later wishes of Neutron count as ever.
        self.run_pass(self.without(2))
        self.assertEqual(19, len(self.gate.addresses()))

    def test_the_word_of_the_operator(self):
        self.announced()
        self.cross_check.emptied, self.cross_check.reasons = True, ('empty',)
        self.assertEqual(0, self.gate.reconciler.guard.release())
        self.run_pass(self.without(15))
        self.assertEqual(15, self.gate.reconciler.guard.release())
        self.run_pass(self.without(15))
        self.assertEqual(6, len(self.gate.addresses()))
        # It is about those addresses only, and only this time.
        self.run_pass(self.router)
        self.assertEqual(20, len(self.run_pass(
            self.without(20)).held.subjects))

    def test_a_former_run_has_left_them(self):
        self.announced()
        self.gate.start()
        self.assertEqual(ALL, self.run_pass().held.subjects)
        self.assertEqual(ALL, self.gate.addresses())

    def test_another_method_takes_their_place(self):
        self.announced()
        self.gate.set('announce_method', 'kernel', 'fip_route')
        outcome = self.run_pass(self.router, full=True)
        self.assertEqual(frozenset(), outcome.held.subjects)
        self.run_pass(self.router)
        self.assertEqual(set(), self.gate.addresses())
        self.assertEqual(ALL, {key[1] for key in self.gate.world.found(
            resources.AnnouncedRoute)})

    def test_a_stop_has_no_guard(self):
        self.announced()
        self.run_pass()
        outcome = self.gate.run(self.router, phase=model.Phase.STOPPED)
        self.assertEqual([], outcome.degraded)
        self.assertEqual(set(), self.gate.addresses())

    def test_a_plan_says_so_and_changes_nothing(self):
        self.announced()
        self.gate.start()
        _steps, outcome = self.gate.reconciler.plan(
            cloud.snapshot(), lambda: guard.Limits(50, 10, self.cross_check))
        self.assertEqual(ALL, outcome.held.subjects)
        self.assertIn('withdrawal guard', outcome.degraded[0])
