# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""eventlet may be installed, but the agent never uses it.

oslo.service requires eventlet, and python-ovs imports it wherever it is
installed. The start takes a third longer with it and the process a third more
memory. A driver that patches the standard library with it would turn the
threads of the agent into something else.
"""

import importlib
import sys
from typing import Any


def keep_eventlet_out() -> None:
    """Make every later import of eventlet fail.

    Most libraries treat the failed import like an eventlet that is not
    installed.  oslo.privsep before 3.11 needs eventlet, so only its import
    succeeds.

    An eventlet that is imported already stays; :func:`patched` tells whether
    it has changed the standard library.
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
