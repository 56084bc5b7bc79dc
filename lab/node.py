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
"""A host of the lab: its own namespaces, seen from inside as a real one.

Network, mount, PID, UTS and IPC namespace with a PID 1 that reaps, and
private /run, /tmp, /var/log, /etc/frr, /etc/openvswitch and so on, so that
every program runs with its ordinary paths.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time

from lab import syscalls

PRIVATE = ('/run', '/tmp', '/var/log', '/var/lib/openvswitch',
           '/var/lib/ovn', '/etc/frr', '/etc/openvswitch', '/etc/ovn',
           '/etc/ovn-network-agent')
_NAMESPACES = (('mnt', syscalls.CLONE_NEWNS), ('uts', syscalls.CLONE_NEWUTS),
               ('ipc', syscalls.CLONE_NEWIPC), ('net', syscalls.CLONE_NEWNET))
_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class NodeError(Exception):
    """A command in a node failed; the text has its output."""


def wait_until(what, check, timeout=30.0, interval=0.05):
    """Wait for a condition.

    :param what: text for the error
    :param check: function; its first true result ends the wait
    :param timeout: seconds
    :param interval: seconds between two looks
    :returns: the result of ``check``
    :raises NodeError: when the time has passed
    """
    deadline = time.monotonic() + timeout
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > deadline:
            raise NodeError('not within %g s: %s' % (timeout, what))
        time.sleep(interval)


class Node:
    """One host.

    :param name: host name
    """

    def __init__(self, name):
        self.name = name
        self.services = {}
        self._logs = {}
        self._children = []
        self.pid = _start(name)
        self._fds = {kind: os.open('/proc/%d/ns/%s' % (self.pid, kind),
                                   os.O_RDONLY | os.O_CLOEXEC)
                     for kind, _flag in (*_NAMESPACES, ('pid', 0))}

    # -- running things ---------------------------------------------------

    def popen(self, argv, **kwargs):
        """Start a program in the node.

        :param argv: list of str
        :param kwargs: for subprocess.Popen
        :returns: subprocess.Popen; its pid is that outside of the node
        """
        with _children_in(self._fds['pid']):
            process = subprocess.Popen(argv, preexec_fn=self._enter,
                                       **kwargs)
        self._children = [p for p in self._children if p.poll() is None]
        self._children.append(process)
        return process

    def run(self, argv, check=True, timeout=60, **kwargs):
        """Run a program in the node to its end.

        :param timeout: seconds
        :returns: subprocess.CompletedProcess with text
        :raises NodeError: on failure, unless ``check`` is False
        """
        text = kwargs.pop('input', None)
        process = self.popen(
            argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
            **kwargs)
        try:
            out, err = process.communicate(text, timeout=timeout)
        except subprocess.TimeoutExpired as e:
            process.kill()
            process.communicate()
            raise NodeError('%s: %s: still running after %s s' % (
                self.name, ' '.join(argv), timeout)) from e
        if check and process.returncode:
            raise NodeError('%s: %s: status %d\n%s%s' % (
                self.name, ' '.join(argv), process.returncode, out, err))
        return subprocess.CompletedProcess(argv, process.returncode, out,
                                           err)

    def out(self, *argv, **kwargs):
        """Standard output of a program."""
        return self.run(list(argv), **kwargs).stdout

    def batch(self, text):
        """Lines for ``ip -batch``: one process for many changes."""
        self.run(['ip', '-batch', '-'], input=text)

    def call(self, function, *args):
        """Call a Python function on a thread that is in the node.

        Only the network namespace is entered (a thread shares the rest).

        :returns: its result; its exception is raised here
        """
        outcome = {}

        def body():
            syscalls.setns(self._fds['net'], syscalls.CLONE_NEWNET)
            try:
                outcome['result'] = function(*args)
            except BaseException as e:
                outcome['error'] = e

        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        if 'error' in outcome:
            raise outcome['error']
        return outcome['result']

    # -- services ---------------------------------------------------------

    def spawn(self, name, argv, **kwargs):
        """Start a daemon in the foreground of nobody; its output is kept.

        :param name: name for :meth:`stop`, :meth:`log` and so on
        """
        path = os.path.join('/var/log', '%s.out' % name)
        with open(self.path(path), 'ab') as log:
            self.services[name] = self.popen(
                argv, stdout=log, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, **kwargs)
        self._logs[name] = path
        return self.services[name]

    def stop(self, name, number=signal.SIGTERM, timeout=60):
        """Send a signal to a service and wait for its end.

        :returns: its exit status
        """
        process = self.services.pop(name)
        process.send_signal(number)
        return process.wait(timeout)

    def pause(self, name):
        """SIGSTOP a service: wedged, but there."""
        self.services[name].send_signal(signal.SIGSTOP)

    def resume(self, name):
        """SIGCONT a service."""
        self.services[name].send_signal(signal.SIGCONT)

    def log(self, name):
        """All that a service printed, text."""
        return self.read(self._logs[name])

    def path(self, path):
        """A path of the node as it is reached from outside."""
        return '/proc/%d/root%s' % (self.pid, path)

    def read(self, path):
        """Content of a file of the node, text."""
        with open(self.path(path), encoding='utf-8',
                  errors='replace') as opened:
            return opened.read()

    def write(self, path, text):
        """Write a file of the node; its directory is made."""
        outside = self.path(path)
        os.makedirs(os.path.dirname(outside), exist_ok=True)
        with open(outside, 'w', encoding='utf-8') as opened:
            opened.write(text)

    def sysctl(self, **values):
        """Set sysctls: ``net__ipv4__ip_forward=1``; '__' is a slash."""
        def write_all():
            for name, value in values.items():
                path = '/proc/sys/' + name.replace('__', '/')
                with open(path, 'w', encoding='ascii') as opened:
                    opened.write(str(value))
        # /proc/sys/net is that of the task that opens it.
        self.call(write_all)

    # -- its processes ----------------------------------------------------

    def launched(self):
        """How many processes and threads were started in the node so far.

        PIDs are handed out in order: it is the last one of its namespace,
        less the process that looks.
        """
        return int(self.out('cat', '/proc/loadavg').split()[-1]) - 1

    def kill(self):
        """Power failure: SIGKILL to everything, at once."""
        os.kill(self.pid, signal.SIGKILL)
        # Its PID 1 is gone only when all others are, and those that we
        # started are ours to reap.
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            for process in self._children:
                process.poll()
            time.sleep(0.002)
        self._children.clear()
        self.services.clear()
        self._close()

    def close(self):
        """Take the node down; may be called again."""
        if self._fds:
            self.kill()

    def _close(self):
        for fd in self._fds.values():
            os.close(fd)
        self._fds = {}

    def _enter(self):
        """Between fork and exec: join the namespaces."""
        for kind, flag in _NAMESPACES:
            syscalls.setns(self._fds[kind], flag)
        os.chdir('/')
        os.environ.pop('NOTIFY_SOCKET', None)


@contextlib.contextmanager
def _children_in(fd):
    """Children of this thread are born into that PID namespace."""
    own = os.open('/proc/self/ns/pid', os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.setns(fd, syscalls.CLONE_NEWPID)
        try:
            yield
        finally:
            syscalls.setns(own, syscalls.CLONE_NEWPID)
    finally:
        os.close(own)


# -- birth -----------------------------------------------------------------

def _start(name):
    """Fork PID 1 of a new node; returns its PID outside."""
    read_end, write_end = os.pipe()
    middle = os.fork()
    if middle == 0:
        _birth(name, read_end, write_end)
    os.close(write_end)
    with os.fdopen(read_end) as opened:
        said = opened.read().split()
    os.waitpid(middle, 0)
    if len(said) != 2 or said[1] != 'ready':
        raise NodeError('%s: its namespaces could not be made' % name)
    return int(said[0])


def _birth(name, read_end, write_end):
    try:
        os.close(read_end)
        syscalls.unshare(
            syscalls.CLONE_NEWNS | syscalls.CLONE_NEWUTS |
            syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWNET)
        syscalls.unshare(syscalls.CLONE_NEWPID)
        # Our parent shall be able to wait for PID 1: it becomes its child
        # by CLONE_PARENT.
        pid = _clone_parent()
        if pid:
            os.write(write_end, b'%d ' % pid)
            os._exit(0)
        _libc.prctl(_PDEATHSIG, signal.SIGKILL)
        syscalls.sethostname(name)
        _mounts()
        os.write(write_end, b'ready')
        os.close(write_end)
        _be_init()
    except BaseException as e:
        os.write(2, ('lab: node %s: %s\n' % (name, e)).encode())
    os._exit(1)


def _clone_parent():
    """clone(CLONE_PARENT | SIGCHLD): fork a sibling."""
    clone, clone_parent = 56, 0x00008000  # x86_64
    return _libc.syscall(clone, clone_parent | signal.SIGCHLD, 0, 0, 0, 0)


def _mounts():
    syscalls.make_private()
    syscalls.mount('proc', '/proc', 'proc')
    syscalls.mount('sysfs', '/sys', 'sysfs')
    for path in PRIVATE:
        syscalls.mount('node', path, 'tmpfs', options='mode=0755')
    os.chmod('/tmp', 0o1777)
    for path in ('/run/openvswitch', '/run/ovn', '/var/log/frr'):
        os.makedirs(path, exist_ok=True)
    for argv in (['ip', 'link', 'set', 'lo', 'up'],):
        subprocess.run(argv, check=True)


def _be_init():
    """Reap whatever is orphaned, for ever."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    devnull = os.open('/dev/null', os.O_RDWR)
    for fd in (0, 1):
        os.dup2(devnull, fd)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            signal.sigwait([signal.SIGCHLD])
