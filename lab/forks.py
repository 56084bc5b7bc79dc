# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Programs in Python on nodes, as forks of a process with all modules.

In the machine, the imports take two of the three seconds of an agent's start,
and most of a prober's.  A fork is a child of this process, as if it had been
started here: the process between them ends at once, and this one is the reaper
of such orphans.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from lab import places
from lab import syscalls
from lab import waiting

# The servers: of the agent and its command, and of the lab's own programs.  A
# fork costs by the memory of its server.
_OF_AGENT, _OF_LAB = 'ovn_network_agent.tests.lab.forked', 'lab.forking'
_NAMES = ('ovn-network-agent', 'ovn-network-agent-ctl')
# Seconds for an answer of the server, of which the first one takes longest.
_ANSWER = 60
_POLL = 0.005
_servers = {}


def use(wanted=True):
    """Have nodes start the programs of this environment as forks, or not."""
    if wanted and not _servers:
        _servers.update({name: _Server(name) for name in (_OF_AGENT, _OF_LAB)})
    for server in _servers.values():
        server.wanted = wanted


def isolated(module) -> list[str]:
    """The begin of argv of a program of the lab: Python's library is enough.
    """
    # The directory of the package is not in the path of an isolated Python.
    return [sys.executable, '-I', '-S', '-c',
            f'import sys; sys.path.insert(0, {places.TOP!r}); '
            f'from lab import {module}; {module}.main()']


def known(argv):
    """Whether a program is started as a fork."""
    return any(server.wanted for server in _servers.values()) and (
        _served(argv) is not None)


def _served(argv):
    """(name of the server of a program, argv of the fork), or None."""
    directory, name = os.path.split(argv[0])
    if name in _NAMES and directory == os.path.dirname(sys.executable):
        return _OF_AGENT, argv
    for module in ('echo', 'prober'):
        if argv[:5] == isolated(module):
            return _OF_LAB, [module, *argv[5:]]
    return None


def start(argv, namespaces, env, stdin=None, stdout=None, stderr=None,
          **_more):
    """Start a program in a session of its own.

    :param namespaces: dict of setns(2)'s flag to file descriptor
    :param stdin: a file descriptor; no input by default
    :param stdout: an open file, a descriptor or PIPE; ``stderr`` may be
        STDOUT, too
    :returns: :class:`Process`
    """
    name, words = _served(argv)
    out, err = (tempfile.TemporaryFile() if one == subprocess.PIPE else one
                for one in (stdout, stderr))
    with open(os.devnull, 'rb') as devnull:
        pid = _servers[name].fork(words, env, namespaces, [
            devnull if stdin in (None, subprocess.DEVNULL) else stdin,
            out, out if err == subprocess.STDOUT else err])
    return Process(pid, argv, out, err)


class Process:
    """A fork, with what the lab uses of :class:`subprocess.Popen`."""

    def __init__(self, pid, argv, *outputs):
        self.pid = pid
        self.returncode = None
        self._argv = argv
        self._outputs = outputs
        # Of two threads only one would get the status.
        self._lock = threading.Lock()

    def poll(self):
        """The exit status; None while it runs."""
        with self._lock:
            if self.returncode is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout=None):
        """Wait for the end.

        :raises subprocess.TimeoutExpired: when the time has passed
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if deadline and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(self._argv, timeout)
            time.sleep(_POLL)
        return self.returncode

    def communicate(self, _input=None, timeout=None):
        """Wait for the end; gives output and errors, text."""
        self.wait(timeout)
        return tuple(map(_content, self._outputs))

    def send_signal(self, number):
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _content(opened):
    with opened:
        opened.seek(0)
        return opened.read().decode()


class _Server:
    """The process with all modules; it ends with this one."""

    wanted = True

    def __init__(self, program):
        syscalls.reap_orphans()
        self._lock = threading.Lock()
        self._channel, other = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(_ANSWER)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, '-m', program, str(other.fileno())],
                pass_fds=[other.fileno()], stdin=subprocess.DEVNULL)

    def fork(self, argv, environ, namespaces, streams) -> int:
        """Start a program; gives its PID.

        :raises waiting.NodeError: when the server has ended
        """
        request = {'argv': argv, 'environ': environ, 'flags': [*namespaces]}
        with self._lock:
            socket.send_fds(self._channel, [json.dumps(request).encode()], [
                *(one if isinstance(one, int) else one.fileno()
                  for one in streams), *namespaces.values()])
            said = self._channel.recv(100)
            # Then the process between has ended.
            done = said and self._channel.recv(100)
        if not done:
            raise waiting.NodeError(f'{" ".join(argv)}: the server of forks '
                                    f'has ended: {self._process.poll()}')
        return int(said)
