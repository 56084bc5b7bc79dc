# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Waiting for conditions, always with a deadline."""

import time


class NodeError(Exception):
    """Something in a node failed; the text says what, with its output."""


def wait_until(what, check, timeout=30.0, interval=0.05):
    """Wait for a condition.

    :param what: text for the error, or a function that returns it
    :param check: function; its first true result ends the wait
    :param timeout: seconds
    :param interval: seconds between two looks
    :returns: the result of ``check``
    :raises NodeError: when the time has passed
    """
    deadline = time.monotonic() + timeout
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > deadline:
            raise NodeError('not within %g s: %s' % (
                timeout, what() if callable(what) else what))
        time.sleep(interval)
