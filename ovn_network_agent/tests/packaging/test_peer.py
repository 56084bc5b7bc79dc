# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The swap from ovn-bgp-agent, which comes from the package index."""

import os

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.packaging import test_gateways
from tools.bench import peer


@needs.needs(os.geteuid() == 0, 'boots the machine of the lab')
class SwapFromPeerTest(test_gateways.PlayTestCase):

    def test_the_play(self):
        self.play('peer_play', PEER_PYTHON=peer.subject().program)
