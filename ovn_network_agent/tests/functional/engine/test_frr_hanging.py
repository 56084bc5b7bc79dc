# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Passes beside a daemon of FRR that hangs."""

import json
import signal
import subprocess
import time

from ovn_network_agent.tests.functional.engine import frr_passes as passes
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.unit import cloud

FIP = passes.FIP
ENTRY = passes.ENTRY


class WithBfdd(base.Frr):
    """And a daemon that the agent needs for nothing."""

    def _start(self):
        super()._start()
        self.start('bfdd')


class HangingTestCase(passes.PassTestCase):
    """Trap T44: a daemon of FRR hangs.

    vtysh waits for it, whatever it is asked.  Two planes were read one after
    the other, and the pass took twice the limit of vtysh.
    """

    make = WithBfdd
    limit = 6
    # Longer than the loop waits for FRR, with what a busy machine adds.
    SOON = 3
    OTHER = '198.51.100.11'

    def setUp(self):
        super().setUp()
        self.run_pass(self.router)
        self.both = cloud.router(fips=[FIP, self.OTHER])

    def hang(self):
        self.frr.signal('bfdd', signal.SIGSTOP)
        # Cleared in reverse order, so before the last pass.
        self.addCleanup(self.frr.signal, 'bfdd', signal.SIGCONT)

    def timed(self, *routers, **how):
        """One pass, which is over soon."""
        began = time.monotonic()
        outcome = self.gateway.once(*routers, **how)
        self.assertLess(time.monotonic() - began, self.SOON)
        return outcome

    def go_on(self, *routers):
        """What hung goes on, and all becomes as it should be."""
        self.frr.signal('bfdd', signal.SIGCONT)
        self.gateway.clock += 60
        self.run_pass(*routers)

    def said(self, *routers):
        """What is degraded when FRR was given up."""
        self.assertTrue(self.gateway.reconciler.wait_for_threads(60))
        return ' '.join(self.timed(*routers).degraded)


class TestHanging(HangingTestCase):

    def test_new_addresses_go_on(self):
        self.hang()
        # All planes are to be read.
        self.timed(self.router, full=True)
        self.timed(self.both)
        self.assertIn(self.OTHER, self.routes())
        self.assertNotIn(f'{self.OTHER}/32', self.statics())
        # The plane that cannot be read is not taken for empty, and named.
        # Only zebra and bgpd are asked for the prefix list, and they answer.
        said = self.said(self.both)
        self.assertIn('frr_static: static routes of FRR: bfdd of FRR did not '
                      'answer within', said)
        self.assertNotIn('prefix list of FRR', said)
        # The next attempt costs nothing either.
        self.gateway.clock += 60
        self.timed(self.both, full=True)
        self.assertEqual({FIP, self.OTHER, '198.51.100.1'}, self.routes())
        self.assertEqual({f'{FIP}/32', '198.51.100.1/32'}, self.statics())
        self.assertIn(ENTRY, self.entries())
        self.go_on(self.both)
        self.assertIn(f'{self.OTHER}/32', self.statics())

    def test_a_change_that_does_not_come_back(self):
        """Nobody knew that FRR hangs."""
        self.hang()
        self.timed(self.both)
        self.timed(self.both)
        self.assertIn(self.OTHER, self.routes())
        self.assertIn('did not answer', self.said(self.both))
        self.go_on(self.both)
        self.assertIn(f'{self.OTHER}/32', self.statics())

    def test_what_is_announced_keeps_its_route(self):
        """Trap T43: while the withdrawal is under way, and after it."""
        self.hang()
        for _time in range(2):
            self.timed()
            self.assertEqual({FIP, '198.51.100.1'}, self.routes())
        self.said()
        self.assertEqual({FIP, '198.51.100.1'}, self.routes())
        self.assertIn(f'{FIP}/32', self.statics())
        self.go_on()
        self.assertEqual((set(), set()), (self.statics(), self.routes()))


class TestHangingKernel(HangingTestCase):
    """Where FRR is not what makes the announcements."""

    options = {'fip_route__announce_method': 'kernel',
               'fip_route__route_table_id': 0}

    def announced(self):
        shown = subprocess.run(['ip', '-j', 'route', 'show', 'proto', '44'],
                               check=True, capture_output=True).stdout
        return {found['dst'] for found in json.loads(shown or '[]')}

    def test_addresses_come_and_go(self):
        self.hang()
        self.timed(self.router, full=True)
        self.timed(self.both)
        self.assertIn(self.OTHER, self.announced())
        self.timed(self.router)
        self.assertNotIn(self.OTHER, self.announced())
        self.assertIn('frr_static', self.said(self.router))
        self.gateway.clock += 60
        self.timed(self.both, full=True)
        self.assertIn(self.OTHER, self.announced())
        self.go_on(self.both)
