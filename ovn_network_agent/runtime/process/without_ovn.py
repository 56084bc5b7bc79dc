# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The replacement of OVN and its view in port-forward-only mode.

Without a database to wait for, the view is complete from the first pass on.
"""

import socket

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import row_batches
from ovn_network_agent.ovn import local_state
from ovn_network_agent.ovsdb import connection


class View:
    """The node alone; the interface of :class:`ovn.view.View`."""

    confirmed = True
    cross_check = None
    chassis = ''
    marks: frozenset[ownership.Owner] = frozenset()
    dead: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._hostname = socket.gethostname()
        self.last: model.Snapshot | None = None

    def due_in(self) -> None:
        """None: the view never changes by time alone."""
        return None

    def pieces(self, anyway: bool = False) -> list[row_batches.Piece]:
        """Nothing: there are no rows."""
        return []

    def snapshot(self, phase: model.Phase, full: bool = False
                 ) -> model.Snapshot:
        """The present view, built anew at each call.

        :raises OSError: when the kernel cannot be asked
        """
        self.last = model.Snapshot(model.Node(
            self.chassis, self._hostname, phase,
            local_state.relevant_devices(self._conf, ())))
        return self.last

    # The present view is always as good as a former one.
    restate = snapshot


class Alone:
    """A view without OVN, and no database.

    The interface is that of :class:`runtime.ovn_side.OvnSide`.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.databases: dict[str, connection.Database] = {}
        self.view = View(conf)

    def connect(self) -> None:
        """Do nothing: there is no database."""

    def close(self, limit: float) -> None:
        """Do nothing: there is no database."""
