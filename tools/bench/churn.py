# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A day of changes, without the pauses between them."""

import random
import time

from tools.bench import addressing

# Seconds between two changes: faster than a pass.
_PAUSE = 0.01
# Of a hundred changes, so many are of a group of addresses, and of a gateway.
_GROUPS, _MOVES = 10, 2
_GROUP = 20
_SEED = 16


def plan(events: int) -> list:
    """The changes of a day, the same each time.

    :returns: list of ('fips', list of addresses, present) and of ('gateway',
        present); an address or gateway comes and goes in turns
    """
    chosen = random.Random(_SEED)  # noqa: S311 - no secret
    present, here, found = set(), True, []
    for _n in range(events):
        kind = chosen.randrange(100)
        if kind < _MOVES:
            here = not here
            found.append(('gateway', here))
            continue
        count = _GROUP if kind < _MOVES + _GROUPS else 1
        first = chosen.randrange(addressing.FIRST // count) * count
        some = set(addressing.addresses(first, count))
        comes = not some <= present
        changed = some - present if comes else some
        present = present | some if comes else present - some
        found.append(('fips', sorted(changed), comes))
    if not here:
        found.append(('gateway', True))
    found.append(('fips', sorted(present), False))
    return found


def play(world, events: int) -> float:
    """Play a day, and wait until the node is as at its beginning.

    :returns: milliseconds from the last change until all is right
    :raises RuntimeError: when something is missing, or left, in the end
    """
    touched = set()
    for kind, *arguments in plan(events):
        if kind == 'gateway':
            world.shift(*arguments)
        else:
            addresses, present = arguments
            touched.update(addresses)
            world.write(addresses, present)
        world.drain()
        time.sleep(_PAUSE)
    started = time.monotonic()
    world.expect(sorted(touched))
    return (time.monotonic() - started) * 1000
