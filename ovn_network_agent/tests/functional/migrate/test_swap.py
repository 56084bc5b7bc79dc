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
