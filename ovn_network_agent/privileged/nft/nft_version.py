# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry point: the version of nft.

Only the privileged side starts programs.
"""

import errno

from ovn_network_agent import privileged
from ovn_network_agent.privileged.daemon import command

# Seconds; nft only prints.
_TIMEOUT = 10


@privileged.netfilter.entrypoint
def read_version() -> str:
    """The version of nft, such as '1.0.6'."""
    said = command.run(['nft', '--version'], _TIMEOUT)
    words = said.stdout.split()
    if said.status or len(words) < 2 or not words[1].startswith('v'):
        raise OSError(errno.EPROTO, f'nft: {said.messages}')
    return words[1].removeprefix('v')
