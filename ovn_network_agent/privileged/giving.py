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

"""Giving an open socket to the agent.  Not entry points."""

import os
import re
import socket

from ovn_network_agent.privileged import checks

_NAME = re.compile(r'[0-9a-f]{32}')
# Seconds; the other end is on this machine and waits already.
_PATIENCE = 5.0


def check(name):
    """The name of the abstract Unix socket that waits.

    :param name: 32 hex digits
    :raises OSError: EINVAL
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise checks.invalid(f'{name!r} is no name of a socket')


def give(name, opened):
    """Send a socket there.

    :param opened: socket.socket; what is sent over it counts as sent by who
        sends it
    :returns: our process id, as the other end sees it
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.settimeout(_PATIENCE)
        channel.connect('\0' + name)
        socket.send_fds(channel, [b'.'], [opened.fileno()])
    return os.getpid()
