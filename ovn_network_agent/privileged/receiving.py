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

"""Receiving a socket that the privileged side has opened."""

import errno
import os
import secrets
import socket
import struct

# struct ucred: pid, uid, gid
_CREDENTIALS = struct.Struct('=iII')
# Seconds; both ends are on this machine.
_PATIENCE = 10.0


def receive(hand_over):
    """Receive a socket from the privileged side.

    :param hand_over: entry point, called with the name of the abstract Unix
        socket that waits; it sends a socket there and returns its process id
    :returns: socket.socket
    :raises OSError: when no socket comes, or one of another process
    """
    name = secrets.token_hex(16)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waiting:
        waiting.bind('\0' + name)
        waiting.listen()
        waiting.settimeout(_PATIENCE)
        sender = hand_over(name)
        channel, _address = waiting.accept()
        with channel:
            channel.settimeout(_PATIENCE)
            pid = _CREDENTIALS.unpack(channel.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED,
                _CREDENTIALS.size))[0]
            _data, found, _flags, _address = socket.recv_fds(channel, 1, 1)
    if pid != sender or len(found) != 1:
        for number in found:
            os.close(number)
        raise OSError(errno.EPROTO, 'another process than the root side '
                                    'handed over a socket')
    return socket.socket(fileno=found[0])
