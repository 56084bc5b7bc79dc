# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An agent that announces, but never proves that it does.

As the original was before it had such a mark; fleets may be mixed.
"""

import sys

from ovn_network_agent.backends.northbound import advertised
from ovn_network_agent.cmd import agent


def _unmarked(_self, _delta):
    """Believe that it is written, and write nothing."""
    return {}


if __name__ == '__main__':
    advertised.AdvertisedBackend.apply = _unmarked
    sys.exit(agent.main())
