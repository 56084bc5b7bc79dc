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

"""Which place gets which egress address.  Pure.

All agents compute the same from the same rows, so only one has to write.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Spot:
    """A place that needs an address of one family."""

    key: str
    # What it can have.
    valid: frozenset[str]
    # The number of addresses that other objects have there.
    load: int = 0
    # Whether it may get an address that it does not have.
    accepts: bool = True


def assign(spots: Collection[Spot], addresses: Sequence[str],
           present: Mapping[str, Collection[str]]) -> dict[str, str]:
    """The addresses of places by their keys.

    What is there and valid stays.  Places without an address get free ones in
    the order of the addresses: the place with the fewest first.

    :param present: by key, normally one address
    """
    made: dict[str, str] = {}
    free = dict.fromkeys(addresses)
    for spot in sorted(spots, key=lambda each: each.key):
        for address in sorted(present.get(spot.key, ())):
            if address in free and address in spot.valid:
                made[spot.key] = address
                del free[address]
                break
    for spot in sorted(spots, key=lambda each: (each.load, each.key)):
        if spot.key in made or not spot.accepts:
            continue
        for address in free:
            if address in spot.valid:
                made[spot.key] = address
                del free[address]
                break
    return made
