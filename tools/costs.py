# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The costs of each class of tests.

Reads the subunit stream of one tier on standard input.  Prints a line for each
class: its seconds, the number of its tests, and its name.
"""

import collections
import re
import sys

import subunit
import testtools

_PREFIX = 'ovn_network_agent.tests.'
# The name that unittest reports for a failed setUpClass.
_OF_A_CLASS = re.compile(r'(?:setUp|tearDown)Class \((.*)\)')
_RESULTS = ('success', 'fail', 'skip', 'xfail', 'uxsuccess')


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


def main():
    clock = Clock()
    result = testtools.StreamToDict(clock.take)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(
        sys.stdin.buffer, non_subunit_name='stdout').run(result)
    result.stopTestRun()
    for name, seconds in clock.seconds.most_common():
        print(f'{seconds:7.1f} s {clock.tests[name]:4d}  {name}')


if __name__ == '__main__':
    main()
