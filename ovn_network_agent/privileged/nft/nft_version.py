# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry point: the version of nft."""

import errno

from ovn_network_agent import privileged
from ovn_network_agent.privileged.daemon import command

# seconds; nft only prints
_TIMEOUT = 10


@privileged.netfilter.entrypoint
def read_version() -> str:
    """The version of nft, such as '1.0.6'."""
    result = command.run(['nft', '--version'], _TIMEOUT)
    fields = result.stdout.split()
    if result.status or len(fields) < 2 or not fields[1].startswith('v'):
        raise OSError(errno.EPROTO, f'nft: {result.messages}')
    return fields[1].removeprefix('v')
