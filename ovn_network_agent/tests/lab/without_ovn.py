# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An agent without the databases of OVN; the cloud of test_service.py."""

import os

from lab import central
from lab import dump
from lab import node as nodes
from ovn_network_agent.tests.lab import base


class Outage:
    """OVN's databases go away, or are not there yet at a start."""

    def _databases_back(self):
        for name in ('nb', 'sb'):
            if name not in self.cloud['central'].services:
                self.cloud['central'].start_again(name)
        for name in ('nb', 'sb'):
            nodes.wait_until(f'{name} is served', lambda n=name: (
                os.path.exists(central.remote(
                    self.cloud['central'], n).removeprefix('unix:'))))

    def _stop_databases(self):
        self.addCleanup(self._databases_back)
        for name in ('nb', 'sb'):
            self.cloud['central'].stop(name)

    def test_databases_down(self):
        """Nothing is withdrawn, nothing lost; afterwards it goes on."""
        before = self.state('gw1')
        with self.probing(self.fip.address) as running:
            mark = self.mark('gw1')
            # Passes that have no database must not do anything either.
            self.reload(reconcile_interval=1)
            self._stop_databases()
            for name in ('OVN_Northbound', 'OVN_Southbound'):
                self.wait_said('gw1', f'{name} is not connected', mark)
            mark = self.mark('gw1')
            nodes.wait_until('three passes without OVN', lambda: self.said(
                'gw1', mark).count('Asked drivers') >= 3, base.SETTLE)
            self.assertEqual([], self.changes('gw1', mark))
            self.assertEqual([], dump.difference(before,
                                                 self.state('gw1')))
            self.cloud.wait_announced(self.fip.address, 'gw1', 1)
            self._databases_back()
            self.wait_said('gw1', 'No longer degraded', mark, 60)
            # On a busy machine a comparison takes longer than a second.
            self.reload(reconcile_interval=3600)
            self.another()
            base.note(f'{self.kind}: databases down and up: '
                      f'{self.lossless(running)}')

    def test_started_before_ovn(self):
        """It prepares the node, waits, and gets there; READY is last."""
        self.assertEqual(0, self.agent.stop())
        self.cloud.wait_withdrawn(self.fip.address, base.SETTLE)
        self._stop_databases()
        mark = self.mark('gw1')
        self.agent.start()
        self.addCleanup(lambda: self.running('gw1') or
                        self.cloud.start_agents(names=['gw1']))
        self.wait_said('gw1', 'trying for ever', mark)
        self.wait_said('gw1', 'created veth_pair', mark)
        self.assertNotIn('First complete pass', self.said('gw1', mark))
        self.assertIsNone(self.cloud.route(self.fip.address))
        self._databases_back()
        self.agent.wait_ready()
        self.assertIn('First complete pass', self.said('gw1', mark))
        self.assert_served('gw1', self.fip.address)
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        self.reach(self.client, 'icmp', self.fip.address)
