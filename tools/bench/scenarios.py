# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is measured, by the names of the command line.

A scenario is a function of a world and settings that plays one turn, and
yields (what, place, unit, value).
"""

import random
import time

from tools.bench import host as hosts
from tools.bench import observe
from tools.bench import processes
from tools.bench import routing
from tools.bench import worlds

MS, COUNT, MEGABYTES = 'ms', 'number', 'MB'
PROCESSOR, WAKES, MEMORY = 'processor', 'wakes a second', 'PSS'
_MEGA = 1 << 20
# How many passes are measured as one, because one takes so little.
_PASSES = 5
# Seconds between two comparisons of everything, for none and for many of them.
_NEVER, OFTEN = 86400, 2
_SEED = 16


def run(world: worlds.World, scenario, **settings) -> list:
    """Play one turn.

    :returns: list of (what, place, unit, value), empty for what this subject
        cannot do
    """
    try:
        return [(what, place, unit, round(value, 4)) for
                what, place, unit, value in ALL[scenario](world, **settings)]
    except worlds.CannotDo:
        return []


def settle(world, present):
    """Bring the world to a size, and start the subject there."""
    world.fill(present)
    yield from _times('start', world.start())
    world.rest()


def again(world):
    """Stop the subject, and start it again on an empty node."""
    world.stop()
    yield from _times('start', world.start())
    world.rest()


def leave(world):
    """Stop the subject before the world grows."""
    world.stop()
    return ()


def one(world):
    """One floating IP added, and removed."""
    yield from _both(world, 'one', hosts.addresses(0, 1))


def burst(world, count):
    """Many floating IPs added in one transaction, and removed."""
    yield from _both(world, f'{count:d} at once', hosts.addresses(
        hosts.FIRST + world.size, count))


def takeover(world):
    """A gateway port leaves with its addresses, and comes back."""
    for what, here in (('hand-over', False), ('takeover', True)):
        what, found = f'{what} of a gateway', world.move(here)
        for place in routing.TIMES:
            if place in found:
                yield f'{what}, {place}', worlds.ALL, MS, found.pop(place)
        yield from _times(what, found)


def renew(world):
    """A reading of all systems, on demand, that finds nothing to do."""
    yield from _used(world, 'resync without change', _PASSES, world.renew)


def periodic(world, settled: float, passes: int):
    """A periodic pass that finds nothing to do: the difference to rest.

    :param settled: seconds after a reload until what it began is over
    """
    world.processes()
    loads, usual = [], world.host.interval
    for interval in (_NEVER, OFTEN):
        world.compare_every(interval)
        time.sleep(settled)
        world.begin()
        time.sleep(OFTEN * passes)
        seconds, used = world.end()
        loads.append(used.processor / seconds)
    # What is measured next has the interval of all others.
    world.compare_every(usual)
    yield 'periodic pass without change', PROCESSOR, MS, (
        loads[1] - loads[0]) * OFTEN


def compared(world, changes: int, interval: float = OFTEN, spread: float = 0):
    """One floating IP added, and removed, while everything is compared.

    :param spread: seconds over which the changes are spread; without any, one
        follows the other
    """
    world.processes()
    usual = world.host.interval
    if interval != usual:
        world.compare_every(interval)
    # No change has a fixed distance to a comparison.
    chosen = random.Random(_SEED)  # noqa: S311 - no secret
    started = time.monotonic()
    for moment in sorted(chosen.random() for _change in range(changes)):
        wait_until(started + spread * moment)
        yield from _both(world, f'one, compared every {interval:d} s',
                         hosts.addresses(0, 1))
    if interval != usual:
        world.compare_every(usual)


def wait_until(moment):
    """Sleep until monotonic seconds, which may have passed."""
    time.sleep(max(0.0, moment - time.monotonic()))


def reload(world):
    """SIGHUP with the same configuration."""
    def once():
        world.reload()
        world.rest()
    yield from _used(world, 'SIGHUP', 1, once)


def _used(world, what, count, function):
    """The processor's time of the subject in some calls, for one of them."""
    before = processes.load(world.processes())
    for _n in range(count):
        function()
    used = processes.load(world.processes()).since(before)
    yield what, PROCESSOR, MS, used.processor / count


def compared_once(world):
    """Until the full comparison after the last change is over."""
    world.processes()
    world.rest()
    world.wait_for_comparison()
    world.rest()
    return ()


def rest_begins(world):
    """The first half of a time without events."""
    world.begin()
    return ()


def rest_ends(world):
    """The second half: time of the processor in a minute, and wake-ups."""
    seconds, used = world.end()
    yield 'a minute at rest', PROCESSOR, MS, used.processor * 60 / seconds
    yield 'at rest', WAKES, COUNT, used.wakes / seconds


def memory(world):
    """Proportional memory of each process of the subject, and together."""
    found = [(processes.name(pid), processes.proportional(pid) / _MEGA)
             for pid in world.processes()]
    for number, (name, size) in enumerate(found):
        yield 'memory', f'{name} {number:d}', MEGABYTES, size
    yield 'memory', MEMORY, MEGABYTES, sum(size for _name, size in found)


def _both(world, what, addresses):
    for verb, present in (('added', True), ('removed', False)):
        yield from _times(f'{what} {verb}', world.change(addresses, present))


def _times(what, found):
    for place, value in found.items():
        yield what, place, COUNT if place == worlds.LAUNCHED else MS, value


ALL = {function.__name__: function for function in (
    settle, again, leave, one, burst, takeover, renew, periodic, compared,
    reload, compared_once, rest_begins, rest_ends, memory)}
# Places that the table shows only when it is asked to.
SINGLE = (*observe.PLACES, worlds.COMMIT)
