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

from ovn_network_agent.ctl import program

if typing.TYPE_CHECKING:
    from ovn_network_agent.diagnosis import finding

_WORDS = {'OK': 'PASS', 'WARN': 'WARN', 'BROKEN': 'FAIL',
          'NOT CHECKED': 'NOT CHECKED'}


def add(commands: program.Commands) -> None:
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
    from ovn_network_agent.runtime.process import interpreter
    interpreter.hold()
    interpreter.keep_eventlet_out()
    from ovn_network_agent.conf import validate
    from ovn_network_agent.diagnosis.node import examination
    from ovn_network_agent.diagnosis.node import registry
    interpreter.settle()
    try:
        wanted = examination.select(registry.CHECKS, args.check)
    except examination.UnknownCheck as e:
        return program.fail(e, program.USAGE)
    if args.list:
        for check in wanted:
            print(f'{check.name:20} {check.about}')
        return program.OK
    try:
        findings = _examined(args, registry.CHECKS, wanted)
    except validate.ConfigError as e:
        return program.fail(f'configuration: {e}', program.USAGE)
    sys.stdout.write(_as_json(findings) if args.json
                     else _as_text(findings))
    broken = any(one.verdict.name == 'BROKEN' for one in findings)
    return program.FAILED if broken else program.OK


def _examined(args: argparse.Namespace, known: Any, wanted: Any
              ) -> 'list[finding.Finding]':
    from oslo_config import cfg

    from ovn_network_agent.diagnosis.node import examination
    from ovn_network_agent.diagnosis.node import sources
    # The findings have what the libraries would log.
    logging.getLogger().addHandler(logging.NullHandler())
    found = sources.Sources(cfg.CONF, program.files(args),
                            args.socket or '')
    try:
        found.start()
        return examination.Examination(known, found).run(wanted)
    finally:
        found.close()


def _as_json(findings: 'Sequence[finding.Finding]') -> str:
    return json.dumps({
        'failed': sorted({one.check for one in findings
                          if one.verdict.name == 'BROKEN'}),
        'findings': [{**one.json(), 'verdict': _WORDS[one.verdict.value]}
                     for one in findings]}, indent=2) + '\n'


def _as_text(findings: 'Sequence[finding.Finding]') -> str:
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
