# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Outages around an agent, with traffic: the cloud of test_service.py.

How each outage begins and ends is in :mod:`lab.outages`; what each of them
costs is measured by ``tools/bench/outages.py``.
"""

import os
import signal
import time

from lab import frr
from lab import node as nodes
from lab import outages
from lab import plan
from lab import withdrawals
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import memory

# Seconds until a connection that is silently dead is noticed.
_SILENT = 15
_NOFILE = 'Too many open files'


class Outages:
    """The tests: router alpha on gw1, the only gateway."""

    def suffer(self, name, seconds=None):
        """The begin of an outage, its time and its end.

        :param seconds: default is that of the outage
        """
        one = outages.OUTAGES[name]
        mark = self.mark('gw1')
        one.begin(self.cloud, 'gw1')
        time.sleep(one.seconds if seconds is None else seconds)
        one.end(self.cloud, 'gw1')
        return mark

    def _withdrawals(self):
        return withdrawals.Withdrawals(self.cloud, self.FAMILY)

    def well(self):
        """Wait until the agent is in sync; all is there and answers."""
        nodes.wait_until(lambda: f'in sync: {self.agent.states[-1]}', lambda: (
            self.agent.states[-1][1] == 'in sync'), 60)
        self.cloud.wait_announced(self.fip.address, 'gw1', 60)
        nodes.wait_until('all of the floating IP is on gw1', lambda: (
            self.traces('gw1', self.fip.address)[self.fip.address] ==
            {'route', 'flow', 'announced'}), base.SETTLE)
        self.reach(self.client, 'icmp', self.fip.address)
        self.reach(self.vm.node, 'icmp', self.family.client)

    def kept(self, mark):
        """The agent has changed nothing of the floating IP since a mark."""
        self.assertEqual([], [change for change in self.changes('gw1', mark)
                              if self.family.prefix(self.fip.address) in
                              change])

    def test_programs_of_ovn(self):
        """What OVN and OVS lack is no reason to withdraw anything."""
        with self._withdrawals() as withdrawn:
            for name in 'northd', 'ovn-controller', 'ovsdb':
                with self.subTest(name):
                    mark = self.suffer(name, 2)
                    self.well()
                    self.kept(mark)
            self.assertEqual([], withdrawn.seen())
        self.another()

    def test_ovs_vswitchd(self):
        """The flows of the agent come back with the switch."""
        before = set(self.flows('gw1'))
        with self._withdrawals() as withdrawn:
            mark = self.suffer('vswitchd')
            self.wait_said('gw1', 'Started again in Open vSwitch', mark)
            self.well()
            nodes.wait_until('all flows are back', lambda: (
                set(self.flows('gw1')) == before), base.SETTLE)
            self.assertEqual([], withdrawn.seen())

    def test_frr_under_watchfrr(self):
        """All daemons die, and the holder of the static routes alone.

        They announce again what they announced.
        """
        with outages.watched_by_watchfrr(
                self.cloud['gw1'],
                '--min-restart-interval 1 --max-restart-interval 1 '
                '--interval 1'):
            self.well()
            for name in 'frr', frr.STATIC:
                began = time.monotonic()
                self.suffer(name)
                self.well()
                base.note(f'{outages.OUTAGES[name].what}: all is well after '
                          f'{time.monotonic() - began:.1f} s')
        self.well()

    def test_vrf_deleted(self):
        mark = self.suffer('vrf')
        self.well()
        self.wait_said('gw1', f'VRF {plan.VRF} does not exist', mark)
        self.another()

    def test_uplink_down(self):
        """Everything stays on the node, and nobody withdraws."""
        with self._withdrawals() as withdrawn:
            mark = self.suffer('uplink', 2)
            self.well()
            self.kept(mark)
            self.assertEqual([], withdrawn.seen())

    def test_databases_fall_silent(self):
        """No packet comes from the databases, and no end of a connection."""
        silent = outages.OUTAGES['control-silence']
        with self.probing(self.fip.address) as running:
            mark = self.mark('gw1')
            self.addCleanup(self.well)
            began = time.monotonic()
            silent.begin(self.cloud, 'gw1')
            try:
                for name in ('OVN_Northbound', 'OVN_Southbound'):
                    self.wait_said('gw1', f'{name} is not connected', mark)
                took = time.monotonic() - began
            finally:
                silent.end(self.cloud, 'gw1')
            self.assertLess(took, _SILENT)
            base.note(f'silent databases noticed after {took:.1f} s')
            self.well()
            self.kept(mark)
            self.lossless(running)

    def test_bad_network_of_the_databases(self):
        """Packets are lost and late; what changes still arrives."""
        with self.probing(self.fip.address) as running:
            for name in 'control-loss', 'control-delay':
                with self.subTest(name):
                    bad = outages.OUTAGES[name]
                    bad.begin(self.cloud, 'gw1')
                    try:
                        fip = self.floating_ip(self.alpha, self.vm.port)
                        self.cloud.wait_announced(fip.address, 'gw1', 60)
                    finally:
                        bad.end(self.cloud, 'gw1')
            self.well()
            self.lossless(running)

    def test_clock_jumps(self):
        mark = self.mark('gw1')
        with (self._withdrawals() as withdrawn,
              self.probing(self.fip.address) as running):
            for seconds in 3600, -3600:
                outages.jump(seconds)
                self.another()
            self.kept(mark)
            self.assertEqual([], withdrawn.seen())
            self.lossless(running)

    def test_out_of_memory(self):
        """The kernel ends a process of the agent by its own choice."""
        before = self.state('gw1')
        self.addCleanup(self.well)
        with memory.Group() as group:
            self.agent.kill()
            self.agent.start()
            group.add(self.agent.process.pid)
            self.agent.wait_ready()
            self.well()
            with (self._withdrawals() as withdrawn,
                  self.probing(self.fip.address) as running):
                self.assertGreater(group.squeeze(), 0)
                began = time.monotonic()
                status = outages.supervised(self.cloud, 'gw1')
                self.well()
                base.note(f'the kernel ended a process, the agent ended with '
                          f'{status}, and all is well after '
                          f'{time.monotonic() - began:.1f} s')
                self.assertEqual([], withdrawn.seen())
                self.lossless(running)
        self.assertNotEqual(0, status)
        self.assertEqual(before, self.state('gw1'))
        self.another()

    def test_no_free_descriptor(self):
        """Nothing is withdrawn by passes that can open nothing."""
        before = self.state('gw1')
        with (self._withdrawals() as withdrawn,
              self.probing(self.fip.address) as running):
            self.reload(reconcile_interval=1)
            mark = self.mark('gw1')
            outages.limit_descriptors(self.cloud, 'gw1')
            self.addCleanup(outages.free_descriptors, self.cloud, 'gw1')
            self.wait_said('gw1', _NOFILE, mark)
            # A reload cannot open the files, either.
            os.kill(self.agent.process.pid, signal.SIGHUP)
            self.wait_said('gw1', 'The configuration stays as it was', mark)
            self.wait_said('gw1', 'Again, a pass failed', mark)
            self.assertEqual(1, self.said('gw1', mark).count('A pass failed'))
            outages.free_descriptors(self.cloud, 'gw1')
            # On a busy machine a comparison takes longer than a second.
            self.reload(reconcile_interval=3600)
            self.well()
            self.assertEqual([], self.changes('gw1', mark))
            self.assertEqual([], withdrawn.seen())
            self.lossless(running)
            self.assertEqual(before, self.state('gw1'))
            self.another()
