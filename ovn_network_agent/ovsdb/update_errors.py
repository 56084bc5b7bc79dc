# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What python-ovs complains of while it applies an update."""

from collections.abc import Callable
import threading
from typing import Any

from oslo_log import log as logging
from ovs import vlog

LOG = logging.getLogger(__name__)


# The name with which the IDL logs.
_IDL = 'idl'


class Complaints:
    """The warnings of python-ovs's IDL, for the log and for the replica.

    A warning during an update means that a part of the update was left out.
    """

    _running = threading.local()

    def collect(self, complaints: list[str] | None) -> None:
        """Add the warnings of this thread's IDL to a list; None stops this."""
        self._running.complaints = complaints

    def warn(self, message: str) -> None:
        """Log a warning, and remember it while an update is applied."""
        LOG.warning('%s', message)
        if getattr(self._running, 'complaints', None) is not None:
            self._running.complaints.append(message)


#: The only one, for all replicas.
COMPLAINTS = Complaints()


def _listen(former: Callable[..., None]) -> Callable[..., None]:
    """A method of Vlog that hands on what the IDL says."""
    def log(self: vlog.Vlog, message: str, **kwargs: Any) -> None:
        if self.name == _IDL:
            COMPLAINTS.warn(message)
        else:
            former(self, message, **kwargs)
    return log


# ovsdbapp, too, replaces the methods of this class for its log.
vlog.Vlog.warn = _listen(vlog.Vlog.warn)
vlog.Vlog.err = _listen(vlog.Vlog.err)
