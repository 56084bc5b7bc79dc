# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The failed tests in a few lines, for the end of a long log.

Reads the subunit stream of one tier on standard input and prints each failed
test with the ends of its traceback.
"""

import sys

import subunit
import testtools

# First and last lines of a traceback: the place, and the expectation.
_FIRST, _LAST = 14, 16
_WIDTH = 300


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


def main():
    result = testtools.StreamToDict(say)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(
        sys.stdin.buffer, non_subunit_name='stdout').run(result)
    result.stopTestRun()


if __name__ == '__main__':
    main()
