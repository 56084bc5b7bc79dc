# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The server of :mod:`lab.forks`: programs as forks with all modules loaded.

Run as a program, the server has the programs of the lab itself.
"""

import atexit
from collections import abc
import ctypes
import gc
import json
import os
import socket
import sys
import threading

from lab import syscalls

_libc = ctypes.CDLL(None, use_errno=True)
# linux/prctl.h
_PR_SET_MM, _START, _END = 35, 8, 9
# What /proc/PID/cmdline shows of a fork.
_shown = []


def serve(mains: dict[str, abc.Callable]):
    """Serve requests until the client has gone; a fork does not return.

    The argument of this program is the file descriptor of the channel.

    :param mains: function by the name of its program
    """
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        while True:
            data, fds, *_flags = socket.recv_fds(channel, 1 << 20, 8)
            if not data:
                return
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
    main = mains[os.path.basename(request['argv'][0])]
    _become(fds[:3], request['argv'], request['environ'])
    _end(main)


def _enter(fds, flags):
    """Fork in the namespaces of a node; the parent gets the PID."""
    for fd, flag in zip(fds, flags, strict=True):
        syscalls.setns(fd, flag)
    return os.fork()


def _become(streams, argv, environ):
    """Be the program, as if it had just been started."""
    os.setsid()
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    os.closerange(3, 4096)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = argv
    _show([sys.executable, *argv])


def _end(main):
    """Run a program, and end as the interpreter does.

    But no object is freed: the fork would need a copy of all the memory of the
    server, which takes most of the time of a short command.
    """
    try:
        status = main()
    except SystemExit as e:
        status = e.code
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in sys.stdout, sys.stderr:
        stream.flush()
    os._exit(status or 0)


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
    from lab import echo
    from lab import prober
    serve({'echo': echo.main, 'prober': prober.main})
