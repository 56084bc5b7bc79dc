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
"""Port forwarding with traffic: VIPs that BGP announces, in a whole cloud."""

import unittest

from ovn_network_agent.tests.lab import forward_changes
from ovn_network_agent.tests.lab import forward_explained
from ovn_network_agent.tests.lab import forward_fabric
from ovn_network_agent.tests.lab import forward_paths
from ovn_network_agent.tests.lab import forward_redirects
from ovn_network_agent.tests.lab import forwarding


class TestForward(forward_paths.Paths, forward_changes.Changes,
                  forward_explained.Explained, forward_fabric.Fabric,
                  forward_redirects.Redirects, forwarding.ForwardTestCase):
    """All of it in one cloud."""


if __name__ == '__main__':
    unittest.main()
