# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The warnings of python-ovs while it applies an update."""

from collections.abc import Callable
import threading
from typing import Any

from oslo_log import log as logging
from ovs import vlog

LOG = logging.getLogger(__name__)


_IDL = 'idl'  # logs under this name


class UpdateWarnings:
    """The warnings of python-ovs's IDL, for the log and for the replica.

    During an update they mean that a part of it was left out.
    """

    _running = threading.local()

    def collect(self, warnings: list[str] | None) -> None:
        """Add the warnings of this thread's IDL to a list; None stops this."""
        self._running.warnings = warnings

    def warn(self, message: str) -> None:
        """Log a warning, and remember it while an update is applied."""
        LOG.warning('%s', message)
        if getattr(self._running, 'warnings', None) is not None:
            self._running.warnings.append(message)


WARNINGS = UpdateWarnings()


def _listen(former: Callable[..., None]) -> Callable[..., None]:
    def log(self: vlog.Vlog, message: str, **kwargs: Any) -> None:
        if self.name == _IDL:
            WARNINGS.warn(message)
        else:
            former(self, message, **kwargs)
    return log


# ovsdbapp replaces methods of this class, too.
vlog.Vlog.warn = _listen(vlog.Vlog.warn)
vlog.Vlog.err = _listen(vlog.Vlog.err)
