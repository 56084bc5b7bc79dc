# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which place gets which egress address, the same for all agents.  Pure."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Spot:
    """A place that needs an address of one family."""

    key: str
    valid: frozenset[str]  # what it can have
    # What it has, normally one; and what its routers have at any place.
    present: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()
    load: int = 0  # the number of addresses that other objects have there
    accepts: bool = True  # whether it may get an address that it does not have


def assign(spots: Collection[Spot],
           addresses: Sequence[str]) -> dict[str, str]:
    """The addresses of places by their keys.

    What is valid stays; else a free one of its routers (gateways move), or the
    first.  The place with the fewest is the first.
    """
    made: dict[str, str] = {}
    free = list(addresses)

    def give(spot: Spot, wanted: Iterable[str]) -> None:
        address = next((each for each in wanted
                        if each in free and each in spot.valid), None)
        if spot.key not in made and address is not None:
            made[spot.key] = address
            free.remove(address)
    in_order = sorted(spots, key=lambda each: (each.load, each.key))
    for spot in in_order:
        give(spot, sorted(spot.present))
    in_order = [spot for spot in in_order if spot.accepts]
    for spot in in_order:
        give(spot, sorted(spot.former))
    for spot in in_order:
        give(spot, addresses)
    return made
