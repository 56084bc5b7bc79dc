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

"""The share of the clients that each destination of a rule gets.  Pure.

The hash of a client's address selects a bucket, see :mod:`nft.balance`; this
module assigns the buckets to destinations.
"""

import itertools
import math

from ovn_network_agent import port_forwards
from ovn_network_agent.drivers import buckets


def rule_shares(rule: port_forwards.Rule,
                balance: str) -> tuple[tuple[int, int], ...]:
    """The shares of a rule, as in :class:`nft.values.Service`.

    :param balance: 'jhash' or 'consistent'
    :returns: (index in ``rule.destinations``, number of buckets)
    """
    usable = rule.usable
    places = {destination.address: index
              for index, destination in enumerate(rule.destinations)}
    if len(usable) == 1:
        return ((places[usable[0].address], 1),)
    if balance == 'consistent' and usable:
        weights = frozenset((each.address, each.weight)
                            for each in rule.destinations if each.weight)
        gone = frozenset(address for address, _weight in weights) - {
            destination.address for destination in usable}
        return tuple(
            (places[address], len(list(same))) for address, same
            in itertools.groupby(buckets.owners(weights, gone)))
    common = math.gcd(*(destination.weight for destination in usable))
    return tuple((places[destination.address], destination.weight // common)
                 for destination in usable)
