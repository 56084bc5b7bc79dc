# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The chain that selects one of several destinations for a client.

Pure.  Services with the same destinations share a chain.  The kernel scales
the hash of the client's address to a number from 0 to N - 1, by
reciprocal_scale(), which keeps the order of hashes.  The chain maps ranges of
this number to destinations.  The seed is fixed, because nft would otherwise
choose another seed at each load, on each node.
"""

import functools
import hashlib

from ovn_network_agent.nft import lines
from ovn_network_agent.nft import values

# The letters 'ona'.  Another number would move clients to other destinations.
SEED = 0x6f6e61


# As many services as there may be: at each death of a destination all are
# asked for.
@functools.lru_cache(maxsize=16384)
def chain(family: str, addresses: tuple[str, ...], dest_port: int,
          shares: values.Shares) -> tuple[str, tuple[str, ...]]:
    """The name and the lines of the chain for a service with several shares.

    :param family: 'ip' or 'ip6'
    """
    ranges, first = [], 0
    for index, buckets in shares:
        ranges.append(f'{_range(first, first + buckets - 1)} : '
                      f'{addresses[index]} . {dest_port}')
        first += buckets
    body = lines.lookup(
        f'meta l4proto {{ tcp, udp }} dnat {family} to jhash {family} saddr '
        f'mod {first} seed {SEED:#x} map', ranges)
    digest = hashlib.sha256('\n'.join(body).encode()).hexdigest()
    name = 'balance_' + digest[:16]
    return name, tuple(lines.block('chain', name, body))


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f'{first}-{last}'
