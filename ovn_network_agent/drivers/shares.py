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

from ovn_network_agent.drivers import buckets

CONSISTENT = 'consistent'


def rule_shares(rule, balance):
    """The shares of a rule.

    :param rule: :class:`port_forwards.Rule`
    :param balance: 'jhash' or 'consistent'
    :returns: see :attr:`nft.values.Service.shares`; the indexes are those of
        ``rule.destinations``
    """
    usable = rule.usable
    places = {destination.address: index
              for index, destination in enumerate(rule.destinations)}
    if len(usable) == 1:
        return ((places[usable[0].address], 1),)
    if balance == CONSISTENT and usable:
        return tuple(
            (places[address], len(list(same))) for address, same
            in itertools.groupby(_owners(rule)))
    common = math.gcd(*(destination.weight for destination in usable))
    return tuple((places[destination.address], destination.weight // common)
                 for destination in usable)


def _owners(rule):
    """The destination of each bucket, a tuple of addresses."""
    weights = frozenset((each.address, each.weight)
                        for each in rule.destinations if each.weight)
    gone = frozenset(address for address, _weight in weights) - {
        destination.address for destination in rule.usable}
    return buckets.owners(weights, gone)
