# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Waiting for conditions, always with a deadline."""

from collections import abc
import time


class NodeError(Exception):
    """A failure in a node; the text names the failure, with the output."""


# Exceptions of a condition that looks too early: a failed assertion, the first
# row of an empty table, a missing key, text that is cut off.
NOT_YET = (AssertionError, LookupError, StopIteration, ValueError)


def wait_until(what, check: abc.Callable, timeout: float = 30.0,
               interval: float = 0.05, failure=NodeError,
               not_yet: tuple = NOT_YET):
    """Wait for a condition.

    A condition that raises one of ``not_yet`` does not hold yet, and the wait
    goes on.  The failure has the last exception as its cause.  Every other
    exception ends the wait.

    :param check: function; its first true result ends the wait
    :param failure: class of the error when the time has passed
    :raises NodeError: when the time has passed, or another ``failure``
    """
    deadline = time.monotonic() + timeout
    while True:
        result = cause = None
        try:
            result = check()
        except not_yet as e:
            cause = e
        if result:
            return result
        if time.monotonic() > deadline:
            missing = what() if callable(what) else what
            raise failure(f'not within {timeout:g} s: {missing}') from cause
        time.sleep(interval)
