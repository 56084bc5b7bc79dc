# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents and their commands as forks of one process: the server of lab.forks.

All modules are loaded already: in the machine, the imports are two of the
three seconds of a start.
"""

import ctypes
import gc
from importlib import metadata
import json
import os
import socket
import sys

from lab import syscalls
from ovn_network_agent.runtime.process import interpreter

interpreter.keep_eventlet_out()

# What these import when they run is loaded here.
from ovn_network_agent.cmd import agent  # noqa: E402
from ovn_network_agent.cmd import ctl  # noqa: E402
from ovn_network_agent.conf import validate  # noqa: E402, F401
from ovn_network_agent.diagnosis.address import explanation  # noqa: E402, F401
from ovn_network_agent.diagnosis.address import gathering  # noqa: E402, F401
from ovn_network_agent.diagnosis.node import sources  # noqa: E402, F401
from ovn_network_agent.runtime import loader  # noqa: E402

_MAINS = {'ovn-network-agent': agent.main, 'ovn-network-agent-ctl': ctl.main}
_libc = ctypes.CDLL(None, use_errno=True)
# linux/prctl.h
_PR_SET_MM, _START, _END = 35, 8, 9
# What /proc/PID/cmdline shows of a fork.
_shown = []


def main():
    """Serve requests until the client has gone; a fork returns its status."""
    for group in loader.DRIVERS, loader.BACKENDS:
        for point in metadata.entry_points(group=group):
            point.load()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        while True:
            data, fds, *_flags = socket.recv_fds(channel, 1 << 20, 8)
            if not data:
                return 0
            request = json.loads(data)
            middle = os.fork()
            if not middle:
                pid = _enter(fds[3:], request['flags'])
                if pid:
                    channel.send(b'%d' % pid)
                    os._exit(0)
                break
            os.waitpid(middle, 0)
            for fd in fds:
                os.close(fd)
            # The fork belongs to the client now.
            channel.send(b'done')
    return _become(fds[:3], **request)


def _enter(fds, flags):
    """Fork in the namespaces of a node; the parent gets the PID."""
    for fd, flag in zip(fds, flags, strict=True):
        syscalls.setns(fd, flag)
    return os.fork()


def _become(streams, argv, environ, **_more):
    """Be the program, as if it had just been started."""
    os.setsid()
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    os.closerange(3, 4096)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = argv
    _show([sys.executable, *argv])
    return _MAINS[os.path.basename(argv[0])]()


def _show(argv):
    """Have the kernel show another command line."""
    text = b''.join(word.encode() + b'\0' for word in argv)
    _shown.append(ctypes.create_string_buffer(text, len(text)))
    start = ctypes.addressof(_shown[0])
    for what, address in (_START, start), (_END, start + len(text)):
        if _libc.prctl(_PR_SET_MM, what, ctypes.c_ulong(address), 0, 0):
            number = ctypes.get_errno()
            raise OSError(number, f'prctl: {os.strerror(number)}')


if __name__ == '__main__':
    sys.exit(main())
