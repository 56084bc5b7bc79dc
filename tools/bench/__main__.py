# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One command for the speed of the agent: python3 -m tools.bench, as root."""

import argparse
import contextlib
import os
import signal
import sys
import time

from tools.bench import crew as crews
from tools.bench import page
from tools.bench import peer
from tools.bench import results
from tools.bench import scenarios
from tools.bench import subjects
from tools.bench import table

_JSON = os.path.join(subjects.BUILD, 'results.json')
_EVENTS = ('start', 'one', 'burst', 'takeover', 'renew', 'periodic',
           'compared', 'reload', 'rest', 'memory')


def main(argv: list | None = None) -> int:
    """Measure, or show what was measured.

    :returns: exit status, 1 when something could not be measured
    """
    given = _parser().parse_args(argv)
    given.arguments = without_path(sys.argv[1:] if argv is None else argv)
    return given.function(given)


def without_path(arguments: list[str]) -> list[str]:
    """The arguments for the results, which name no file of a machine."""
    rest = iter(arguments)
    return [argument for argument in rest
            if not argument.startswith('--json=') and
            (argument != '--json' or not next(rest, None))]


def _parser():
    parser = argparse.ArgumentParser(prog='tools.bench', description=__doc__)
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    run = commands.add_parser(
        'run', help='measure, add the results to the file, and print a table')
    run.set_defaults(function=_run)
    _add_choices(run)
    _add_subjects(run)
    shown = commands.add_parser('table', help='print the table of the file')
    shown.set_defaults(function=_table)
    written = commands.add_parser(
        'page', help='write the tables of the documentation, from the file')
    written.set_defaults(function=_page)
    written.add_argument(
        '--to', metavar='TEXT', default=os.path.join(
            subjects.BUILD, 'speed-tables.inc'),
        help='reStructuredText (default: %(default)s)')
    for command in (run, shown, written):
        command.add_argument('--json', default=_JSON, metavar='FILE',
                             help='results (default: %(default)s)')
    for command in (run, shown):
        command.add_argument('--all-places', action='store_true',
                             help='also show the single places')
    return parser


def _add_choices(run):
    run.add_argument('--addresses', default='fips',
                     choices=['fips', 'ports', 'networks'],
                     help='floating IPs; or machines on a provider network, '
                     'without routers and their scenarios; or networks of '
                     'tenants, without the peer')
    run.add_argument('--sizes', type=int, nargs='+', metavar='N',
                     default=[0, 100, 1000, 5000, 10000],
                     help='addresses that are present')
    run.add_argument('--routers', type=int, default=10)
    run.add_argument('--methods', nargs='+', default=['static', 'kernel'],
                     choices=['static', 'kernel'])
    run.add_argument('--work-queue', type=int, metavar='MS',
                     help='milliseconds that zebra waits before it handles '
                     'changed routes (default: that of FRR, 10)')
    run.add_argument('--scenarios', nargs='+', default=list(_EVENTS),
                     choices=list(_EVENTS))
    run.add_argument('--repeat', type=int, default=20,
                     help='turns of one address')
    run.add_argument('--large', type=int, default=5,
                     help='turns of what is large: starts, bursts, moves')
    run.add_argument('--burst', type=int, default=1000,
                     help='addresses in one transaction')
    run.add_argument('--rest', type=float, default=120, metavar='SECONDS',
                     help='time without events')
    run.add_argument('--passes', type=int, default=10, metavar='N',
                     help='periodic passes without a change')
    run.add_argument('--settled', type=float, default=20, metavar='SECONDS',
                     help='time before these passes, in which the agent ends '
                     'its check in FRR after a reload')
    run.add_argument('--interval', type=int, default=60, metavar='SECONDS',
                     help='reconcile_interval (default: %(default)s)')
    run.add_argument('--compare-every', type=int, metavar='SECONDS',
                     default=scenarios.OFTEN, help='reconcile_interval in '
                     'the scenario compared (default: %(default)s)')
    run.add_argument('--spread', type=float, default=0, metavar='SECONDS',
                     help='time over which this scenario spreads its changes')


def _add_subjects(run):
    run.add_argument('--against', metavar='REVISION', action='append',
                     default=[], help='another revision of the agent, in '
                     'turns with this tree; may be given several times')
    run.add_argument('--peer', action='store_true',
                     help='ovn-bgp-agent 7.0.0, which is installed from the '
                     'package index into build/')
    run.add_argument('--peer-most', type=int, default=1000, metavar='N',
                     help='the peer ends at larger sizes: its start takes '
                     'minutes with 1,000 (default: %(default)s)')
    run.add_argument('--no-floor', action='store_true',
                     help='leave out the planes without an agent')


def _table(given):
    print('\n'.join(table.lines(
        results.read(given.json),
        () if given.all_places else scenarios.SINGLE)))
    return 0


def _page(given):
    with open(given.to, 'w') as opened:
        opened.write('\n'.join([*page.lines(results.read(given.json)), '']))
    print(given.to)
    return 0


def _run(given):
    # What was measured before the end of the time is kept.
    signal.signal(signal.SIGTERM, lambda *_args: sys.exit(1))
    results.read(given.json)
    if given.addresses == 'ports':
        _without_routers(given)
    who = [subjects.ours(), *([] if given.no_floor else [subjects.floor()]),
           *map(subjects.revision, given.against)]
    alone = [peer.subject()] if given.peer else []
    run = results.Run({
        **subjects.now(), 'arguments': given.arguments,
        'subjects': {one.name: one.version for one in who + alone}})
    crew = crews.Crew([
        crews.Member(subject, method, given.routers, interval=given.interval,
                     work_queue=work_queue, addresses=given.addresses)
        for method, subject, work_queue in [
            *((method, subject, given.work_queue)
              for method in given.methods for subject in who),
            *(('', subject, None) for subject in alone)]], run)
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


def _without_routers(given):
    """Leave out what has no meaning without a router.

    Without addresses nothing would tell the end of a start.
    """
    given.routers = 0
    given.sizes = [size for size in given.sizes if size]
    given.scenarios = [name for name in given.scenarios
                       if name != 'takeover']


def _play(crew, size, given):
    started = time.monotonic()
    if size > given.peer_most:
        for member in [one for one in crew.members
                       if one.subject.kind == 'peer']:
            crew.drop(member)
    crew.play('settle', size, present=size)
    turns = {
        'one': lambda: crew.play('one', size, given.repeat),
        'memory': lambda: crew.play('memory', size),
        'burst': lambda: crew.play('burst', size, given.large,
                                   count=given.burst),
        'renew': lambda: crew.play('renew', size, given.large),
        'periodic': lambda: crew.play(
            'periodic', size, settled=given.settled, passes=given.passes),
        'compared': lambda: crew.play(
            'compared', size, changes=given.repeat,
            interval=given.compare_every, spread=given.spread),
        'takeover': lambda: crew.play('takeover', size, given.large),
        'reload': lambda: crew.play('reload', size, given.large),
        'rest': lambda: _rest(crew, size, given.rest),
        'start': lambda: crew.play('again', size, given.large - 1)}
    for name, play in turns.items():
        if name in given.scenarios:
            play()
    print(f'{size:d} present: {time.monotonic() - started:.0f} s',
          file=sys.stderr, flush=True)


def _rest(crew, size, seconds):
    """All rest at the same time, after what their last change has begun."""
    crew.play('compared_once', size)
    crew.play('rest_begins', size)
    time.sleep(seconds)
    crew.play('rest_ends', size)


if __name__ == '__main__':
    sys.exit(main())
