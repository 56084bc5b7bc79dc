# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The control socket as a part of the running agent."""

import json
import time

from ovn_network_agent.control import bug_report
from ovn_network_agent.control import commands
from ovn_network_agent.control import health
from ovn_network_agent.control import inspection
from ovn_network_agent.control import log_level
from ovn_network_agent.control import maintenance
from ovn_network_agent.control import reloading
from ovn_network_agent.control import report
from ovn_network_agent.control import server
from ovn_network_agent.control import since
from ovn_network_agent.ovn import directory
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.runtime import mode
from ovn_network_agent.watches import base

# Seconds that a command waits for the lock of a replica.
_PATIENCE = 1.0


class Endpoint(base.Serving):
    """Gives the commands of the control socket the state of the agent.

    :param conf: the oslo.config ConfigOpts
    :param databases: dict of name to :class:`ovsdb.connection.Database`
    :param snapshot: function without arguments that returns the last
        :class:`model.Snapshot`, or None; called on any thread
    :param status: :class:`status.Status`
    :param standings: function without arguments that returns a tuple of
        :class:`forward.standing.Standing`; called on any thread
    :param overlap: function without arguments that returns whether a drain
        could overlap, see :func:`overlaps.standing`; called on any thread
    :param parts: :class:`runtime.inside.Inside`, None without a loop
    """

    def __init__(self, conf, databases, snapshot, status,
                 standings=lambda: (), overlap=str, parts=None):
        super().__init__('control socket')
        self._conf = conf
        self._databases = databases
        self._mode = mode.name(conf)
        self._snapshot = snapshot
        self._status = status
        self._standings = standings
        self._overlap = overlap
        self._parts = parts
        self._names = directory.Directory()
        self._since = since.Since()
        more = {'health': ('', self._health),
                'log-level': (log_level.USAGE, log_level.run),
                'report': ('', bug_report.BugReport(
                    conf, databases, self._report, self._tell_health,
                    lambda: parts.passes.last if parts else ()).run)}
        if parts is not None:
            more.update(inspection.Inspection(
                conf, parts, snapshot, standings, self._read_names,
                databases).commands)
            more['reload'] = (reloading.USAGE,
                              reloading.Reloading(parts.reloads).run)
        if conf.control_socket:
            self._server = server.Server(
                conf.control_socket, commands.Table(
                    maintenance.Maintenance(conf, databases, snapshot,
                                            self._read_names),
                    self._report, more), self._changed)

    def seen(self, snapshot):
        """Note since when drains and handovers last; see :class:`since.Since`.

        :param snapshot: :class:`model.Snapshot`
        """
        self._since.note(snapshot)

    def _report(self):
        return report.build(self._snapshot(), self._status.reasons,
                            self._databases, self._read_names(), self._mode,
                            self._standings(), self._status.waiting,
                            self._overlap(), self._since,
                            self._parts.reloads.last if self._parts
                            else None, self._parts)

    def _health(self, arguments, argv):
        arguments.parse_args(argv)
        return json.dumps(self._tell_health())

    def _tell_health(self):
        return health.build(
            self._snapshot(), self._status, self._conf.reconcile_interval,
            time.monotonic())

    def _read_names(self):
        """:class:`directory.Directory`, the former one if OVN is away."""
        if not self._databases:
            return self._names
        try:
            with (self._databases['nb'].rows(_PATIENCE) as nb,
                  self._databases['sb'].rows(_PATIENCE) as sb):
                self._names = directory.read(nb, sb)
        except connection.Unavailable:
            # Every answer names the state of the databases anyhow.
            pass
        return self._names
