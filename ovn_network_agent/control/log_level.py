# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command log-level: shows or sets the levels of the running agent."""

import argparse
import json
import logging
import math
from typing import Any

from oslo_log import log

from ovn_network_agent.conf import log_levels
from ovn_network_agent.control.socket import commands

LOG = log.getLogger(__name__)

USAGE = '[LEVEL] [--logger NAME] [--for SECONDS] [--json]'
# The daemons' loggers; the agent gives out their records under this name of
# the library, in the form of oslo.log.
_PRIVILEGED = 'ovn_network_agent.privileged'
_DAEMONS = 'oslo.privsep.daemon'
LONGEST = 86400.0  # a day; longer is for the configuration


def run(arguments: argparse.ArgumentParser, argv: list[str]) -> str:
    """Carry out the command.

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
        _set(args)
    found = show(args.logger)
    return json.dumps(found) if args.json else text(found)


def _set(args: argparse.Namespace) -> None:
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


def show(logger: str) -> dict[str, Any]:
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


def text(found: dict[str, Any]) -> str:
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
