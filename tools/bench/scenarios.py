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
"""What is measured, by the names of the command line.

A scenario is a function of a world and settings (dict) that plays one turn,
and yields (what, place, unit, value).
"""

from tools.bench import samples
from tools.bench import worlds

MS, COUNT = 'ms', 'number'


def run(world, scenario, **settings):
    """Play one turn.

    :param world: a :class:`worlds.World`
    :param scenario: a name of :data:`ALL`
    :returns: list of (what, place, unit, value)
    """
    return list(ALL[scenario](world, **settings))


def settle(world, present):
    """Bring the world to a size, and start the subject there."""
    world.fill(present)
    yield from _times('start', world.start())


def again(world):
    """Stop the subject, and start it again on an empty node."""
    world.stop()
    yield from _times('start', world.start())


def leave(world):
    """Stop the subject before the world grows."""
    world.stop()
    return ()


def one(world):
    """One floating IP added, and removed."""
    yield from _both(world, 'one', samples.addresses(0, 1))


def burst(world, count):
    """Many floating IPs added in one transaction, and removed."""
    yield from _both(world, f'{count:d} at once', samples.addresses(
        samples.FIRST + world.size, count))


def _both(world, what, addresses):
    for verb, present in (('added', True), ('removed', False)):
        yield from _times(f'{what} {verb}', world.change(addresses, present))


def _times(what, found):
    for place, value in found.items():
        yield what, place, (COUNT if place == worlds.LAUNCHED else
                            MS), round(value, 3)


ALL = {function.__name__: function for function in (
    settle, again, leave, one, burst)}
