# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command doctor: checks of the node, with or without an agent."""

import argparse
from collections.abc import Sequence
import json
import logging
import sys
import typing
from typing import Any

from ovn_network_agent.ctl import exit_status
from ovn_network_agent.ctl import parsing
from ovn_network_agent.ctl import socket_path

if typing.TYPE_CHECKING:
    from ovn_network_agent import diagnosis

_WORDS = {'OK': 'PASS', 'WARN': 'WARN', 'BROKEN': 'FAIL',
          'NOT CHECKED': 'NOT CHECKED'}


def add(commands: parsing.Commands) -> None:
    """Add the command to the command line."""
    doctor = commands.add_parser(
        'doctor', help='check this node, also without '
        'an agent; as root, changes nothing')
    doctor.add_argument('--json', action='store_true',
                        help='for programs; the keys are documented')
    doctor.add_argument('--list', action='store_true',
                        help='name the checks, and check nothing')
    doctor.add_argument('check', nargs='*', metavar='CHECK',
                        help='only these checks; default: all')
    doctor.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Check the node, and print the findings; 1 when a check fails."""
    # The imports take a second, and only this command needs them.
    from ovn_network_agent.runtime.process import garbage_collector
    from ovn_network_agent.runtime.process import own_threads
    garbage_collector.hold()
    own_threads.keep_eventlet_out()
    from ovn_network_agent.conf import validate
    from ovn_network_agent.diagnosis.node import examination
    garbage_collector.settle()
    try:
        wanted = examination.select(examination.CHECKS, args.check)
    except examination.UnknownCheck as e:
        return exit_status.fail(e, exit_status.USAGE)
    if args.list:
        for check in wanted:
            print(f'{check.name:20} {check.about}')
        return exit_status.OK
    try:
        findings = _examined(args, examination.CHECKS, wanted)
    except validate.ConfigError as e:
        return exit_status.fail(f'configuration: {e}', exit_status.USAGE)
    sys.stdout.write(_as_json(findings) if args.json
                     else _as_text(findings))
    broken = any(one.verdict.name == 'BROKEN' for one in findings)
    return exit_status.FAILED if broken else exit_status.OK


def _examined(args: argparse.Namespace, known: Any, wanted: Any
              ) -> 'list[diagnosis.Finding]':
    from oslo_config import cfg

    from ovn_network_agent.diagnosis.node import examination
    from ovn_network_agent.diagnosis.node import sources
    # The findings have what the libraries would log.
    logging.getLogger().addHandler(logging.NullHandler())
    found = sources.Sources(cfg.CONF, socket_path.files(args),
                            args.socket or '')
    try:
        found.start()
        return examination.Examination(known, found).run(wanted)
    finally:
        found.close()


def _as_json(findings: 'Sequence[diagnosis.Finding]') -> str:
    return json.dumps({
        'failed': sorted({one.check for one in findings
                          if one.verdict.name == 'BROKEN'}),
        'findings': [{**one.json(), 'verdict': _WORDS[one.verdict.value]}
                     for one in findings]}, indent=2) + '\n'


def _as_text(findings: 'Sequence[diagnosis.Finding]') -> str:
    """One line for each finding, and one for its remedy."""
    lines = []
    for one in findings:
        lines.append(f'{_WORDS[one.verdict.value]:12}{one.check:20} '
                     f'{one.evidence}')
        if one.remedy:
            lines.append(f'{"":12}{"":20} -> {one.remedy}')
    counts = {word: sum(_WORDS[one.verdict.value] == word
                        for one in findings) for word in _WORDS.values()}
    lines.append(', '.join(f'{count:d} {word}'
                           for word, count in counts.items()))
    return '\n'.join(lines) + '\n'
