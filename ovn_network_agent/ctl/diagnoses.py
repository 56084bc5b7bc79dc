# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands doctor and explain: diagnoses, with or without an agent."""

import argparse
import collections
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import json
import logging
import sys
import typing
from typing import Any

from ovn_network_agent.common import wording
from ovn_network_agent.ctl import program

if typing.TYPE_CHECKING:
    from oslo_config import cfg

    from ovn_network_agent import diagnosis
    from ovn_network_agent.diagnosis.readers import packets

_WORDS = {'OK': 'PASS', 'WARN': 'WARN', 'BROKEN': 'FAIL',
          'NOT CHECKED': 'NOT CHECKED'}
_COLOURS = {word: program.VERDICTS[verdict]
            for verdict, word in _WORDS.items()}
# The most names of checks in one line.
_NAMED = 3
# Addresses for examples (RFC 5737, RFC 3849), which no network has.
_CLIENTS = {4: '192.0.2.1', 6: '2001:db8::1'}


def add(commands: program.Commands) -> None:
    """Add both commands to the command line."""
    doctor = commands.add_parser(
        'doctor', help='check this node; works without an agent, '
        'needs root, changes nothing')
    doctor.add_argument('--all', action='store_true',
                        help='show each check, in the order of a repair')
    program.add_json(doctor)
    doctor.add_argument('--list', action='store_true',
                        help='name the checks, and check nothing')
    doctor.add_argument('check', nargs='*', metavar='CHECK',
                        help='only these checks; default: all')
    doctor.set_defaults(function=_doctor)
    _add_explain(commands)


def _doctor(args: argparse.Namespace) -> int:
    """Check the node, and print the findings; 1 when a check fails."""
    # The imports take a second, and only this command needs them.
    from ovn_network_agent.runtime.process import interpreter
    interpreter.hold()
    interpreter.keep_eventlet_out()
    from ovn_network_agent.conf import validate
    from ovn_network_agent.diagnosis.node import examination
    interpreter.settle()
    try:
        wanted = examination.select(examination.CHECKS, args.check)
    except examination.UnknownCheck as e:
        return program.fail(e, program.USAGE)
    if args.list:
        for check in wanted:
            print(f'{check.name:20} {check.about}')
        return program.OK
    try:
        findings = _examined(args, examination.CHECKS, wanted)
    except validate.ConfigError as e:
        return program.fail(f'configuration: {e}', program.USAGE)
    sys.stdout.write(_as_json(findings) if args.json
                     else _each(findings) if args.all or args.check
                     else _summary(findings, examination.CHECKS))
    broken = any(one.verdict.name == 'BROKEN' for one in findings)
    return program.FAILED if broken else program.OK


def _examined(args: argparse.Namespace, known: Any, wanted: Any
              ) -> 'list[diagnosis.Finding]':
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


def _as_json(findings: 'Sequence[diagnosis.Finding]') -> str:
    return json.dumps({
        'failed': sorted({one.check for one in findings
                          if one.verdict.name == 'BROKEN'}),
        'findings': [{**one.json(), 'verdict': _WORDS[one.verdict.value]}
                     for one in findings]}, indent=2) + '\n'


def _each(findings: 'Iterable[diagnosis.Finding]') -> str:
    """All findings, and their numbers."""
    found = list(findings)
    return '\n'.join([*_lines(found), _counts(found)]) + '\n'


def _summary(findings: 'Sequence[diagnosis.Finding]', known: Any) -> str:
    """Failures, warnings, and the numbers of the other findings."""
    by_word = {word: [one for one in findings
                      if _WORDS[one.verdict.value] == word]
               for word in _WORDS.values()}
    lines = [*_lines(by_word['FAIL']), *_lines(by_word['WARN'])]
    if by_word['PASS']:
        passed = len({one.check for one in by_word['PASS']})
        lines.append(_line('PASS', '', wording.count(passed, 'check')))
    lines += _not_checked(by_word['NOT CHECKED'], {
        one.check for one in by_word['FAIL']},
        {check.name: check.after for check in known})
    lines.append(f'{_counts(findings)} ("--all" shows each check)')
    return '\n'.join(lines) + '\n'


def _not_checked(findings: 'Iterable[diagnosis.Finding]', failed: set[str],
                 after: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The checks that wait for others, and the rest by reason."""
    waiting: list[str] = []
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in findings:
        if failed.intersection(after[one.check]):
            waiting.append(one.check)
        else:
            reasons.setdefault((one.evidence, one.remedy), []).append(
                one.check)
    if waiting:
        causes = failed.intersection(
            cause for name in waiting for cause in after[name])
        yield _line('NOT CHECKED', '', (
            f'{wording.count(len(waiting), "check waits", "checks wait")} for '
            f'{", ".join(name for name in after if name in causes)}'))
    for (evidence, remedy), names in reasons.items():
        subjects = (', '.join(dict.fromkeys(names)) if len(names) <= _NAMED
                    else wording.count(len(names), 'check'))
        yield _line('NOT CHECKED', '', f'{subjects}: {evidence}')
        if remedy:
            yield _remedy(remedy)


def _lines(findings: 'Iterable[diagnosis.Finding]') -> Iterator[str]:
    """One line for each finding, and one for its remedy."""
    for one in findings:
        yield _line(_WORDS[one.verdict.value], one.check, one.evidence)
        if one.remedy:
            yield _remedy(one.remedy)


def _line(word: str, check: str, text: str) -> str:
    shown = program.coloured(f'{word:12}', _COLOURS[word], sys.stdout)
    return f'{shown}{check:20} {text}' if check else f'{shown}{text}'


def _remedy(remedy: str) -> str:
    return f'{"":12}{"":20} -> {remedy}'


def _counts(findings: 'Iterable[diagnosis.Finding]') -> str:
    numbers = collections.Counter(_WORDS[one.verdict.value]
                                  for one in findings)
    return ', '.join(f'{numbers[word]:d} {word}' for word in _WORDS.values())


def _add_explain(commands: program.Commands) -> None:
    explain = commands.add_parser(
        'explain', help='find out why an address is not reachable, '
        'layer by layer')
    explain.add_argument('address', metavar='ADDRESS',
                         help='floating IP, SNAT or router address, VIP, '
                         'address of a machine on a provider network, or a '
                         'network of a tenant or an address in it')
    explain.add_argument('--client', metavar='ADDRESS', default='',
                         help='address outside that cannot reach ADDRESS, for '
                         f'the way back; without this option {_CLIENTS[4]}, '
                         f'or {_CLIENTS[6]} for IPv6')
    explain.add_argument('--vni', type=int, metavar='VNI',
                         help='only the machine on a network with this VNI; '
                         '0: only what has ADDRESS outside of VNIs')
    explain.add_argument('--trace', action='store_true',
                         help='also what OVN and Open vSwitch would do with '
                         'a packet, one line each; reads the whole Southbound '
                         'database')
    explain.add_argument('--verbose', action='store_true',
                         help='with --trace: also the whole text of each '
                         'trace')
    program.add_json(explain)
    explain.set_defaults(function=_explain)


def _explain(args: argparse.Namespace) -> int:
    """Explain an address."""
    address = _canonical(args.address)
    client = _client(args.client, address)
    # The readers take long to import, and python-ovs would import eventlet.
    from ovn_network_agent.runtime.process import interpreter
    interpreter.keep_eventlet_out()
    interpreter.hold()
    from ovn_network_agent.diagnosis.address import explanation
    from ovn_network_agent.diagnosis.address import gathering
    from ovn_network_agent.runtime import loader
    interpreter.settle()
    # The findings have what the libraries would log.
    logging.getLogger().addHandler(logging.NullHandler())
    conf = gathering.load(program.files(args))
    try:
        known = gathering.gather(conf, address, client,
                                 args.socket or conf.control_socket,
                                 args.vni)
    except loader.LoadError as error:
        return program.fail(f'configuration: {error}', program.USAGE)
    if not known:
        return program.fail(
            f'no machine on a network with VNI {args.vni:d} has {address}',
            program.NOBODY)
    found = [(explanation.explain(each),
              _traces(conf, each) if args.trace else ()) for each in known]
    if args.json:
        first, *others = (each.json() | ({
            'trace_verdicts': {one.title: one.verdict for one in traces},
            'traces': {one.title: one.text for one in traces}}
            if args.trace else {}) for each, traces in found)
        print(json.dumps({**first, 'others': others}))
    else:
        sys.stdout.write('\n'.join(
            each.text(_coloured) + _text(traces, args.verbose)
            for each, traces in found))
    statuses = {{explanation.Outcome.OK: program.OK,
                 explanation.Outcome.WITHHELD: program.OK,
                 explanation.Outcome.BROKEN: program.FAILED,
                 explanation.Outcome.UNKNOWN: program.FAILED,
                 explanation.Outcome.ELSEWHERE: program.ELSEWHERE,
                 explanation.Outcome.NOBODY: program.NOBODY}[each.outcome]
                for each, _traces_of in found}
    return (program.FAILED if program.FAILED in statuses
            else min(statuses))


def _coloured(text: str, verdict: str) -> str:
    return program.coloured(text, program.VERDICTS[verdict], sys.stdout)


def _text(traces: 'Iterable[packets.Traced]', verbose: bool) -> str:
    """The traces for people: the verdicts, and the texts on demand."""
    verdicts = ''.join(f'Trace, {each.title}: {each.verdict}\n'
                       for each in traces)
    return verdicts + ''.join(
        f'\n--- {each.title}\n{each.text.rstrip()}\n'
        for each in traces if verbose)


def _traces(conf: 'cfg.ConfigOpts', facts: Any
            ) -> 'tuple[packets.Traced, ...]':
    from ovn_network_agent.diagnosis.readers import packets
    return packets.read_traces(conf, facts.setup, facts.subject)


def _client(text: str, address: str) -> str:
    """The client in canonical notation; ValueError for another family."""
    from ovn_network_agent.common import networks
    version = networks.family(address)
    client = _canonical(text or _CLIENTS[version])
    if '/' in client or networks.family(client) != version:
        raise ValueError(f'--client {client} cannot be a client of {address}: '
                         f'name an address of IPv{version:d}')
    return client


def _canonical(text: str) -> str:
    """An address or prefix in canonical notation; ValueError for others."""
    from ovn_network_agent.common import networks
    try:
        return networks.canonical(text)
    except ValueError as error:
        raise ValueError(f'{text!r} is not an IP address or prefix: '
                         f'{error}') from None
