# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Network namespaces of tests."""

import contextlib
import subprocess

from lab import syscalls

# The namespace of the thread that opens the file.
OWN = '/proc/thread-self/ns/net'


class Namespace:
    """A network namespace that a process holds until :meth:`close`.

    :param options: more options of unshare(1)
    :param script: what the process does first, for sh(1)
    :param args: arguments of the script
    :ivar pid: id of the process
    :raises OSError: when there is none
    """

    def __init__(self, options=(), script=':', args=()):
        # The process says when the namespace is there, ends with this one,
        # and must not hold the output of the test.
        self._holder = subprocess.Popen(
            ['unshare', '--net', *options, 'sh', '-ec',
             f'{script}; echo; exec cat', 'sh', *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        self.pid = self._holder.pid
        if not self._holder.stdout.readline():
            self.close()
            raise OSError('no network namespace: unshare(1) has failed')

    @property
    def path(self):
        """The file that stands for the namespace."""
        return f'/proc/{self.pid}/ns/net'

    def inside(self, *argv):
        """A command that runs a program in the namespace, a list."""
        return inside(self.pid, *argv)

    def run(self, *argv):
        """Run a program to its end; gives the output, a text.

        :raises subprocess.CalledProcessError: for a status other than 0
        """
        return subprocess.run(self.inside(*argv), check=True, text=True,
                              capture_output=True).stdout

    def sh(self, script):
        """Run a script up to the first failure; gives the output, a text."""
        return self.run('sh', '-ec', script)

    def close(self):
        """End the process; the namespace goes when nobody else has it."""
        self._holder.kill()
        self._holder.wait()
        self._holder.stdin.close()
        self._holder.stdout.close()


def hold(case):
    """A :class:`Namespace` that goes with a test."""
    made = Namespace()
    case.addCleanup(made.close)
    return made


def inside(pid, *argv):
    """A command that runs a program where a process has its network."""
    return ['nsenter', f'--target={pid}', '--net', *argv]


@contextlib.contextmanager
def new():
    """Have this thread in a new network namespace while the block runs."""
    with _back():
        syscalls.unshare(syscalls.CLONE_NEWNET)
        yield


@contextlib.contextmanager
def entered(path):
    """Have this thread in a network namespace while the block runs.

    :param path: of the file that stands for the namespace
    """
    with _back():
        with open(path) as away:
            syscalls.setns(away.fileno(), syscalls.CLONE_NEWNET)
        yield


@contextlib.contextmanager
def _back():
    """Take this thread home again when the block ends."""
    with open(OWN) as home:
        try:
            yield
        finally:
            syscalls.setns(home.fileno(), syscalls.CLONE_NEWNET)
