# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The exit statuses of ovn-network-agent-ctl, and the way to fail."""

import sys

PROGRAM = 'ovn-network-agent-ctl'

OK = 0
FAILED = 1
USAGE = 2
WAITED = 3
NOT_RUNNING = 4
# explain: another node has the address, or nobody has it.
ELSEWHERE = 5
NOBODY = 6
# drain: addresses could not be withdrawn.
REMAINED = 7


def fail(message: object, status: int) -> int:
    """Print why a command fails to standard error."""
    print(f'{PROGRAM}: {message}', file=sys.stderr)
    return status
