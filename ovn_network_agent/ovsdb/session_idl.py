# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An IDL of python-ovs with a session of ours, and what it warns of.

Only here is the session's private name in use (library_internals.py).
"""

from collections.abc import Callable
import threading
from typing import Any

from oslo_log import log as logging
from ovs import vlog
from ovs.db import idl as ovs_idl

from ovn_network_agent.common import backoff
from ovn_network_agent.ovsdb import rpc

LOG = logging.getLogger(__name__)

_IDL = 'idl'  # the name under which python-ovs logs
# Milliseconds between two attempts to connect, of python-ovs (ovs.reconnect),
# which doubles the pause after each failure.
SHORTEST_PAUSE, _LONGEST_PAUSE = 1000, 8000


def pauses() -> tuple[int, int]:
    """Least and most milliseconds between attempts to connect, at random.

    All agents lose a server at once, and must not connect again at once.
    """
    return (int(backoff.spread(2 * SHORTEST_PAUSE)),
            int(backoff.spread(_LONGEST_PAUSE)))


class SessionIdl(ovs_idl.Idl):
    """An IDL that knows the connection that its content is of.

    :param probe_interval: milliseconds, 0 for none
    """

    _session: Any

    def __init__(self, remote: str, helper: Any, probe_interval: int,
                 **kwargs: Any) -> None:
        # The library takes the schema out of the helper.
        self.database: str = helper.schema_json['name']
        super().__init__(remote, helper, probe_interval=probe_interval,
                         **kwargs)
        self.session = rpc.Session.in_place_of(self._session)
        self._session = self.session
        # The library never probes a Unix socket, but a server may hang.
        self.session.reconnect.set_probe_interval(probe_interval)
        self.session.reconnect.set_backoff(*pauses())
        # The connection that was last asked for the content; until its answer,
        # the content is of the former one.
        self.asked: int | None = None

    def restart_fsm(self) -> None:
        """Ask for the content; the library calls it on each connection."""
        super().restart_fsm()
        number = self.session.get_seqno()
        if number != self.asked:
            self.asked = number
            self.session.give_up()


_collected = threading.local()


def collect(warnings: list[str] | None) -> None:
    """Add the warnings of this thread's IDLs to a list; None stops this.

    During an update they mean that a part of it was left out.
    """
    _collected.warnings = warnings


def _listen(original: Callable[..., None]) -> Callable[..., None]:
    def log(self: vlog.Vlog, message: str, **kwargs: Any) -> None:
        if self.name != _IDL:
            original(self, message, **kwargs)
            return
        LOG.warning('%s', message)
        warnings = getattr(_collected, 'warnings', None)
        if warnings is not None:
            warnings.append(message)
    return log


# ovsdbapp replaces methods of this class, too.
vlog.Vlog.warn = _listen(vlog.Vlog.warn)
vlog.Vlog.err = _listen(vlog.Vlog.err)
