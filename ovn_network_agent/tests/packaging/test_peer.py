# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""The swap from ovn-bgp-agent, which comes from the package index."""

import os

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.packaging import test_gateways
from tools.bench import peer


@needs.needs(os.geteuid() == 0, 'boots the machine of the lab')
class SwapFromPeerTest(test_gateways.PlayTestCase):

    def test_the_play(self):
        self.play('peer_play', PEER_PYTHON=peer.subject().program)
