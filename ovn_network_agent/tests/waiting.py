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
