# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A change in place with a VRF, as every node of the original has one.

Needs nothing of the lab but its kernel; the rest is as in
functional.migrate.swap.
"""

import os
import re

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.migrate import base
from ovn_network_agent.tests.functional.migrate import places
from ovn_network_agent.tests.functional.migrate import swap

# The default routes of the tables that lead to the pair: the original gives
# them no mark, and the agent gives them its own.
_DEFAULTS = re.compile(r'default via 169\.254\.0\.2 .*table 20[01]\b')


@needs.needs(os.environ.get('LAB_MACHINE'), 'needs a kernel with VRFs')
class SwapVrfTest(swap.Swap, base.SwapTestCase):
    """Host routes in the main table; packets cross the veth pair."""

    VRF = 'vrf-provider'
    TABLE = 0
    FLAGS = ()

    def replaced(self, line):
        return bool(_DEFAULTS.search(line))

    def left_in_lists(self):
        # What is left of the way back proves whose the networks' lines are.
        return {line for line in super().left_in_lists()
                if places.FORWARD.vip in line}
