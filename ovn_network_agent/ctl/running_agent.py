# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands plan, resync, reload and log-level of a running agent."""

import argparse
import json
import sys
from typing import Any
from typing import NoReturn
from typing import TextIO

from ovn_network_agent.common import wording
from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import program

# The exit statuses of plan alone; see the epilog.
SAME = 0
DIFFERENT = 2

# Seconds for an answer of the agent, which waits for slow systems.
_ANSWER = 300.0
_TIMEOUT = 60.0
# Seconds for the answer of the agent, beyond the wait for the result.
_MORE = 30.0
# Seconds beyond the timeout, within which the agent says that it is over.
_MARGIN = 5.0
_LEVEL_ANSWER = 10.0  # seconds for an answer of log-level
LEVELS = ('debug', 'info', 'warn', 'error')
_SIGNS = {'create': '+', 'update': '~', 'delete': '-'}
_COLOURS = {'create': program.GOOD, 'update': program.WARNING,
            'delete': program.BAD}
_EPILOG = """\
exit status, of this command alone: 0 there is no difference; 2 there is one;
1 something else: refused, failed, a system could not be read, or the command
line or the configuration cannot be used; 4 no agent runs
"""


def add(commands: program.Commands) -> None:
    """Add the commands to the command line."""
    plan = commands.add_parser(
        'plan', help='read all systems again, and show what the running agent '
        'would change', epilog=_EPILOG,
        description='Read all systems again, and show what the running agent '
        'would change. Nothing is changed.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    # argparse ends the program with 2.
    plan.error = (  # type: ignore[method-assign]
        lambda message: _refuse(plan, message))
    program.add_json(plan)
    plan.set_defaults(function=_plan)
    _add_resync(commands)
    _add_reload(commands)


def _refuse(plan: argparse.ArgumentParser, message: str) -> NoReturn:
    """End the program; 2 says of this command that there is a difference."""
    plan.print_usage(sys.stderr)
    plan.exit(program.FAILED, f'{plan.prog}: error: {message}\n')


def _plan(args: argparse.Namespace) -> int:
    """Print the differences."""
    try:
        path = program.socket_path(args)
    except program.errors_of_configuration(program.NoSocket) as e:
        return program.fail(f'configuration: {e}', program.FAILED)
    found = json.loads(client.call(path, 'plan', [], _ANSWER))
    program.show(args, found, lambda: of_plan(found, sys.stdout))
    for name, reason in sorted(found['unreadable'].items()):
        program.fail(f'{name} could not be read: {reason}',
                     program.FAILED)
    if found['steps']:
        return DIFFERENT
    return program.FAILED if found['unreadable'] else SAME


def of_plan(found: dict[str, Any], stream: TextIO) -> str:
    """The differences in lines, by backend."""
    lines = []
    for name in dict.fromkeys(step['backend'] for step in found['steps']):
        lines.append(f'{name}:')
        lines += [_line(step, stream) for step in found['steps']
                  if step['backend'] == name]
    lines += [f'! {problem}' for problem in found['problems']]
    counts = found['counts']
    lines.append(
        f'{counts["create"]:d} to create, {counts["update"]:d} to update, '
        f'{counts["delete"]:d} to delete; nothing was changed')
    return '\n'.join(lines) + '\n'


def _line(step: dict[str, Any], stream: TextIO) -> str:
    verb = step['verb']
    sign = program.coloured(_SIGNS[verb], _COLOURS[verb], stream)
    was = f' (was {step["was"]})' if verb == 'update' else ''
    why = f': {step["reason"]}' if step['reason'] else ''
    return f'  {sign} {step["kind"]} {step["will"] or step["was"]}{was}{why}'


def _add_resync(commands: program.Commands) -> None:
    resync = commands.add_parser(
        'resync', help='read and repair backends at once')
    resync.add_argument('backend', nargs='*', metavar='BACKEND',
                        help='a name of "status"; default: all')
    resync.add_argument('--force', action='store_true',
                        help='withdraw the addresses that the withdrawal '
                        'guard holds')
    program.add_json(resync)
    program.add_timeout(resync, _TIMEOUT, 'to wait for the result')
    resync.set_defaults(function=_resync)


def _resync(args: argparse.Namespace) -> int:
    """Print what was changed, and what failed."""
    found = json.loads(client.call(
        program.socket_path(args), 'resync',
        [f'--timeout={args.timeout:g}', *(['--force'] * args.force),
         '--', *args.backend],
        args.timeout + _MORE))
    program.show(args, found, lambda: of_resync(found))
    if found['missing']:
        return program.fail('not carried out in time: '
                            f'{", ".join(found["missing"])}',
                                program.WAITED)
    return program.FAILED if found['failures'] else program.OK


def of_resync(found: dict[str, Any]) -> str:
    """The result in lines."""
    lines = [f'{change["backend"]}: {change["verb"]} {change["kind"]} '
             f'{change["text"]}' for change in found['changes']]
    lines += [f'{failure["backend"]}: failed: {_about(failure)}'
              for failure in found['failures']]
    if found.get('released'):
        lines.append('released by the withdrawal guard: '
                     f'{found["released"]:d} of its addresses')
    lines.append(
        f'{wording.count(len(found["backends"]), "backend")} read, '
        f'{wording.count(len(found["changes"]), "change")}, '
        f'{wording.count(len(found["failures"]), "failure")}')
    return '\n'.join(lines) + '\n'


def _about(failure: dict[str, Any]) -> str:
    name = f'{failure["kind"]} {failure["ref"]}'.strip()
    return f'{name}: {failure["reason"]}' if name else failure['reason']


def _add_reload(commands: program.Commands) -> None:
    reload = commands.add_parser(
        'reload', help='read the configuration again, and show what has '
        'changed', description='Read the configuration files and the rules '
        'file again, as SIGHUP does, and print what has changed and what '
        'waits for a restart. With a mistake in one of the files, nothing '
        'changes.')
    reload.add_argument('--wait', action='store_true',
                        help='wait for a complete pass with the new values')
    program.add_json(reload)
    program.add_timeout(reload, _TIMEOUT, 'for the answer, and for --wait')
    reload.set_defaults(function=_reload)
    _add_log_level(commands)


def _reload(args: argparse.Namespace) -> int:
    """Reload, and print the answer."""
    argv = ['--json', '--timeout', str(args.timeout)]
    if args.wait:
        argv.append('--wait')
    answer = client.call(program.socket_path(args), 'reload', argv,
                         args.timeout + _MARGIN)
    found = json.loads(answer)
    if args.json:
        print(answer)
    else:
        from ovn_network_agent.control.reports import text
        sys.stdout.write(text.of_reload(found))
    sys.stdout.flush()
    if found['refused']:
        return program.fail('reload: refused', program.FAILED)
    if args.wait and not found['in_force']:
        return program.fail(
            f'reloaded, but no complete pass followed within '
            f'{args.timeout:g} s; "status" has the reasons',
            program.WAITED)
    return program.OK


def _add_log_level(commands: program.Commands) -> None:
    level = commands.add_parser(
        'log-level', help='show or set the log level of the running agent',
        description='Show or set the log level of the running agent. A set '
        'level lasts until the next reload, or for the given time.')
    level.add_argument('level', nargs='?', choices=LEVELS, metavar='LEVEL',
                       help='debug, info, warn or error; without a level the '
                       'command shows the present level')
    level.add_argument('--logger', default='', metavar='NAME',
                       help='only this logger and those below, by the name '
                       'in the log; default: all')
    level.add_argument('--for', dest='seconds', type=program.positive,
                       metavar='SECONDS', help='set the former level again '
                       'after this time; default: at the next reload')
    program.add_json(level)
    level.set_defaults(function=_log_level)


def _log_level(args: argparse.Namespace) -> int:
    """Show or set the level."""
    argv = [args.level] if args.level else []
    if args.logger:
        argv += ['--logger', args.logger]
    if args.seconds is not None:
        argv += ['--for', str(args.seconds)]
    if args.json:
        argv.append('--json')
    answer = client.call(program.socket_path(args), 'log-level', argv,
                         _LEVEL_ANSWER)
    sys.stdout.write(answer)
    if args.json:
        print()
    return program.OK
