# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What python-ovs complains of while it applies an update.

:mod:`library_internals` lists the private names of python-ovs in use.
"""

import threading
from typing import Any

from oslo_log import log as logging
from ovs.db import idl as ovs_idl

LOG = logging.getLogger(__name__)


class Complaints:
    """The logger of python-ovs's IDL, which also collects the warnings.

    A warning during an update means that a part of the update was left out.
    """

    _running = threading.local()

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def collect(self, complaints: list[str] | None) -> None:
        """Add the warnings of this thread's IDL to a list; None stops this."""
        self._running.complaints = complaints

    def warn(self, message: str, **kwargs: Any) -> None:
        """Log a warning, and remember it while an update is applied."""
        LOG.warning('%s', message)
        if getattr(self._running, 'complaints', None) is not None:
            self._running.complaints.append(message)

    err = warn


#: The only one, for all replicas.
COMPLAINTS = Complaints(ovs_idl.vlog)
ovs_idl.vlog = COMPLAINTS
