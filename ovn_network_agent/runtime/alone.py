# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The replacement of OVN and its view in port-forward-only mode.

Without a database to wait for, the view is complete from the first pass on.
"""

import socket

from ovn_network_agent import model
from ovn_network_agent.ovn import local_state


class View:
    """The node alone; the interface of :class:`ovn.view.View`.

    :param conf: the oslo.config ConfigOpts
    """

    confirmed = True
    cross_check = None
    chassis = ''
    marks = frozenset()
    dead = frozenset()
    silent = frozenset()

    def __init__(self, conf):
        self._conf = conf
        self._hostname = socket.gethostname()
        self.last = None

    def due_in(self):
        """None: the view never changes by time alone."""
        return None

    def pieces(self, anyway=False):
        """Nothing: there are no rows."""
        return []

    def snapshot(self, phase, full=False):
        """The present view, built anew at each call.

        :param phase: :class:`model.Phase`
        :returns: :class:`model.Snapshot` without routers and groups
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

    :param conf: the oslo.config ConfigOpts
    """

    def __init__(self, conf):
        self.databases = {}
        self.view = View(conf)

    def connect(self):
        """Do nothing: there is no database."""

    def close(self, limit):
        """Do nothing: there is no database."""
