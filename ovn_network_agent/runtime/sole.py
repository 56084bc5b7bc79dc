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

"""One agent on a node.

Two would take each other's objects for their own, and remove them when one
of them stops.  All that they change belongs to the network namespace: routes,
rules, FRR's and Open vSwitch's devices.  So that is where the one that works
has a name, as an abstract Unix socket.  A service and a container on one node
share it, other than /run or process ids; and the kernel gives it up with the
process, however that ends.

Any user of the node may take the name while no agent runs; who has it is in
the message of the one that does not start.
"""

import contextlib
import errno
import os
import socket
import struct
import threading
import time

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

NAME = '\0ovn-network-agent'
# Seconds for the other one to say where it is.
_PATIENCE = 2.0
_LONGEST = 400
# The other one may end between our two questions.
_ATTEMPTS = 5
_BACKLOG = 16


class AnotherOne(Exception):
    """An agent runs already; the text says where, and the remedy."""


class Place:
    """The place of the one agent of this network namespace.

    To be taken before anything is forked, and before there are threads.

    :param about: what a second agent is told, text
    :raises AnotherOne: when it is taken
    :raises OSError: when that cannot be found out
    """

    def __init__(self, about):
        self._about = about.encode(errors='replace')[:_LONGEST]
        self._socket = _bound()
        self._socket.listen(_BACKLOG)
        # What is forked, and outlives us, must not keep the name.
        os.register_at_fork(after_in_child=self._socket.close)

    def answer(self):
        """Begin to tell others where this agent is; returns at once."""
        threading.Thread(target=self._answer, name='sole',
                         daemon=True).start()

    def _answer(self):
        while True:
            try:
                client, _address = self._socket.accept()
            except OSError as error:
                LOG.warning('Another agent could not be told where this one '
                            'is: %s', error)
                time.sleep(_PATIENCE)
                continue
            with contextlib.suppress(OSError), client:
                client.settimeout(_PATIENCE)
                client.sendall(self._about)


def describe(control_socket):
    """Where this process is, in words that help on the same node.

    :param control_socket: path, '' for none
    :returns: text
    """
    said = [f'process {os.getpid()}', f'host name {socket.gethostname()}']
    try:
        with open('/proc/self/cgroup', encoding='utf-8') as opened:
            said.append(f'cgroup {opened.readline().strip()}')
    except OSError as error:
        said.append(f'cgroup unknown ({error.strerror})')
    said.append(f'control socket {control_socket or "none"}')
    return ', '.join(said)


def _bound():
    for _attempt in range(_ATTEMPTS):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.bind(NAME)
            return made
        except OSError as error:
            made.close()
            if error.errno != errno.EADDRINUSE:
                raise
        said = _who()
        if said:
            break
    raise AnotherOne(
        'another agent works in this network namespace: '
        f'{said or "it is ending"}. Two would remove '
        "each other's routes: stop the other one first, or leave it to its "
        'work; "--dry-run" may run beside it')


def _who():
    """What the other one says, and what the kernel says; '' when it is gone.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(_PATIENCE)
        try:
            asking.connect(NAME)
            pid, uid, _gid = struct.unpack('3i', asking.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('3i')))
        except OSError:
            return ''
        try:
            said = asking.recv(_LONGEST).decode(errors='replace')
        except OSError:
            said = ''
    # From another namespace of processes it has no number here.
    seen = f'process {pid:d} here' if pid else 'in another container'
    text = ''.join(c for c in said if c.isprintable())
    words = f' (it says: {text})' if text else ''
    return f'{seen}, of user {uid:d}{words}'
