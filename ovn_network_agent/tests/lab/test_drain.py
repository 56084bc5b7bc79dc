# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A stop in good order hands the gateways over before it withdraws."""

import signal
import unittest

from lab import chassis
from lab import node as nodes
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import draining
from ovn_network_agent.tests.lab import leaving
from ovn_network_agent.tests.lab import matrix


class TestDrain(draining.DrainTestCase):
    """With Gateway_Chassis and a VLAN; beta begins on another gateway.

    Of [gateway_drain] everything is as by default.  What OVN does by itself
    is in TestHandover.
    """

    SEGMENT = 'vlan'

    @classmethod
    def build(cls):
        super().build()
        cls.beta = cls.cloud.add_router('beta', ['gw2', 'gw3', 'gw1'])

    def test_rolling_restart(self):
        """Rows DRN-01 to DRN-08, DRN-11 and DRN-18; trap T15.

        One move for each router that was there, no more.  What drains are
        good for: the same probes lose seconds when a gateway dies
        (TestHandover, TestMetrics).
        """
        self.have('gw1')
        routers = (self.alpha, self.beta)
        with self.both_ways() as running:
            for name in self.cloud.gateways:
                before = {router.name: self.cloud.neutron.owner(router)
                          for router in routers}
                mark = self.mark(name)
                with self.followed() as followed:
                    self.assertEqual(0, self.cloud.agents[name].stop())
                    if name in before.values():
                        self.assertEqual('completed',
                                         self.outcome(name, mark))
                    self.start(name)
                    self.settled()
                went = {router.name: followed.owners(router)
                        for router in routers}
                owners = ', '.join(before.values())
                base.note(f'{name} restarted: {", ".join(before)} were on '
                          f'{owners}; went to {went}')
                for router, owner in before.items():
                    self.assertEqual(1 if owner == name else 0,
                                     len(went[router]), went)
                    self.assertNotIn(name, went[router])
            report = self.finished(running)
        base.note(f'rolling restart: {report}')
        self.assert_gap(report, leaving.DRAINED_GAP_MS)

    def test_killed_in_the_overlap(self):
        """What was paused goes on, and BFD is as it was."""
        owner = self.settled()
        node, agent = self.cloud[owner], self.cloud.agents[owner]
        mark = self.mark(owner)
        with self.both_ways() as running:
            agent.process.send_signal(signal.SIGTERM)
            self.wait_said(owner, 'created overlap', mark)
            agent.kill()
            nodes.wait_until('the overlap is over', lambda: (
                ownership.EXT_ID_OVERLAP not in node.out(
                    'ovs-vsctl', 'get', 'Open_vSwitch', '.',
                    'external_ids')))
            self.assertEqual('running', node.out(
                'ovn-appctl', '-t', 'ovn-controller',
                'debug/status').strip())
            self.assertTrue(chassis.tunnels_up(node))
            self.start(owner)
            self.settled()
            report = self.finished(running)
        base.note(f'killed in the overlap: {report}')
        self.assert_gap(report)

    # -- the next one is not fit ------------------------------------------

    def test_successor_is_wedged(self):
        """Trap T15: as long as it does not announce, the old one does."""
        owner, successor = self.settled(), self.successor()
        agent, mark = self.cloud.agents[successor], self.mark(owner)
        agent.freeze()
        self.addCleanup(agent.thaw)
        with self.both_ways() as running, self.stopping(owner) as agent_:
            self.cloud.wait_owner(self.alpha, successor)
            self.passed(running)
            self.assertIsNone(agent_.process.poll())
            self.cloud.wait_announced(self.fip.address, owner)
            report = self.finished(running)
            # Row DRN-21: enough of waiting.
            agent_.stop(signal.SIGTERM)
            self.assertEqual('timeout', self.outcome(owner, mark))
            self.cloud.wait_withdrawn(self.fip.address)
            agent.thaw()
            self.cloud.wait_announced(self.fip.address, successor)
        base.note(f'successor wedged: {report}')
        self.assert_gap(report)
        self.settled()

    def test_successor_without_bgp(self):
        """Trap T16: a route that BGP does not send proves nothing."""
        owner, successor = self.settled(), self.successor()
        node, mark = self.cloud[successor], self.mark(owner)
        # Its way out stays: what machines send leaves where the port is.
        self._silence(node)
        with self.both_ways() as running, self.stopping(owner) as agent_:
            try:
                self.cloud.wait_owner(self.alpha, successor)
                self.passed(running)
                self.assertIsNone(agent_.process.poll())
                self.cloud.wait_announced(self.fip.address, owner)
                self.assertEqual((successor, ''), self.proof())
            finally:
                self._silence(node, 'no ')
            self.assertEqual(0, agent_.process.wait(60))
            report = self.finished(running)
            self.assertEqual('completed', self.outcome(owner, mark))
        base.note(f'successor announces nothing for a while: {report}')
        self.assert_gap(report)
        self.settled()

    def test_successor_without_frr(self):
        """A drain goes to whom BGP works for, and waits where there is none.

        Trap T15: what cannot be announced elsewhere is not let go.
        What machines send goes to the gateway that has the port, and is lost
        there without BGP, whatever the old one relays.
        """
        owner, unfit = self.settled(), self.successor()
        third, = set(self.cloud.gateways) - {owner, unfit}
        self._without_frr(unfit)
        mark = self.mark(owner)
        stopped = self.stopped(owner)
        self.assertEqual((third, 'completed'), (
            stopped.to, self.outcome(owner, mark)))
        base.note(f'drained past one without FRR in {stopped.seconds:.1f} s: '
                  f'{stopped.report}')
        self.assert_gap(stopped.report)
        self.start(owner)
        self._wait_candidate(owner, 1, '')
        self._without_frr(owner)
        self._nobody_can_announce(third, unfit)
        self._with_frr(owner)
        self.assertEqual(unfit, self.settled())
        self.assertEqual({''}, set(self._marks().values()))

    def _nobody_can_announce(self, owner, other):
        """The drain of the only one that can: nothing is lost by it.

        When time is up it stops, and the first one that can gets it.
        """
        refused = self.cloud.agents[owner].ctl('drain', check=False)
        self.assertNotEqual(0, refused.returncode)
        self.assertIn('BGP could not announce', refused.stderr)
        self.reconfigure(owner, 'gateway_drain', drain_timeout=5)
        self.addCleanup(self.reconfigure, owner, 'gateway_drain',
                        drain_timeout=60)
        mark = self.mark(owner)
        with self.both_ways() as running, self.stopping(owner) as agent_:
            self.passed(running)
            self.assertIsNone(agent_.process.poll())
            self.assertEqual('', self.outcome(owner, mark))
            report = self.finished(running)
            base.note(f'nobody else has BGP: {report}')
            self.assertEqual(0, report.lost, str(report))
            self.assertEqual(4, agent_.process.wait(60))
            self.assertEqual('timeout', self.outcome(owner, mark))
            self.assertIn('to be able to announce', self.said(owner, mark))
            self.assertEqual(0, self.priorities()[owner])
            self._with_frr(other)
            # As long as all are at 0, OVN may give it the port all the same:
            # whose BGP is back first shows in the priority alone.
            nodes.wait_until(
                lambda: f'{other} is a candidate again: {self.priorities()} '
                        f'{self._marks()}',
                lambda: self.priorities()[other] and
                not self._marks()[other], base.SETTLE)
            self.cloud.wait_owner(self.alpha, other)
            probe.wait_reachable(self.client, 'icmp', self.fip.address,
                                 base.SETTLE)

    # -- OVN is away ------------------------------------------------------

    def test_northbound_is_down(self):
        """A drain waits for a database that is away."""
        central = self.cloud['central']
        owner = self.settled()
        mark = self.mark(owner)
        central.stop('nb')
        with self.both_ways() as running:
            try:
                with self.stopping(owner) as agent_:
                    self.wait_said(owner, 'Drain: waiting', mark)
                    self.passed(running)
                    self.assertIsNone(agent_.process.poll())
                    self.cloud.wait_announced(self.fip.address, owner)
                    central.start_again('nb')
                    self.assertEqual(0, agent_.process.wait(60))
                    self.assertEqual('completed', self.outcome(owner, mark))
                    report = self.finished(running)
            finally:
                if 'nb' not in central.services:
                    central.start_again('nb')
        base.note(f'NB was away: {report}')
        self.assert_gap(report, leaving.DRAINED_GAP_MS)
        self.settled()

    # -- by command -------------------------------------------------------

    def test_maintenance_and_back(self):
        """Drained while the agent stays, over its restart, and back."""
        first = self.settled()
        agent = self.cloud.agents[first]
        self.addCleanup(agent.ctl, 'undrain')
        reports = []
        with self.both_ways() as running:
            self.assertIn('\noverlap: on\n',
                          agent.ctl('status', '--verbose').stdout)
            agent.ctl('drain', '--wait')
            self.assertNotEqual(first, self.owner())
            self.assertEqual(0, self.priorities()[first])
            reports.append(self.finished(running))
        agent.kill()
        self.start(first)
        self.assertIn('drain', agent.ctl('status', '--verbose').stdout)
        self.assertEqual(0, self.priorities()[first])
        with self.followed() as followed:
            agent.ctl('undrain', '--wait')
            second = self.settled()
        self.assertEqual([], followed.owners(self.alpha))
        # Back: the one that has it now, and the third, are drained.
        others = [second, *(name for name in self.cloud.gateways
                            if name not in (first, second))]
        for name in reversed(others):
            self.addCleanup(self.cloud.agents[name].ctl, 'undrain')
            with self.both_ways() as running:
                self.cloud.agents[name].ctl('drain', '--wait')
                reports.append(self.finished(running))
        self.assertEqual(first, self.owner())
        refused = agent.ctl('drain', check=False)
        self.assertNotEqual(0, refused.returncode)
        base.note(f'the last one: {refused.stderr.strip()}')
        for name in others:
            self.cloud.agents[name].ctl('undrain', '--wait')
        self.assert_drained('drained by command', reports)
        nodes.wait_until('it stays', lambda: self.settled() == first)


globals().update(matrix.others(TestDrain))


if __name__ == '__main__':
    unittest.main()
