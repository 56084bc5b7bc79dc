# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Passing an open socket to the agent.  These are no entry points."""

import os
import re
import socket
import time

from ovn_network_agent.common import unix_sockets
from ovn_network_agent.privileged.network import checks

_NAME = re.compile(r'[0-9a-f]{32}')
# seconds; the agent is on this machine and waits already
_TIMEOUT = 5


def check(name: object) -> None:
    """Check the name of the abstract Unix socket of the agent."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise checks.invalid(f'{name!r} is no name of a socket')


def give(name: str, opened: socket.socket) -> int:
    """Send an open socket to the agent; returns the id of this process."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        # others may have filled the queue of the agent
        unix_sockets.connect(channel, '\0' + name,
                             time.monotonic() + _TIMEOUT)
        socket.send_fds(channel, [b'.'], [opened.fileno()])
    return os.getpid()
