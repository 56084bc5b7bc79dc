# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A change in place on a node without VRFs, and the way back.

The original knows nothing but VRFs, which the kernel of this tier may not
have: the layout lacks the veth pair, and FRR's static routes lead to the
bridge.  The lab tier runs the same with a VRF (lab.test_swap_vrf).
"""

import os

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.migrate import base
from ovn_network_agent.tests.functional.migrate import swap


@needs.needs(os.geteuid() == 0, 'makes network namespaces')
class SwapTest(swap.Swap, base.SwapTestCase):
    """Host routes in a table of their own, with rules."""
