# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Python without eventlet, and its garbage collector during the start.

oslo.service requires eventlet, and python-ovs imports eventlet wherever it is,
which takes a third more of the start and of the memory.  Patches of eventlet
would change the agent's threads.

The collector would look 140 times, 30 ms, through 200,000 objects of the
imports.  With
Python's thresholds, the collections of a start with 10,000 floating IPs took 2
s, half a second at once.  Garbage with cycles is rare in the agent.
"""

import gc
import importlib
import sys
from typing import Any


def keep_eventlet_out() -> None:
    """Make every later import of eventlet fail.

    Libraries then do without, except oslo.privsep before 3.11.  An eventlet
    imported earlier stays, see :func:`patched`.
    """
    # None in this table makes an import fail.
    modules: dict[str, Any] = sys.modules
    if modules.setdefault('eventlet', None) is not None:
        return
    try:
        importlib.import_module('oslo_privsep.daemon')
    except ModuleNotFoundError as error:
        if error.name != 'eventlet':
            raise
        del modules['eventlet']
        importlib.import_module('oslo_privsep.daemon')
        modules['eventlet'] = None


def patched() -> list[str]:
    """Modules of the standard library that eventlet has replaced."""
    patcher = sys.modules.get('eventlet.patcher')
    if patcher is None:
        return []
    return [name for name in ('os', 'select', 'socket', 'thread', 'time')
            if patcher.is_monkey_patched(name)]


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
