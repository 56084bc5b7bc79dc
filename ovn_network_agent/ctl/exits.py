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


def fail(message, status):
    """Print why a command fails to standard error.

    :param message: text, or an exception
    :param status: one of the statuses of this module
    :returns: the status
    """
    print(f'{PROGRAM}: {message}', file=sys.stderr)
    return status
