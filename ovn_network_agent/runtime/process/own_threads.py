# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""eventlet, which oslo.service requires, is never used by the agent.

python-ovs imports it wherever it is, which takes a third more of the start and
of the memory.  Patches of it would change the agent's threads.
"""

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
