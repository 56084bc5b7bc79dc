# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A dry run with the drivers that an agent has by default."""

import unittest

from lab import node as nodes
from lab import plan
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import dry_runs
from ovn_network_agent.tests.lab import forwarding
from ovn_network_agent.tests.lab import leaving

VIP = str(plan.VIPS[10])
ON_THE_OWNER = {
    'address', 'announcement', 'default_route', 'flow', 'kernel_route',
    'mac_binding', 'nft_table', 'prefix_list_entry', 'rule', 'sysctl',
    'veth_pair'}


class TestDryRun(dry_runs.DryRuns, leaving.LeavingTestCase):
    """Rows DRY-01, DRY-02 and A-19, trap T22.

    Kernel, Open vSwitch, FRR, nftables and NB are compared line by line.
    """

    GATEWAYS = 2
    METHOD = 'static'
    # Both agents stop: the second one would wait for the first to be back.
    CONFIG = {'gateway_drain': {'drain_on_shutdown': 'false'},
              'port_forward': {'rules_file': forwarding.RULES}}

    @classmethod
    def build(cls):
        super().build()
        for name in cls.cloud.gateways:
            forwarding.put(cls.cloud[name], [forwarding.vip(
                VIP, forwarding.both(81, forwarding.REMOTE))])

    def test_beside_the_agent(self):
        """There is nothing to do, and the agent is not disturbed."""
        owner = self.settled()
        for name in self.cloud.gateways:
            self.wait_vip(name)
            mark = self.mark(name)
            self.assertEqual([], self.dry_run(name))
            self.assertEqual([], self.changes(name, mark))
        self.assertEqual(owner, self.settled())

    def test_nothing_is_there_yet(self):
        """On a node that has the gateway, and on one at priority 0."""
        owner = self.settled()
        other = self.successor()
        self.addCleanup(self._start_all)
        for name in self.cloud.gateways:
            self.assertEqual(0, self.cloud.agents[name].stop())
        # As the original program leaves it when it is stopped.
        self.cloud.neutron.set_priorities(
            self.alpha, {**self.priorities(), other: 0})
        kinds = {name: {step.split()[1] for step in self.dry_run(name)}
                 for name in (owner, other)}
        self.assertEqual(set(), ON_THE_OWNER - kinds[owner])
        self.assertIn('gateway_priority', kinds[other])
        self.assertEqual(0, self.priorities()[other])

    def _start_all(self):
        for name in self.cloud.gateways:
            self.cloud.agents[name].start()
            self.cloud.agents[name].wait_ready()

    def wait_vip(self, name):
        """Wait until a gateway has its VIP, and the table for it."""
        nodes.wait_until(
            f'{name} forwards', lambda: VIP in self.cloud[name].out(
                'nft', 'list', 'ruleset'), base.SETTLE)


if __name__ == '__main__':
    unittest.main()
