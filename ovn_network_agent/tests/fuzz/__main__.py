# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Fuzzing of the parsers and of the privileged side; see tools/fuzz."""

import argparse
import importlib
import os
import random
import re
import sys
import time

from ovn_network_agent.tests.fuzz import corpus
from ovn_network_agent.tests.fuzz import engine

# Seconds in which each target of a long search gets its turn.
_ROUND = 120.0


def main(argv=None):
    """Search, print a line for each target, and keep what is found.

    :returns: exit status, 1 with findings
    """
    given = _arguments(argv)
    seed = random.SystemRandom().randrange(1 << 32) if (
        given.seed is None) else given.seed
    way = _way(given.atheris)
    targets = importlib.import_module('ovn_network_agent.tests.fuzz.targets')
    chosen = [target for name, target in sorted(targets.TARGETS.items())
              if re.search(given.target, name) and _possible(target)]
    if not chosen:
        print(f'no target has a name like {given.target!r}')
        return 2
    print(f'{len(chosen)} targets, seed {seed}')
    findings = {}
    start = time.monotonic()
    rounds = 1 if given.seconds is None else max(
        1, round(given.seconds / _ROUND))
    for number in range(rounds):
        left = sum(target.share for target in chosen)
        for target in chosen:
            limit = None if given.seconds is None else (
                start + given.seconds * (number + 1) / rounds -
                time.monotonic()) * target.share / left
            left -= target.share
            report = engine.search(
                target, corpus.read(target.name), f'{seed}.{number}',
                None if given.runs is None else max(
                    1, round(given.runs * target.share)), limit,
                way=way)
            print(f'{target.name:22} {report.runs:8} inputs '
                  f'{len(report.findings):2} findings', flush=True)
            for finding in report.findings:
                findings.setdefault((target.name, finding.what), finding)
    for finding in findings.values():
        _show(finding, given.findings)
    print(f'{len(findings)} findings')
    return 1 if findings else 0


def _arguments(argv):
    parser = argparse.ArgumentParser(prog='tools/fuzz', description=__doc__)
    parser.add_argument('--seconds', type=float, help='seconds in all')
    parser.add_argument('--runs', type=int,
                        help='inputs of each target, without --seconds')
    parser.add_argument('--seed', type=int, help='for the same inputs again')
    parser.add_argument('--target', default='', metavar='REGEX',
                        help='only targets with such a name')
    parser.add_argument('--atheris', action='store_true',
                        help='inputs of atheris, which has to be installed, '
                             'in place of hypothesis')
    parser.add_argument('--findings', default='build/fuzz', metavar='PATH',
                        help='directory for the inputs that failed')
    given = parser.parse_args(argv)
    if given.seconds is None and given.runs is None:
        given.seconds = 60.0
    return given


def _possible(target):
    if target.root and os.getuid():
        print(f'{target.name}: left out, it needs root')
        return False
    return True


def _way(with_atheris):
    """The function that makes inputs, for engine.search.

    To be called before the targets are imported.
    """
    if not with_atheris:
        return engine.examples
    try:
        return importlib.import_module(
            'ovn_network_agent.tests.fuzz.guided').search
    except ImportError as error:
        sys.exit(f'{error}: "pip install atheris" in the virtual environment '
                 f'of the tests, or leave out --atheris')


def _show(finding, directory):
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, re.sub(
        r'[^A-Za-z0-9.]+', '-', f'{finding.target}-{finding.what}'))
    with open(path, 'wb') as opened:
        opened.write(finding.data)
    print(f'\n== {finding.target}: {finding.what}\n{finding.text}'
          f'The input is in {path}.  As a line of the corpus:\n'
          f'{finding.data!r}')


if __name__ == '__main__':
    sys.exit(main())
