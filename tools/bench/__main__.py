# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""One command for the speed of the agent: python3 -m tools.bench, as root."""

import argparse
import contextlib
import os
import sys
import time

from tools.bench import crew as crews
from tools.bench import facts
from tools.bench import results
from tools.bench import subjects
from tools.bench import table
from tools.bench import worlds

_JSON = os.path.join(subjects.BUILD, 'results.json')
_EVENTS = ('start', 'one', 'burst')


def main(argv=None):
    """Measure, or show what was measured.

    :param argv: list of str, default sys.argv[1:]
    :returns: exit status, 1 when something could not be measured
    """
    given = _parser().parse_args(argv)
    return given.function(given)


def _parser():
    parser = argparse.ArgumentParser(prog='tools.bench', description=__doc__)
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    run = commands.add_parser(
        'run', help='measure, add the results to the file, and print a table')
    run.set_defaults(function=_run)
    run.add_argument('--sizes', type=int, nargs='+', metavar='N',
                     default=[0, 100, 1000, 5000, 10000],
                     help='floating IPs that are present')
    run.add_argument('--routers', type=int, default=10)
    run.add_argument('--methods', nargs='+', default=['static', 'kernel'],
                     choices=['static', 'kernel'])
    run.add_argument('--scenarios', nargs='+', default=list(_EVENTS),
                     choices=list(_EVENTS))
    run.add_argument('--repeat', type=int, default=20,
                     help='turns of one floating IP')
    run.add_argument('--large', type=int, default=5,
                     help='turns of what is large: starts, bursts')
    run.add_argument('--burst', type=int, default=1000,
                     help='floating IPs in one transaction')
    run.add_argument('--against', metavar='REVISION', action='append',
                     default=[], help='another revision of the agent, in '
                     'turns with this tree; may be given several times')
    run.add_argument('--no-floor', action='store_true',
                     help='leave out the planes without an agent')
    run.add_argument('--vrf', metavar='NAME', default='',
                     help='announce in a VRF of this name')
    shown = commands.add_parser('table', help='print the table of the file')
    shown.set_defaults(function=_table)
    for command in (run, shown):
        command.add_argument('--json', default=_JSON, metavar='FILE',
                             help='results (default: %(default)s)')
        command.add_argument('--all-places', action='store_true',
                             help='also show the single places')
    return parser


def _table(given):
    print('\n'.join(table.lines(
        results.read(given.json),
        () if given.all_places else (worlds.ALL, worlds.LAUNCHED))))
    return 0


def _run(given):
    results.read(given.json)
    who = [subjects.ours()]
    if not given.no_floor:
        who.append(subjects.floor())
    who += [subjects.revision(name) for name in given.against]
    run = results.Run({**facts.now(), 'arguments': sys.argv[1:], 'subjects': {
        one.name: one.version for one in who}})
    crew = crews.Crew([
        crews.Member(subject, method, given.routers, given.vrf)
        for method in given.methods for subject in who], run)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            for number, size in enumerate(sorted(given.sizes)):
                if number:
                    crew.play('leave', size)
                _play(crew, size, given)
    finally:
        crew.close()
        results.append(given.json, run)
    _table(given)
    return 1 if run.failures else 0


def _play(crew, size, given):
    """All scenarios at one size."""
    started = time.monotonic()
    crew.play('settle', size, present=size)
    if 'start' in given.scenarios:
        crew.play('again', size, given.large - 1)
    if 'one' in given.scenarios:
        crew.play('one', size, given.repeat)
    if 'burst' in given.scenarios:
        crew.play('burst', size, given.large, count=given.burst)
    print(f'{size:d} present: {time.monotonic() - started:.0f} s',
          file=sys.stderr, flush=True)


if __name__ == '__main__':
    sys.exit(main())
