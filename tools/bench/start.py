# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The cost of a start: python3 -m tools.bench.start, as root.

The real agent on the node of tools.bench.endtoend, started and stopped
several times.  For each start: the time until the last address is in place,
the processor time of the agent with its daemons and their programs until all
of them rest, and the processes and threads that were launched.  With several
``--program``, the programs (of several checkouts) take turns.  Before that,
commands that need no node: ``--check-config``, and ovn-network-agent-ctl.
"""

import argparse
import collections
import os
import resource
import statistics
import subprocess
import time

from tools.bench import host as hosts
from tools.bench import samples
from tools.bench import subjects

_TICK = 1000 / os.sysconf('SC_CLK_TCK')
_REST = 0.5
_POLL = 0.01
_CTL = (['--version'], ['health'], ['--socket', '/nowhere', 'health'],
        ['doctor', '--list'])


def main():
    args = _parser().parse_args()
    programs = args.program or [subjects.program()]
    hosts.enter()
    for program in programs:
        subjects.compile_modules(program)
    with hosts.running(args.routers, version=args.version) as host:
        _commands(host, programs, args)
        present = samples.addresses(256, args.present, args.version)
        samples.fill(host, present)
        _starts(host, programs, args, present)


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--program', action='append', metavar='PATH',
                        help='an ovn-network-agent; default: of this checkout')
    parser.add_argument('--method', default='static',
                        choices=['static', 'kernel'])
    parser.add_argument('--present', type=int, default=10)
    parser.add_argument('--routers', type=int, default=10)
    parser.add_argument('--repeat', type=int, default=9)
    parser.add_argument('--version', type=int, default=4, choices=[4, 6],
                        help='family of the floating IPs')
    return parser


def _commands(host, programs, args):
    """Commands without a node, for each program in turns."""
    host.configure(args.method)
    every = [['', '--check-config', '--config-file', hosts.CONFIG],
             *(['-ctl', *words] for words in _CTL)]
    times = collections.defaultdict(list)
    for _n in range(args.repeat):
        for program in programs:
            for suffix, *words in every:
                times[suffix, *words, program].append(
                    _processor([program + suffix, *words]))
    for (suffix, *words, program), some in sorted(times.items()):
        _report(f'ovn-network-agent{suffix} {" ".join(words)}', program,
                'processor ms', some)


def _processor(argv):
    """Milliseconds of the processor that a command takes."""
    before = _children()
    subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True)
    return (_children() - before) * 1000


def _children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _starts(host, programs, args, present):
    """Starts of each program in turns."""
    measured = collections.defaultdict(list)
    for _n in range(args.repeat):
        for program in programs:
            host.program = program
            started, ended, launched = _start(host, args, present)
            measured[program, 'in place ms'].append((ended - started) * 1000)
            measured[program, 'processor ms'].append(_rested(host.pid))
            measured[program, 'launched'].append(launched)
            measured[program, 'processes'].append(len(_tree(host.pid)))
            host.stop_agent()
    for (program, what), some in sorted(measured.items()):
        _report(f'start with {args.present:d}, {args.method}', program, what,
                some)


def _start(host, args, present):
    """One start: (began, ended, launched tasks).

    The observer knows the routes of IPv4 alone, so the end of a start with
    IPv6 is that of the agent's first complete pass.
    """
    if args.version == 4:
        started, found, launched = samples.start(host, args.method, present)
        return started, max(found.values()), launched
    before, passes = host.launched(), _passes(host)
    started = host.start_agent(args.method)
    while _passes(host) == passes:
        time.sleep(_POLL)
    return started, time.monotonic(), host.launched() - before


def _passes(host):
    try:
        return host.log('agent').count('First complete pass done')
    except FileNotFoundError:
        return 0


def _rested(pid):
    """The processor time of a tree that has come to rest, milliseconds."""
    used, before = _used(pid), -1
    while used - before > 2 * _TICK:
        time.sleep(_REST)
        used, before = _used(pid), used
    return used


def _used(pid):
    """The processor time of a tree, with programs that have ended."""
    total = 0
    for each in _tree(pid):
        with open(f'/proc/{each:d}/stat') as opened:
            fields = opened.read().rpartition(')')[2].split()
        # utime, stime, cutime, cstime: see proc(5).
        total += sum(int(field) for field in fields[11:15])
    return total * _TICK


def _tree(pid):
    """A process and its descendants, a list of PIDs."""
    found = [pid]
    for parent in found:
        for task in os.listdir(f'/proc/{parent:d}/task'):
            with open(f'/proc/{parent:d}/task/{task}/children') as opened:
                found += map(int, opened.read().split())
    return found


def _report(what, program, unit, some):
    print(f'{what:<48} {unit:<13} median {statistics.median(some):8.1f}  '
          f'min {min(some):8.1f}  max {max(some):8.1f}  n {len(some)}  '
          f'{program}', flush=True)


if __name__ == '__main__':
    main()
