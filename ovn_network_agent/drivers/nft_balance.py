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

"""One of several backends for a client: the chain that selects it.

Pure.  Rules with the same backends share a chain.  The kernel scales the hash
of the client's address to 0 .. N - 1 (reciprocal_scale(), so neighbours stay
neighbours), and ranges of that are mapped to backends.  The seed is fixed:
without one nft invents another at each load, on each node.
"""

import functools
import hashlib
import itertools
import math

from ovn_network_agent.drivers import buckets
from ovn_network_agent.drivers import nft_lines

CONSISTENT = 'consistent'
# 'ona', any number will do; never change it: all clients would change.
SEED = 0x6f6e61


# As many rules as there may be: at each death of a backend all are asked for.
@functools.lru_cache(maxsize=16384)
def chain(family, rule, balance):
    """The chain for a rule with more than one usable backend.

    :param family: 'ip' or 'ip6'
    :param rule: :class:`port_forwards.Rule`
    :param balance: 'jhash' or 'consistent'
    :returns: (name, tuple of lines)
    """
    ranges = (_consistent(rule) if balance == CONSISTENT else
              _weighted(rule.usable))
    body = nft_lines.lookup(
        'meta l4proto { tcp, udp } dnat %s to jhash %s saddr mod %d '
        'seed %#x map' % (family, family, ranges[-1][1] + 1, SEED),
        ['%s : %s . %d' % (_range(first, last), address, rule.dest_port)
         for first, last, address in ranges])
    digest = hashlib.sha256('\n'.join(body).encode()).hexdigest()
    name = 'balance_' + digest[:16]
    return name, tuple(nft_lines.block('chain', name, body))


def _range(first, last):
    return str(first) if first == last else '%d-%d' % (first, last)


def _weighted(usable):
    """[(first, last, address)] in the order of the file."""
    common = math.gcd(*(backend.weight for backend in usable))
    ranges, first = [], 0
    for backend in usable:
        last = first + backend.weight // common - 1
        ranges.append((first, last, backend.address))
        first = last + 1
    return ranges


def _consistent(rule):
    weights = frozenset((backend.address, backend.weight)
                        for backend in rule.backends if backend.weight)
    gone = frozenset(address for address, _weight in weights) - {
        backend.address for backend in rule.usable}
    ranges, first = [], 0
    for address, same in itertools.groupby(buckets.owners(weights, gone)):
        last = first + len(list(same)) - 1
        ranges.append((first, last, address))
        first = last + 1
    return ranges
