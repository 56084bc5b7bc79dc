# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""When a drain is over, and what came of it."""

import dataclasses
import threading

import fixtures
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.gateways import drain
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.gateways import views

HERE, OTHER = views.HERE, views.OTHER


class DrainTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 50.0
        self.second_stop = threading.Event()

    def begun(self, snapshot, **values):
        values = {'drivers': views.DRIVERS, **values}
        made = drain.Drain(world.conf(**values), self.second_stop,
                           lambda: self.now)
        made.begin(snapshot)
        return made

    def test_nothing_to_drain(self):
        """Rows DRN-04 and DRN-05, trap T14."""
        alone = views.view(own=5)
        group, = alone.groups
        alone = dataclasses.replace(alone, groups=(group._replace(
            candidates=group.candidates[:1]),))
        for snapshot in (None, cloud.snapshot(), views.view(OTHER), alone):
            made = self.begun(snapshot)
            self.assertIs(drain.Result.NOOP, made.result)
            self.assertFalse(made.failed or made.unclaimed)

    def test_what_was_held_back_until_the_end_is_let_go(self):
        """An overlap, or a relay that does not answer, holds the order."""
        made = self.begun(views.view(own=5))
        self.second_stop.set()
        made.consider(views.view(own=5))
        self.assertIs(drain.Result.TIMEOUT, made.result)
        self.assertTrue(made.unclaimed)
        made = self.begun(views.view(own=5))
        made.consider(views.view(OTHER, own=0))
        self.assertFalse(made.unclaimed)

    def test_until_somebody_could_announce(self):
        said = self.useFixture(fixtures.FakeLogger())
        unfit = {'own': 5, 'other': 0, 'drained': 'unfit'}
        made = self.begun(views.view(**unfit))
        for _time in range(3):
            made.consider(views.view(**unfit))
            self.assertIsNone(made.result)
        self.assertIn(f'{OTHER} to be able to announce, for lrp-1',
                      said.output)
        self.assertEqual(1, said.output.count('to be able'))
        # It is: then the drain goes its way.
        made.consider(views.view(own=5))
        self.assertIsNone(made.result)
        made.consider(views.view(OTHER))
        self.assertIs(drain.Result.COMPLETED, made.result)
        # It is not, until time is up.
        made = self.begun(views.view(**unfit))
        self.now += 60
        made.consider(views.view(**unfit))
        self.assertIs(drain.Result.TIMEOUT, made.result)

    def test_one_that_becomes_unfit_meanwhile_is_said(self):
        said = self.useFixture(fixtures.FakeLogger())
        made = self.begun(views.view(own=5))
        for _time in range(2):
            made.consider(views.view(own=5, other=0, drained='unfit'))
            self.assertIsNone(made.result)
        self.assertEqual(1, said.output.count('to be able to announce'))

    def test_until_a_stopped_agent_is_back(self):
        said = self.useFixture(fixtures.FakeLogger())
        stopped = {'own': 5, 'other': 0, 'drained': 'shutdown'}
        made = self.begun(views.view(**stopped))
        made.consider(views.view(**stopped))
        self.assertIsNone(made.result)
        self.assertEqual((f'the agent of {OTHER} to be back, for lrp-1',),
                         made.waiting)
        # It is.
        made.consider(views.view(own=5))
        self.assertIn('no longer waiting for the agent', said.output)
        made.consider(views.view(OTHER))
        self.assertIs(drain.Result.COMPLETED, made.result)
        self.assertFalse(made.failed)
        # It is not, and the first one that is back is to get the port.
        made = self.begun(views.view(**stopped))
        self.now += 60
        made.consider(views.view(**stopped))
        self.assertIs(drain.Result.TIMEOUT, made.result)
        self.assertTrue(made.failed and made.unclaimed)

    def test_who_is_not_waited_for(self):
        for snapshot, heir in (
                # Its operator knows when that ends, and the agent does not.
                (views.view(own=5, other=0, drained='maintenance'), False),
                # Somebody has set it to 0.
                (views.view(own=5, other=0), False),
                # Its chassis is gone.
                (views.view(own=5, other=0, drained='unfit', known=False),
                 False),
                (views.view(own=5, other=0, drained='shutdown', known=False),
                 False),
                # It is dead.
                (views.view(own=5, dead=True), True),
                (views.view(own=5, other=0, drained='shutdown', dead=True),
                 True),
                # This one cannot announce either.
                (views.view(own=5, other=0, drained='unfit', unfit=True),
                 True)):
            made = self.begun(snapshot)
            self.assertIs(drain.Result.NOBODY, made.result)
            self.assertTrue(made.failed)
            self.assertEqual(heir, made.unclaimed)
        for drained in 'unfit', 'shutdown':
            # There is nothing to hand over.
            self.assertIs(drain.Result.NOOP, self.begun(views.view(
                OTHER, other=0, drained=drained)).result)
            # There is: OVN is bringing it.
            for owner in OTHER, '':
                self.assertIsNone(self.begun(views.view(
                    owner, own=5, other=0, drained=drained)).result)

    def test_one_that_dies_meanwhile_is_not_waited_for(self):
        said = self.useFixture(fixtures.FakeLogger())
        stopped = {'own': 5, 'other': 0, 'drained': 'shutdown'}
        made = self.begun(views.view(**stopped))
        for other in 0, 1:
            made.consider(views.view(**{**stopped, 'other': other},
                                     silent=True))
            self.assertIsNone(made.result)
            self.assertEqual((f'{OTHER} to answer again, for lrp-1',),
                             made.waiting)
        made.consider(views.view(**stopped, dead=True))
        self.assertIs(drain.Result.NOBODY, made.result)
        self.assertIn(f'{OTHER} does not answer', said.output)

    def test_a_third_one_takes_it_at_once(self):
        seen = views.view(own=5, other=0, drained='shutdown')
        group, = seen.groups
        for third, takes in (
                (model.Candidate('third', 1), True),
                # One that has died would only seem to take it.
                (model.Candidate('third', 1, silent=True), False),
                (model.Candidate('third', 1, silent=True, dead=True), False)):
            made = self.begun(dataclasses.replace(
                seen, groups=(group._replace(
                    candidates=(*group.candidates, third)),)))
            self.assertEqual(takes, 'to be back' not in made.waiting[0])

    def test_not_wanted(self):
        """Row DRN-06."""
        for values in ({'gateway_drain__drain_on_shutdown': False},
                       {'drivers': ['fip_route']}):
            self.assertIs(drain.Result.NOOP,
                          self.begun(views.view(own=5), **values).result)

    def test_until_all_is_taken_over(self):
        """Rows DRN-03, DRN-07, DRN-18."""
        made = self.begun(views.view(own=5))
        for snapshot in (
                views.view(own=5), views.view(), views.view(OTHER, own=3),
                views.view(OTHER, handover=model.Handover.ANNOUNCE),
                views.view(OTHER, handover=model.Handover.FORWARD)):
            made.consider(snapshot)
            self.assertIsNone(made.result)
            self.assertNotEqual((), made.waiting)
        made.consider(views.view(OTHER))
        self.assertIs(drain.Result.COMPLETED, made.result)

    def test_time_is_up(self):
        """Trap T72: the log says how it ended, whoever asks later."""
        made = self.begun(views.view(own=5))
        self.assertEqual(60, made.left())
        self.now += 59
        made.consider(views.view())
        self.assertIsNone(made.result)
        self.now += 1
        with self.assertLogs(drain.__name__, 'WARNING') as logs:
            made.consider(views.view())
        self.assertRegex(logs.output[0], 'Drain: timeout after 60.0 s.*cr-')
        self.assertIs(drain.Result.TIMEOUT, made.result)
        self.assertIn('cr-lrp-1 to leave', made.waiting)

    def test_an_error_does_not_end_it(self):
        """Trap T27."""
        made = self.begun(views.view(own=5))
        made.consider(views.view(OTHER), 'a pass failed')
        self.assertIsNone(made.result)
        self.now += 60
        made.consider(views.view(OTHER), 'a pass failed')
        self.assertIs(drain.Result.ERROR, made.result)

    def test_a_port_that_comes_back_is_said(self):
        """Row DRN-19; once, and it is waited for."""
        said = self.useFixture(fixtures.FakeLogger())
        made = self.begun(views.view(own=5))
        for owner in (OTHER, HERE, HERE, OTHER, HERE):
            made.consider(views.view(owner, handover=model.Handover.ANNOUNCE
                               if owner == OTHER else model.Handover.NONE))
            self.assertIsNone(made.result)
        self.assertEqual(2, said.output.count('bound to this chassis again'))

    def test_what_comes_back_is_kept_until_it_leaves_or_time_is_up(self):
        """Row DRN-19: also when the next owner is gone, or is dead."""
        for gone in {'known': False}, {'dead': True}:
            made = self.begun(views.view(own=5))
            made.consider(views.view(OTHER, handover=model.Handover.ANNOUNCE))
            made.consider(views.view('', **gone))
            self.assertEqual(('cr-lrp-1 to be bound to a chassis',),
                             made.waiting)
            made.consider(views.view(**gone))
            self.assertIsNone(made.result)
            self.assertEqual(('cr-lrp-1 to leave again',), made.waiting)
            made.consider(views.view(OTHER))
            self.assertIs(drain.Result.COMPLETED, made.result)
            made = self.begun(views.view(own=5))
            made.consider(views.view(OTHER, handover=model.Handover.ANNOUNCE))
            made.consider(views.view(**gone))
            self.now += 60
            made.consider(views.view(**gone))
            self.assertIs(drain.Result.TIMEOUT, made.result)

    def test_a_standby_is_only_lowered(self):
        """Row DRN-02, A-02: it must not be a target either."""
        made = self.begun(views.view(OTHER, own=5))
        self.assertIsNone(made.result)
        made.consider(views.view(OTHER))
        self.assertIs(drain.Result.COMPLETED, made.result)
