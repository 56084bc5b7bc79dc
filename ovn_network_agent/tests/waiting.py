# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Waiting in tests, always with a deadline."""

import time

from lab import waiting
from ovn_network_agent.ovsdb import connection

# Seconds.  A replica that takes in many rows is busy for more than a second
# when the processors are busy, too.
DEADLINE = 20
# Seconds between two looks.
INTERVAL = 0.01
# A database that is not connected at the moment.
NOT_YET = (*waiting.NOT_YET, connection.Unavailable)


def eventually(condition, what, seconds=DEADLINE):
    """Wait for a condition and give its value.

    :param condition: function that returns something true at last
    :param what: text for the failure, or a function that returns it
    :param seconds: until the failure
    :raises AssertionError: when the condition does not hold in time
    """
    return waiting.wait_until(what, condition, seconds, INTERVAL,
                              failure=AssertionError, not_yet=NOT_YET)


def lasts(check, seconds):
    """Look again and again, for so many seconds.

    :param check: function that raises when something is not as it should be
    """
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        check()
        time.sleep(INTERVAL)
