# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an agent must not say: warnings while nothing is wrong.

An operator who reads warnings of a healthy cloud each day overlooks the one
that counts.  Other tests put faults into the cloud, and so cannot see a
warning that is false.
"""

import re
import unittest

from lab import node as nodes
from ovn_network_agent.tests.lab import base

# The level of a line, and what begins a traceback.
_IMPORTANT = re.compile(r'^(\S+ \S+ \d+ (WARNING|ERROR|CRITICAL) |Traceback )')
# Beginnings of the messages that may come in a healthy cloud, with the reason:
# there is none now.
EXPECTED = ()
# Floating IPs in one transaction: more than the withdrawal guard lets go
# without a question.
MANY = 20


class NoWarnings:
    """The tests; each begins to read where the last one has ended."""

    # Position in the log of each agent, for the whole class.
    read = None

    @classmethod
    def build(cls):
        cls.read = {}
        cls.alpha = cls.cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.beta = cls.cloud.add_router('beta', ['gw2', 'gw1'])
        cls.vm, cls.fip = cls.machine(cls.alpha)
        _vm, cls.fip_beta = cls.machine(cls.beta)

    def setUp(self):
        super().setUp()
        self._served('gw1', 'gw2')

    def _served(self, alpha, beta):
        """Wait until two gateways announce all that is theirs."""
        for router, fip, name in ((self.alpha, self.fip, alpha),
                                  (self.beta, self.fip_beta, beta)):
            for address in router.address, fip.address:
                self.cloud.wait_announced(address, name, base.SETTLE)
                self.cloud.wait_alone(address, name, base.SETTLE)

    def _no_warning(self):
        """No agent has said anything important since the last test.

        The comparison of everything says so, if something is not as it is to
        be.
        """
        found = []
        for name in self.cloud.gateways:
            agent = self.cloud.agents[name]
            done = agent.ctl('resync', check=False)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            said = self.said(name, self.read.get(name, 0))
            self.read[name] = self.read.get(name, 0) + len(said)
            found += [f'{name}: {line}' for line in said.splitlines()
                      if _IMPORTANT.match(line) and
                      not any(text in line for text in EXPECTED)]
        self.assertEqual([], found)

    def test_starts(self):
        """All agents at once, and each beside another that works."""
        self._no_warning()
        for name in self.cloud.gateways:
            agent = self.cloud.agents[name]
            self.assertEqual(0, agent.stop())
            agent.start()
            agent.wait_ready()
        # What has moved for the stop comes back some time later.
        owner = self.cloud.neutron.owner
        nodes.wait_until('each gateway is somewhere', lambda: owner(
            self.alpha) and owner(self.beta), base.SETTLE)
        self._served(owner(self.alpha), owner(self.beta))
        self._no_warning()

    def test_addresses_come_and_go(self):
        """One, and many in one transaction."""
        for count in 1, MANY:
            fips = self.floating_ips(self.alpha,
                                     [(None, self.vm.port)] * count)
            for fip in fips:
                self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
            self.reach(self.client, 'icmp', fips[-1].address)
            self._remove(self.alpha, fips)
        self._no_warning()

    def test_a_router_comes_and_goes(self):
        router = self.cloud.add_router('gamma', ['gw1', 'gw2'])
        self.cloud.wait_announced(router.address, 'gw1', base.SETTLE)
        self.cloud.neutron.remove_router(router)
        self.cloud.wait_withdrawn(router.address, base.SETTLE)
        self.wait_gone('gw1', router.address)
        self._no_warning()

    def test_a_gateway_moves(self):
        """There and back, while the other one stays."""
        self.addCleanup(self.cloud.move, self.alpha, 'gw1')
        for name in 'gw2', 'gw1':
            self.cloud.move(self.alpha, name)
            self._served(name, 'gw2')
            nodes.wait_until(
                'the rows follow', lambda name=name:
                self.default_route(self.alpha)[0] == name, base.SETTLE)
        self._no_warning()


class TestNoWarningsStatic(NoWarnings, base.LabTestCase):
    """With static routes of FRR, and a flat network of IPv4."""


if __name__ == '__main__':
    unittest.main()
