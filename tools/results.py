# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a run of one tier says, from its subunit stream on standard input.

    results.py failed    each failed test, with the ends of its traceback
    results.py costs     a line for each class: its seconds, the number of its
                         tests, and its name
"""

import collections
import re
import sys

import subunit
import testtools

# First and last lines of a traceback: the place, and the expectation.
_FIRST, _LAST = 14, 16
_WIDTH = 300
_PREFIX = 'ovn_network_agent.tests.'
# The name that unittest reports for a failed setUpClass.
_OF_A_CLASS = re.compile(r'(?:setUp|tearDown)Class \((.*)\)')
_RESULTS = ('success', 'fail', 'skip', 'xfail', 'uxsuccess')


def ending(details: dict):
    """The first and the last lines of the tracebacks of one test."""
    found = []
    for name, content in sorted(details.items()):
        if name.startswith(('traceback', 'reason')):
            lines = content.as_text().rstrip().splitlines()
            if len(lines) > _FIRST + _LAST:
                lines[_FIRST:-_LAST] = ['...']
            found += lines
    return [line[:_WIDTH] for line in found]


def say(test: dict):
    """Print a failed test, and nothing of another one."""
    if test['status'] in ('success', 'skip', 'exists', 'xfail'):
        return
    print(f'{test["status"].upper()}: {test["id"]}')
    for line in ending(test['details']):
        print('    ' + line)


class Clock:
    """Adds up seconds by class.

    The time of a class begins at the end of the former test in the same
    worker.  No test's own time has the objects that the class builds once.
    """

    def __init__(self):
        self._ended = {}
        #: Counter of seconds by name of a class
        self.seconds = collections.Counter()
        #: Counter of tests, likewise
        self.tests = collections.Counter()

    def take(self, test: dict):
        """Add the time of one test."""
        began, ended = test['timestamps']
        if test['status'] not in _RESULTS or None in (began, ended):
            return
        worker = frozenset(test['tags'])
        name = class_of(test['id'])
        since = min(began, self._ended.get(worker, began))
        self.seconds[name] += (ended - since).total_seconds()
        self.tests[name] += 1
        self._ended[worker] = ended


def class_of(test: str):
    """Name of the class of a test, without the common beginning."""
    broken = _OF_A_CLASS.fullmatch(test)
    name = broken[1] if broken else test.partition('(')[0].rpartition('.')[0]
    return name.removeprefix(_PREFIX)


def main(wanted):
    clock = Clock()
    result = testtools.StreamToDict(say if wanted == 'failed' else clock.take)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(
        sys.stdin.buffer, non_subunit_name='stdout').run(result)
    result.stopTestRun()
    for name, seconds in clock.seconds.most_common():
        print(f'{seconds:7.1f} s {clock.tests[name]:4d}  {name}')


if __name__ == '__main__':
    main(sys.argv[1])
