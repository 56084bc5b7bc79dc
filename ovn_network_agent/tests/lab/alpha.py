# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The smallest cloud: one router with a machine and a floating IP."""

from ovn_network_agent.tests.lab import base


class AlphaTestCase(base.LabTestCase):
    """A class of tests with the router alpha, whose gateway is on gw1.

    :cvar CANDIDATES: names of the nodes that may have it; None for all
    :cvar NODE: name of the node that the tests are about
    """

    CANDIDATES = None
    NODE = 'gw1'

    @classmethod
    def build(cls):
        cls.alpha = cls.cloud.add_router('alpha', cls.CANDIDATES)
        cls.vm, cls.fip = cls.machine(cls.alpha)

    def setUp(self):
        super().setUp()
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        self.node = self.cloud[self.NODE]
        self.agent = self.cloud.agents[self.NODE]
