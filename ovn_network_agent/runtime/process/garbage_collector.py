# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Python's collector of garbage during the start.

The imports make 200,000 objects, none of which is garbage.  The collector
would look through them 140 times, which takes 30 ms of the processor.

Beside 10,000 floating IPs, the rows and resources are far more objects.  With
the thresholds of Python, the collections of a start took 2 s, and half a
second at once, in which no event was noticed.  Objects that refer to each
other and are garbage are rare in the agent: exceptions, and little else.
"""

import gc

# New objects until a collection of these, such collections until one of the
# older objects, too, and those until one of all objects.
_THRESHOLDS = (50_000, 10, 100)


def hold() -> None:
    """Collect nothing until :func:`settle` or :func:`release`."""
    gc.disable()


def settle() -> None:
    """Keep the present objects for good, and rarely collect later ones.

    The collector does not touch the kept objects any more.  So full
    collections cost less, and the daemons that are forked next go on to share
    the memory of these objects.
    """
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.enable()


def release() -> None:
    """Collect all objects again, also those of the start."""
    gc.enable()
