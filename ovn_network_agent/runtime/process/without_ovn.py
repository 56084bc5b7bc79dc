# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The replacement of OVN and its view in port-forward-only mode."""

import socket

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovn import local_state
from ovn_network_agent.ovn import queries
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

    def pieces(self, anyway: bool = False) -> list[queries.Piece]:
        """Nothing: there are no rows."""
        return []

    def snapshot(self, phase: model.Phase, full: bool = False
                 ) -> model.Snapshot:
        """The present view, complete from the first pass on.

        :raises OSError: when the kernel cannot be asked
        """
        self.last = model.Snapshot(model.Node(
            self.chassis, self._hostname, phase,
            local_state.relevant_devices(self._conf, ())))
        return self.last

    restate = snapshot  # as good as a former one


class Alone:
    """A view without database, like :class:`runtime.ovn_side.OvnSide`."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.databases: dict[str, connection.Database] = {}
        self.view = View(conf)

    def connect(self) -> None:
        """Do nothing: there is no database."""

    def close(self, limit: float) -> None:
        """Do nothing: there is no database."""
