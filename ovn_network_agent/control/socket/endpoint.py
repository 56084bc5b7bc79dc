# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The control socket as a part of the running agent."""

import argparse
from collections.abc import Callable
from collections.abc import Mapping
import functools
import json
import logging
import math
import time
from typing import Any

from oslo_config import cfg
from oslo_log import log

from ovn_network_agent import model
from ovn_network_agent.conf import log_levels
from ovn_network_agent.control import drains
from ovn_network_agent.control.reports import bug_report
from ovn_network_agent.control.reports import inspection
from ovn_network_agent.control.reports import report
from ovn_network_agent.control.reports import situation
from ovn_network_agent.control.reports import text
from ovn_network_agent.control.socket import commands
from ovn_network_agent.control.socket import server
from ovn_network_agent.forward import vip_state
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.runtime import questions
from ovn_network_agent.runtime import reloads
from ovn_network_agent.runtime.process import mode
from ovn_network_agent.runtime.process import status as statuses
from ovn_network_agent.watches import base

LOG = log.getLogger(__name__)

_TIMEOUT = 1.0  # seconds for the lock of a replica
_RELOAD = 30.0  # seconds for the loop, which may be in a pass with FRR
LEVEL_USAGE = '[LEVEL] [--logger NAME] [--for SECONDS] [--json]'
# The daemons' loggers; the agent gives out their records under this name of
# the library, in the form of oslo.log.
_PRIVILEGED = 'ovn_network_agent.privileged'
_DAEMONS = 'oslo.privsep.daemon'
LONGEST = 86400.0  # a day; longer is for the configuration


class Endpoint(base.Serving):
    """Gives the commands of the control socket the state of the agent.

    On any thread; ``parts`` is None without a loop.
    """

    def __init__(self, conf: cfg.ConfigOpts,
                 databases: Mapping[str, connection.Database],
                 snapshot: Callable[[], model.Snapshot | None],
                 status: statuses.Status,
                 standings: Callable[
                     [], tuple[vip_state.VipStatus, ...]] = lambda: (),
                 overlap: Callable[[], str] = str,
                 parts: questions.Internals | None = None) -> None:
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
        self._start_times = drains.StartTimes()
        self._situation = situation.Situation(
            conf, snapshot, standings, self._read_names, parts)
        more: dict[str, commands.Command] = {
            'health': ('', self._health),
            'log-level': (LEVEL_USAGE, log_level),
            'report': ('', bug_report.BugReport(
                conf, databases, self.report, self._tell_health,
                lambda: parts.passes.last if parts else ()).run)}
        if parts is not None:
            more.update(inspection.Inspection(
                conf, parts, snapshot, standings, self._read_names,
                databases).commands)
            more['reload'] = ('[--wait] [--timeout SECONDS] [--json]',
                              functools.partial(_reload, parts.reloads))
        if conf.control_socket:
            self._server = server.Server(
                conf.control_socket, commands.Table(
                    drains.Maintenance(conf, databases, snapshot,
                                       self._read_names),
                    self.report, more), self._changed)

    def seen(self, snapshot: model.Snapshot) -> None:
        """Note since when drains and handovers last, for ``status``."""
        self._start_times.note(snapshot)

    def report(self) -> dict[str, Any]:
        """What "status" says, on any thread but the loop's."""
        return report.build(self._snapshot(), self._status.reasons,
                            self._databases, self._read_names(), self._mode,
                            self._standings(), self._status.waiting,
                            self._overlap(), self._start_times,
                            self._parts.reloads.last if self._parts
                            else None, self._parts, self._verdict(),
                            self._situation.build())

    def _verdict(self) -> dict[str, Any]:
        return report.verdict(
            self._snapshot(), self._status, self._conf.reconcile_interval,
            time.monotonic(), (
                database.problem for database in self._databases.values()
                if not database.connected and database.problem))

    def _health(self, arguments: argparse.ArgumentParser, argv: list[str]
                ) -> str:
        arguments.parse_args(argv)
        return json.dumps(self._tell_health())

    def _tell_health(self) -> dict[str, Any]:
        return report.health(
            self._snapshot(), self._status, self._conf.reconcile_interval,
            time.monotonic())

    def _read_names(self) -> directory.Directory:
        """The former one if OVN is away."""
        if not self._databases:
            return self._names
        try:
            with (self._databases['nb'].rows(_TIMEOUT) as nb,
                  self._databases['sb'].rows(_TIMEOUT) as sb):
                self._names = directory.read(nb, sb)
        except connection.Unavailable:
            pass  # answers name the databases' state
        return self._names


def _reload(answers: reloads.Reloads, arguments: argparse.ArgumentParser,
            argv: list[str]) -> str:
    arguments.add_argument('--wait', action='store_true')
    arguments.add_argument('--timeout', type=float, default=_RELOAD)
    args = arguments.parse_args(argv)
    try:
        answer, in_force = answers.wait(
            answers.ask(), args.timeout, args.wait)
    except reloads.Closed as e:
        raise commands.Refused(f'{e}; the next start reads the files '
                               'anyhow') from None
    if answer is None:
        raise commands.Refused(
            f'the loop has not read the files within {args.timeout:g} '
            's, as a pass takes long; it will, and "status" then says '
            'what came of it')
    found = {**answer.json(), 'in_force': in_force}
    return json.dumps(found) if args.json else (
        text.of_reload(found))


def log_level(arguments: argparse.ArgumentParser, argv: list[str]) -> str:
    """Show or set the levels of the running agent.

    :raises commands.Refused: for a level or a time that cannot be
    """
    arguments.add_argument('level', nargs='?', choices=list(log_levels.LEVELS))
    arguments.add_argument('--logger', default='')
    arguments.add_argument('--for', dest='seconds', type=float)
    args = arguments.parse_args(argv)
    if args.level is None:
        if args.seconds is not None:
            raise commands.Refused('log-level: --for needs a LEVEL: one of ' +
                                   ', '.join(log_levels.LEVELS))
    else:
        _set_level(args)
    found = levels(args.logger)
    return json.dumps(found) if args.json else level_text(found)


def _set_level(args: argparse.Namespace) -> None:
    seconds = args.seconds
    if seconds is not None and not 0 < seconds <= LONGEST:
        raise commands.Refused(
            f'log-level: --for {seconds:g}: choose more than 0 and at most '
            f'{LONGEST:g} seconds')
    if not (args.logger == '' or args.logger in
            logging.Logger.manager.loggerDict):
        raise commands.Refused(
            f'log-level: there is no logger {args.logger!r}; the names are '
            'those in the log, such as ovn_network_agent.runtime.loop, and '
            'their beginnings, such as ovn_network_agent.runtime')
    if f'{_PRIVILEGED}.'.startswith(
            f'{args.logger}.' if args.logger else '') or (
                args.logger.startswith(_PRIVILEGED)):
        log_levels.temporary.set(_DAEMONS, args.level, seconds)
    log_levels.temporary.set(args.logger, args.level, seconds)
    LOG.info('Log level of %s: %s, until %s', args.logger or 'all',
             args.level, 'the next reload' if seconds is None else
             f'{math.ceil(seconds)} s have passed, or the next reload')


def levels(logger: str) -> dict[str, Any]:
    """The levels now; '' is the root logger.

    ``level`` is this logger's, ``changed`` those set by command;
    ``seconds_left`` is None until the next reload.
    """
    return {
        'logger': logger,
        'level': log_levels.name_of(
            logging.getLogger(logger).getEffectiveLevel()),
        'changed': [{'logger': name, 'level': level, 'seconds_left': left}
                    for name, level, left in log_levels.temporary.now()]}


def level_text(found: dict[str, Any]) -> str:
    """The levels for people."""
    lines = [f'level of {found["logger"] or "all loggers"}: '
             f'{found["level"]}']
    for changed in found['changed']:
        left = changed['seconds_left']
        until = ('until the next reload' if left is None else
                 f'for {math.ceil(left)} s more, or until the next reload')
        lines.append(f'  set by command: {changed["logger"] or "all"} to '
                     f'{changed["level"]} {until}')
    return '\n'.join(lines) + '\n'
