# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What is looked at, and when; FRR itself is in the functional tests."""

import os
import threading

import fixtures
from oslo_config import cfg
from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent.common import trigger
from ovn_network_agent.conf.options import frr as options
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import tracking
from ovn_network_agent.frr import effect
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches.frr import frr_verification

# Whatever zebra is asked, it is connected to what is no network.
UNEXPECTED = """#!/bin/sh
case "$*" in
*daemons*) echo ' zebra staticd bgpd' ;;
*connected*) echo '{"10.0.0.300/24": [{"protocol": "connected",
                    "selected": true, "installed": true}]}' ;;
esac
"""
# zebra has no route, but knows the network of the next hop.
ABSENT = """#!/bin/sh
case "$*" in
*daemons*) echo ' zebra staticd bgpd' ;;
*connected*) echo '{"169.254.0.0/30": [{"protocol": "connected",
                    "selected": true, "installed": true}]}' ;;
*) echo '{}' ;;
esac
"""
A, B = '198.51.100.10/32', '198.51.100.11/32'


def static(prefix):
    return resources.Announcement('vrf-provider', prefix, '169.254.0.1')


def kernel(prefix):
    return resources.AnnouncedRoute(10, prefix, 'veth-provider')


class VerificationTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.clock = 1000.0
        self.trigger = trigger.Trigger(0)
        self.tracker = tracking.Tracker()
        self.made = frr_verification.Verification(
            worlds.conf(), lambda: self.clock, self.trigger)

    def passed(self, *applied, full=False):
        self.made.after_pass(outcome.Outcome(applied=applied), self.tracker,
                             full)

    def due(self, seconds=0.5):
        """What is to be looked at by then, or None."""
        self.clock += seconds
        # It waits for ever when there is nothing.
        end = threading.Timer(2, self.made.stop)
        end.start()
        try:
            return self.made._wait()
        finally:
            end.cancel()

    def test_many_are_asked_about_in_pieces(self):
        many = [f'10.0.{number // 250}.{number % 250}/32'
                for number in range(1200)]
        asked = []

        def read(_vrf, prefixes, _bgp):
            asked.append(prefixes)
            there = [prefix for prefix in prefixes if prefix != missing]
            return ({prefix: ['static'] for prefix in there},
                    {prefix: ['192.0.2.1'] for prefix in there})
        for missing in min(many), max(many):
            del asked[:]
            self.useFixture(fixtures.MonkeyPatch(
                'ovn_network_agent.privileged.routing.bgp.read_effect', read))
            self.useFixture(fixtures.MonkeyPatch(
                'ovn_network_agent.privileged.routing.bgp.read_surroundings',
                lambda *_args: {'connected': ['169.254.0.0/30'],
                                'neighbours': {}}))
            self.made._wanted = dict.fromkeys(many, 'static')
            problems, _reasons = self.made._examine(
                self.made._wanted, everything=True)
            self.assertEqual({missing: effect.INACTIVE}, problems)
            self.assertEqual(sorted(many), [
                prefix for some in asked for prefix in some])
            self.assertLess(max(map(len, asked)), 600)

    def test_a_change_is_looked_at_alone(self):
        self.passed(('created', static(A)), ('updated', static(B)),
                    ('created', resources.KernelRoute(254, A, 'br-ex')))
        self.assertEqual(({A: 'static', B: 'static'}, False, None), self.due())
        self.passed(('created', kernel(B)))
        self.assertEqual(({B: 'kernel'}, False, None), self.due())

    def test_what_was_withdrawn_is_not_looked_at(self):
        self.passed(('created', static(A)), ('created', static(B)))
        self.passed(('deleted', static(A)))
        self.assertEqual(({B: 'static'}, False, None), self.due())

    def test_the_other_method_goes_on_to_be_looked_at(self):
        self.passed(('created', static(A)))
        self.passed(('created', kernel(A)), ('deleted', static(A)))
        self.assertEqual(({A: 'kernel'}, False, None), self.due())

    def test_a_full_pass_has_all_looked_at(self):
        self.passed(('created', static(A)))
        self.due()
        for resource in (static(A), static(B)):
            self.tracker.want(resource)
        self.tracker.found(static(B))
        self.passed(full=True)
        changes = self.made._changes
        self.assertEqual(({B: 'static'}, True, changes), self.due())
        # Nothing has changed by the next one.
        self.passed(full=True)
        self.assertEqual(({B: 'static'}, True, changes), self.due())
        self.tracker.found(static(A))
        self.passed(full=True)
        self.assertEqual(({A: 'static', B: 'static'}, True, changes + 1),
                         self.due())

    def here(self, context):
        """Have privileged calls run in this process."""
        context.set_client_mode(False)
        self.addCleanup(context.set_client_mode, True)

    def vtysh(self, script):
        """A program in the place of vtysh; '' for none."""
        self.here(privileged.frr)
        directory = self.useFixture(fixtures.TempDir()).path
        if script:
            path = os.path.join(directory, 'vtysh')
            with open(path, 'w') as opened:
                opened.write(script)
            os.chmod(path, 0o700)
        self.useFixture(fixtures.EnvironmentVariable('PATH', directory))
        cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
        cfg.CONF.set_override('frr_run_dir', directory, 'frr')
        self.addCleanup(cfg.CONF.clear_override, 'frr_run_dir', 'frr')

    def test_an_answer_that_nobody_expected_is_no_end(self):
        """As bad as none: said, and looked at again."""
        self.vtysh(UNEXPECTED)
        self.passed(('created', static(A)))
        self.made.look(*self.due())
        self.made.look(*self.due(1))
        self.assertIn('ValueError', self.made.reasons[0])
        self.assertEqual(({A: 'static'}, True, None), self.due(30))

    def test_few_wrong_addresses_are_looked_at_often(self):
        """So a reason ends soon after its cause."""
        self.vtysh(ABSENT)
        for number, longest in ((1, 5.0), (60, 30.0)):
            self.passed(*(('created', static(f'198.51.100.{last}/32'))
                          for last in range(number)))
            pauses = []
            for _time in range(8):
                self.made.look(*self.due(30))
                pauses.append(self.made._again_due - self.clock)
            self.assertEqual(number, self.made.wrong)
            self.assertEqual(longest, max(pauses), pauses)

    def test_a_change_is_checked_alone_while_others_are_wrong(self):
        """Without a session each route is wrong, and a change costs one."""
        self.vtysh(ABSENT)
        self.passed(('created', static(A)))
        self.made.look(*self.due())
        for _time in range(4):
            self.made.look(*self.due(30))
        planned = self.made._again_due
        self.passed(('created', static(B)))
        self.assertEqual(({B: 'static'}, False, None), self.due())
        self.made.look({B: 'static'}, False)
        self.assertEqual(planned, self.made._again_due)
        self.assertEqual(1, self.made.wrong)
        # Once more, alone, and then it is certain.
        work = self.due(1)
        self.assertEqual(({B: 'static'}, False, None), work)
        self.made.look(*work)
        self.assertEqual(2, self.made.wrong)
        self.assertIn(f'{A}, {B} are inactive', ' '.join(self.made.reasons))
        self.clock = planned
        self.assertEqual(({A: 'static', B: 'static'}, True, None), self.due(0))

    def test_an_address_that_was_not_set_anew_is_in_doubt(self):
        # It may be missing, and changes of our own wake nobody.
        self.here(privileged.kernel)
        self.useFixture(fixtures.MockPatchObject(
            ownership, 'VETH_PROVIDER', 'no-such-device'))
        self.assertRaises(OSError, self.made._tell_zebra)
        self.assertIn('address', worlds.doubted(self.trigger.wait(0)))

    def test_what_could_not_be_looked_at_is_again(self):
        """FRR is not there: said, and neither forgotten nor given up."""
        self.vtysh('')
        self.passed(('created', static(A)))
        pause = 1.0
        for _time in range(8):
            self.made.look(*self.due(30))
            self.assertIn('cannot be checked', self.made.reasons[0])
            self.assertEqual(self.clock + pause, self.made._again_due)
            pause = min(pause * 2, 30.0)
        self.assertEqual({A}, set(self.due(30)[0]))
        self.assertIn('announcements checked', self.trigger.wait(0).reasons)
