# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The chaos runner, inside the machine of the lab: tools/chaos --help"""

import argparse
import sys
import time

from lab.chaos import actions
from lab.chaos import planning


def _parser():
    parser = argparse.ArgumentParser(
        prog='tools/chaos', description='Outages, drift and churn by seed, '
        'under probes, with a judge. The exit status is 0 without a '
        'violation and with few unexcused losses, and 1 otherwise.')
    parser.add_argument('--seed', type=int, default=1,
                        help='the same seed makes the same plan')
    parser.add_argument('--minutes', type=float, default=3.0,
                        help='length of the actions, without the start')
    parser.add_argument('--profile', default='static',
                        choices=sorted(planning.PROFILES))
    parser.add_argument('--only', default='', metavar='A,B',
                        help='no other actions than these')
    parser.add_argument('--out', default='build/chaos', metavar='DIR',
                        help='directory for journal, summary and logs')
    parser.add_argument('--list', action='store_true',
                        help='print the actions and profiles')
    parser.add_argument('--plan', type=int, metavar='N',
                        help='print the first actions of the plan')
    return parser


def _list(profile):
    for one in planning.PROFILES.values():
        print(f'profile {one.name:18s} {one.what}')
    for name, action in actions.ACTIONS.items():
        note = ' (not in this profile)' if name in profile.without else ''
        print(f'action  {name:18s} {action.what}{note}')


def _say(text):
    print(f'{time.monotonic():8.1f} {text}', flush=True)


def main(argv=None):
    """Run; returns the exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    profile = planning.PROFILES[args.profile]
    if args.list:
        _list(profile)
        return 0
    try:
        chosen = planning.permitted(
            actions.ACTIONS, profile,
            [name for name in args.only.split(',') if name])
    except ValueError as e:
        parser.error(str(e))
    if args.plan:
        for planned, _number in zip(planning.plan(args.seed, profile, chosen),
                                    range(args.plan)):
            print(planned)
        return 0
    return _run(args, profile, chosen)


def _run(args, profile, chosen):
    # Needs the machine, and what only the machine has.
    from lab.chaos import runner

    summary = runner.Runner(profile, chosen, args.seed, 60 * args.minutes,
                            args.out, _say).run()
    good = runner.passed(summary, profile)
    _say(f'{"passed" if good else "FAILED"}: seed {args.seed:d}, profile '
         f'{profile.name}, {len(summary["violations"]):d} violations, '
         f'{100 * summary["loss_share"]:.3f} % lost without excuse (limit '
         f'{100 * profile.loss_limit:.3f} %)')
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
