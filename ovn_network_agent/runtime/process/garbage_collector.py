# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Python's collector of garbage during the start.

It would look 140 times, 30 ms, through 200,000 objects of the imports.  With
Python's thresholds, the collections of a start with 10,000 floating IPs took 2
s, half a second at once.  Garbage with cycles is rare in the agent.
"""

import gc

# New objects until a collection, and such collections until the next older.
_THRESHOLDS = (50_000, 10, 100)


def hold() -> None:
    """Collect nothing until :func:`settle` or :func:`release`."""
    gc.disable()


def settle() -> None:
    """Keep the present objects for good, and rarely collect later ones.

    Full collections cost less, and forked daemons share the memory.
    """
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.enable()


def release() -> None:
    """Collect all objects again, also those of the start."""
    gc.enable()
