# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Port forwarding with traffic: VIPs that BGP announces, in a whole cloud."""

import unittest

from ovn_network_agent.tests.lab import forward_announcers
from ovn_network_agent.tests.lab import forward_changes
from ovn_network_agent.tests.lab import forward_explained
from ovn_network_agent.tests.lab import forward_fabric
from ovn_network_agent.tests.lab import forward_paths
from ovn_network_agent.tests.lab import forward_redirects
from ovn_network_agent.tests.lab import forwarding


class TestForward(forward_paths.Paths, forward_changes.Changes,
                  forward_announcers.Announcers, forward_explained.Explained,
                  forward_fabric.Fabric, forward_redirects.Redirects,
                  forwarding.ForwardTestCase):
    """All of it in one cloud."""


if __name__ == '__main__':
    unittest.main()
