# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Distributes the tests of a tier over machines or processes side by side.

Takes a directory with a file "all", one test a line, a number of machines or
processes, and a tier.  Makes the files shard.1, shard.2 and so on beside the
file, and workers.yaml, which stestr takes as its --worker-file.  The tests of
a class stay together, because a class builds its objects once for all its
tests.  The longest class comes first, to the machine with the least work.

TIER-costs.txt has the time of each class that takes long, and under "*" that
of all others.  A run of the whole tier leaves a list in build/costs-TIER, from
which this program writes the file.  Only the ratios count, so any machine may
write the file:

    tools/test lab && python3 tools/deal.py --learn lab
"""

import collections
import json
import os
import re
import sys

_PREFIX = 'ovn_network_agent.tests.'
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Seconds; faster classes are dealt out as the others on average.
_LONG = 10.0
_OTHERS = '*'


def path_of_costs(tier):
    """The file with the time of each class of a tier."""
    return os.path.join(_ROOT, 'tools', f'{tier}-costs.txt')


def read_costs(lines) -> dict:
    """Read the costs of classes: dict of class to (seconds, tests)."""
    found = {}
    for line in lines:
        if line.strip() and not line.startswith('#'):
            seconds, tests, name = line.split()
            found[name] = float(seconds), int(tests)
    return found


def deal(tests: list, costs: dict[str, tuple[float, int]], number) -> list:
    """Distribute tests over machines."""
    classes = collections.defaultdict(list)
    for test in tests:
        classes[test.rpartition('.')[0].removeprefix(_PREFIX)].append(test)
    weights = {name: _weight(name, len(members), costs)
               for name, members in classes.items()}
    shards, loads = [[] for _ in range(number)], [0.0] * number
    for name in sorted(classes, key=lambda each: (-weights[each], each)):
        least = loads.index(min(loads))
        loads[least] += weights[name]
        shards[least] += classes[name]
    return shards


def _weight(name, number, costs):
    seconds, tests = costs.get(name) or costs.get(_OTHERS) or (1.0, 1)
    return seconds / tests * number


def long(costs: dict) -> dict:
    """The classes that take long, and the sum of all others."""
    found = {name: cost for name, cost in costs.items() if cost[0] >= _LONG}
    others = [cost for name, cost in costs.items() if name not in found]
    return {_OTHERS: (sum(seconds for seconds, _tests in others),
                      sum(tests for _seconds, tests in others)),
            **found} if others else found


def workers(shards: list) -> str:
    """The text of a worker file of stestr, in which no class is cut."""
    return json.dumps([
        {'worker': [f'^{re.escape(name)}[.]' for name in sorted(
            {test.rpartition('.')[0] for test in shard})]}
        for shard in shards if shard], indent=0) + '\n'


def learn(tier):
    """Write the costs of classes from those that tools/test has left."""
    with open(os.path.join(_ROOT, 'build', f'costs-{tier}'),
              encoding='utf-8') as opened:
        lines = [line.replace(' s ', ' ') for line in opened]
    found = long(read_costs(lines))
    with open(path_of_costs(tier), 'w', encoding='utf-8') as opened:
        opened.write('# Seconds, number of tests, class: see deal.py.\n')
        for name in sorted(found):
            opened.write(f'{found[name][0]:.1f} {found[name][1]} {name}\n')


def main(arguments):
    if arguments[0] == '--learn':
        learn(arguments[1])
        return
    directory, number, tier = arguments[0], int(arguments[1]), arguments[2]
    with open(os.path.join(directory, 'all'), encoding='utf-8') as opened:
        tests = opened.read().split()
    with open(path_of_costs(tier), encoding='utf-8') as opened:
        costs = read_costs(opened)
    shards = deal(tests, costs, number)
    for place, shard in enumerate(shards, 1):
        path = os.path.join(directory, f'shard.{place}')
        with open(path, 'w', encoding='utf-8') as opened:
            opened.writelines(f'{test}\n' for test in shard)
    with open(os.path.join(directory, 'workers.yaml'), 'w',
              encoding='utf-8') as opened:
        opened.write(workers(shards))


if __name__ == '__main__':
    main(sys.argv[1:])
