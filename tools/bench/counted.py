# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent with counters: python3 -m tools.bench.counted DIRECTORY OPTIONS.

The counters belong to each process of the agent, also to its privileged
daemons.  The signal START sets them to zero, and STOP writes them into a file
of the directory that is named like the process id.
"""

import collections
import json
import os
import signal
import socket
import sys
import threading

from ovn_network_agent.cmd import agent
from ovn_network_agent.ovsdb import replica

START, STOP = signal.SIGRTMIN, signal.SIGRTMIN + 1
CALLS, ROWS, PROCESSES = 'calls of functions', 'rows received', 'processes'
SENT, RECEIVED = 'messages sent: ', 'messages received: '
NETLINK, OPENFLOW, FRR, OTHER = 'netlink', 'OpenFlow', 'FRR', 'other'
_ROW = replica.Idl.notify.__code__
_SOCKET = {name: direction for direction, names in (
    (SENT, ('send', 'sendall', 'sendmsg', 'sendto')),
    (RECEIVED, ('recv', 'recv_into', 'recvfrom', 'recvmsg')))
    for name in names}
_LAUNCHES = ('fork_exec', 'posix_spawn')


class Counters:
    """Counts on all threads that begin later."""

    def __init__(self, directory):
        self._directory = directory
        self._counts = False
        self._found = collections.Counter()
        self._functions = collections.Counter()
        self._codes = {}
        signal.signal(START, self._start)
        signal.signal(STOP, self._stop)
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def _start(self, _number, _frame):
        self._found, self._functions = (collections.Counter(),
                                        collections.Counter())
        self._counts = True

    def _stop(self, _number, _frame):
        self._counts = False
        functions = {
            f'{code.co_filename}:{code.co_qualname}': self._functions[key]
            for key, code in self._codes.items()}
        path = os.path.join(self._directory, str(os.getpid()))
        with open(path + '.new', 'w') as opened:
            json.dump([self._found, functions], opened)
        os.rename(path + '.new', path)

    def _profile(self, frame, event, function):
        if not self._counts:
            return
        if event == 'call':
            self._call(frame.f_code)
        elif event == 'c_call':
            self._call_of_c(function)

    def _call(self, code):
        self._codes[id(code)] = code
        self._functions[id(code)] += 1
        self._found[CALLS] += 1
        if code is _ROW:
            self._found[ROWS] += 1

    def _call_of_c(self, function):
        if function.__name__ in _LAUNCHES:
            self._found[PROCESSES] += 1
        elif function.__name__ in _SOCKET and isinstance(
                function.__self__, socket.socket):
            self._found[_SOCKET[function.__name__] +
                        _peer(function.__self__)] += 1


def _peer(used):
    """The kind of the peer of a socket."""
    if used.family == socket.AF_NETLINK:
        return NETLINK
    try:
        path = str(used.getpeername())
    except OSError:
        return OTHER
    if path.endswith('.vty'):
        return FRR
    return OPENFLOW if path.endswith('.mgmt') else OTHER


if __name__ == '__main__':
    Counters(sys.argv[1])
    sys.exit(agent.main(sys.argv[2:]))
