# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Restarts with nothing in between: the next stop comes before the start.

While an agent starts its gateway has priority 0 still, and the other one is
told to stop already.
"""

import time
import unittest

from lab import node as nodes
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import leaving
from ovn_network_agent.tests.lab import matrix

# Of the probes of both directions, about 100 a second, over all restarts.
LOST = 20
# Milliseconds.
GAP = 400
# Of a power failure with 200 ms, 200 ms and 3.  OVN's defaults notice it after
# 2,250 ms at the earliest: three times a second, less the jitter of RFC 5880.
# How short it is, tools/bench/power.py measures.
DEATH_MS = 2000


class TestQuick(leaving.LeavingTestCase):
    """With Gateway_Chassis, and a flat network of IPv6."""

    GATEWAYS = 2
    FAMILY = 6

    def test_no_pause_between_restarts(self):
        """Whoever has the gateway goes on until the other one is back."""
        self.have('gw1')
        with self.both_ways() as running:
            began = time.monotonic()
            for name in ('gw1', 'gw2'):
                mark = self.mark(name)
                self.assertEqual((0, 'completed'), (
                    self.cloud.agents[name].stop(),
                    self.outcome(name, mark)), self.said(name, mark)[-3000:])
                # It is not waited for.
                self.cloud.agents[name].start()
                base.note(f'{name} restarted: {running.so_far()}')
            took = time.monotonic() - began
            for agent in self.cloud.agents.values():
                agent.wait_ready()
            self.settled()
            report = self.finished(running)
        base.note(f'two restarts in {took:.1f} s: {report}')
        self.assertLessEqual(report.lost, LOST, str(report))
        self.assert_gap(report, GAP)

    def test_the_port_comes_back(self):
        """Row DRN-19: the next owner is gone in the middle of a drain."""
        self.have('gw1')
        mark = self.mark('gw1')
        successor = self.cloud.agents['gw2']
        # It announces nothing, so the drain goes on.
        successor.freeze()
        self.addCleanup(successor.thaw)
        with self.both_ways() as running, self.stopping('gw1') as leaving_:
            self.cloud.wait_owner(self.alpha, 'gw2')
            self.wait_said('gw1', ' has left', mark)
            self.cloud.stop_controller('gw2')
            self.addCleanup(self._controller_again, 'gw2')
            self.cloud.wait_owner(self.alpha, 'gw1')
            self.wait_said('gw1', 'bound to this chassis again', mark)
            running.wait_answered()
            with self.both_ways() as kept:
                self.passed(kept)
                self.assertEqual(0, self.finished(kept).lost)
            self.assertIsNone(leaving_.process.poll())
            self.cloud.wait_announced(self.fip.address, 'gw1')
            # The next owner is back, and the drain goes its way.
            self._controller_again('gw2')
            successor.thaw()
            self.assertEqual(0, leaving_.process.wait(60))
            self.assertEqual('completed', self.outcome('gw1', mark))
            self.assertEqual('gw2', self.owner())
            report = self.finished(running)
        base.note(f'the port came back in a drain: {report}')

    def test_power_failure_with_short_timers(self):
        """Row BFD-11: they come and go by reloads, in the whole cloud."""
        self.settled()
        self._set_timers(200, 200, 3)
        self.addCleanup(self._set_timers, 0, 0, 0)
        owner = self.settled()
        with self.both_ways() as running:
            self.cloud.power_off(owner)
            report = self.finished(running)
        self.cloud.power_on(owner)
        self.start(owner)
        self.settled()
        base.note(f'{owner} died, with short timers: {report}')
        self.assert_gap(report, DEATH_MS)
        self._set_timers(0, 0, 0)
        self.assertNotIn('bfd', self.cloud['central'].out(
            'ovn-nbctl', '--columns=options,external_ids', 'list',
            'NB_Global'))

    def _set_timers(self, *values):
        """Reload the agents with timers of BFD; wait for all tunnels."""
        for agent in self.cloud.agents.values():
            agent.config['ovn'].update(zip(
                ('bfd_min_rx', 'bfd_min_tx', 'bfd_mult'), values,
                strict=True))
            agent.write_config()
            agent.ctl('reload')
        wanted = f'min_rx={values[0]}' if values[0] else 'min_rx'
        for name in (*self.cloud.gateways, *self.cloud.computes):
            nodes.wait_until(f'{name} has the timers', lambda n=name: all(
                (wanted in row) is bool(values[0])
                for row in self._tunnels(n)), base.SETTLE)

    def _tunnels(self, name):
        """The column bfd of OVN's tunnels on a node, a list of text."""
        shown = self.cloud[name].out(
            'ovs-vsctl', '--bare', '--columns=bfd', 'find', 'Interface',
            'bfd:enable=true', 'options:key=flow').splitlines()
        return [row for row in shown if row]

    def _controller_again(self, name):
        if 'ovn-controller' not in self.cloud[name].services:
            self.cloud.start_controller(name)


globals().update(matrix.others(TestQuick))


if __name__ == '__main__':
    unittest.main()
