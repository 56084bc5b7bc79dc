# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command report: one file with all that a report of a bug needs."""

import argparse
from collections.abc import Iterator
import contextlib
import json
import os
import socket
import sys
import time
from typing import Any
from typing import TextIO

from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import program

_TIMEOUT = 60.0
# Questions to the agent, by the key in the file; an older agent lacks some.
_ASKED: dict[str, tuple[str, list[str]]] = {
    'agent': ('report', []), 'addresses': ('fips', ['--json'])}
_MODE = 0o600
# Grows with a change that a reader of the file has to know.
_FORMAT = 1


def add(commands: program.Commands) -> None:
    """Add the command to the command line."""
    report = commands.add_parser(
        'report', help='write a file for a bug report',
        description='Write versions, the configuration in effect, the state '
        'of the agent, the stacks of its threads and the last lines of its '
        'log into one JSON file. Passwords are left out, and the content of '
        'keys; read the file before you give it away. Without an agent, the '
        'file has the versions and the configuration.')
    report.add_argument('file', nargs='?', metavar='FILE',
                        help='a new file, which only its owner can read; "-" '
                        'is standard output; without it, a file in this '
                        'directory with the name of the host and the time')
    program.add_timeout(report, _TIMEOUT,
                        'for each answer of the agent')
    report.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Write the report."""
    path = args.file or _name()
    try:
        with _written(path) as opened:
            json.dump(_collected(args), opened, indent=2, sort_keys=True)
            opened.write('\n')
    except FileExistsError:
        return program.fail(f'{path} exists already; name a new file',
                            program.FAILED)
    except BrokenPipeError:
        raise  # as after any other output
    except OSError as e:
        return program.fail(f'{path}: {e.strerror or e}',
                            program.FAILED)
    if path != '-':
        print(path)
    return program.OK


def _name() -> str:
    now = time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())
    return f'ovn-network-agent-report-{socket.gethostname()}-{now}.json'


@contextlib.contextmanager
def _written(path: str) -> Iterator[TextIO]:
    """The context of the new file, which a failure removes again."""
    if path == '-':
        yield sys.stdout
        return
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    try:
        with open(made, 'w') as opened:
            yield opened
    except BaseException:
        os.unlink(path)
        raise


def _collected(args: argparse.Namespace) -> dict[str, Any]:
    # The imports take longer than all other commands.
    from ovn_network_agent.conf import effective
    from ovn_network_agent.control.reports import bug_report
    found = {'format': _FORMAT, 'host': socket.gethostname(),
             'at': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
             'client': bug_report.tried(bug_report.libraries)}
    answered = False
    for key, (command, argv) in _ASKED.items():
        try:
            found[key] = json.loads(client.call(
                program.socket_path(args), command, argv, args.timeout))
            answered = True
        except program.errors_of_configuration(
                client.NoAgent, client.Refused, program.NoSocket) as e:
            found[key] = {'error': str(e)}
            program.fail(f'{key}: {e}', program.OK)
    if not answered:
        found['configuration'] = bug_report.tried(lambda: _configured(args))
    # Secrets that the agent leaves out are left out here once more.
    shown: dict[str, Any] = effective.everywhere(found)
    return shown


def _configured(args: argparse.Namespace) -> dict[str, Any]:
    """The configuration of the files, without an agent."""
    from oslo_config import cfg

    from ovn_network_agent.conf import effective
    from ovn_network_agent.conf import opts
    conf = cfg.ConfigOpts()
    opts.load(conf, program.files(args))
    opts.register_daemons(conf)
    shown: dict[str, Any] = effective.everywhere(
        effective.shown(conf), effective.secrets(conf))
    return shown
