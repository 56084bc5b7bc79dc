# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A host of the lab: namespaces that look like a real host from inside.

Every program runs with its ordinary paths: the node has its own
/run/openvswitch, /etc/frr and so on.
"""

import concurrent.futures
import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time

from lab import birth
from lab import forks
from lab import syscalls
from lab import waiting

# Other modules use these names by way of this module.
NodeError = waiting.NodeError
wait_until = waiting.wait_until
DISKS = '/var/lab'
# Seconds for a node to end.
_DEATH = 60.0
_NAMESPACES = {'mnt': syscalls.CLONE_NEWNS, 'uts': syscalls.CLONE_NEWUTS,
               'ipc': syscalls.CLONE_NEWIPC, 'net': syscalls.CLONE_NEWNET,
               'pid': syscalls.CLONE_NEWPID}


# Exit statuses of crashes.
_CRASHES = {-number for number in (signal.SIGSEGV, signal.SIGABRT,
                                   signal.SIGBUS, signal.SIGILL,
                                   signal.SIGFPE)}


class Node:
    """One host.

    :param root: path of a root file system with systemd, see
        :mod:`lab.debian`; None for the machine's own programs
    :ivar pid: of its PID 1, seen from outside; None while it is off
    :ivar services: name to subprocess.Popen of what :meth:`spawn` started
    :ivar crashes: (name, exit status) of services that were restarted
    """

    def __init__(self, name, root: str | None = None):
        self._reset(name)
        self._root = root
        # A new host must not get the files of an earlier one of this name.
        shutil.rmtree(os.path.join(DISKS, name), ignore_errors=True)
        self.power_on()

    def _reset(self, name):
        self.name = name
        self.pid = None
        self._root = None
        self.services = {}
        self.crashes = []
        self._recipes = {}
        # Processes that kill() has to reap.  Several threads may start some.
        self._children = []
        self._children_lock = threading.Lock()
        self._fds = {}
        self._starter = None
        self._looks = 0

    @classmethod
    @contextlib.contextmanager
    def found(cls, name):
        """A node that another process made, while the block runs.

        The node can run programs; only the process that made it can end it.

        :raises NodeError: when there is no node of this name
        """
        pid = birth.registered().get(name)
        if pid is None:
            raise NodeError(f'there is no node {name}')
        one = cls.__new__(cls)
        one._reset(name)
        one._attach(pid)
        try:
            yield one
        finally:
            one._detach()

    def power_on(self):
        """Make the namespaces of the node; only in the main thread."""
        self._attach(birth.start(self.name, os.path.join(DISKS, self.name),
                                 self._root))
        birth.register(self.name, self.pid)

    def _attach(self, pid):
        self.pid = pid
        self._fds = {kind: os.open(f'/proc/{self.pid}/ns/{kind}',
                                   os.O_RDONLY | os.O_CLOEXEC)
                     for kind in _NAMESPACES}
        # A thread in the namespaces starts the programs.  So no code has to
        # run between fork and exec, and vfork can be used, which is cheap.
        self._starter = concurrent.futures.ThreadPoolExecutor(
            1, 'node-' + self.name, initializer=self._enter)

    def _enter(self):
        """Join the namespaces with this thread alone."""
        syscalls.unshare(syscalls.CLONE_FS)
        for kind, flag in _NAMESPACES.items():
            syscalls.setns(self._fds[kind], flag)

    # -- running things ---------------------------------------------------

    def popen(self, argv: list[str], **kwargs) -> subprocess.Popen:
        """Start a program in the node."""
        if self.pid is None:
            raise NodeError(f'{self.name} is off')
        kwargs.setdefault('env', environ())
        if forks.known(argv):
            process = forks.start(argv, {
                flag: self._fds[kind] for kind, flag in _NAMESPACES.items()},
                **kwargs)
        else:
            process = self._starter.submit(subprocess.Popen, argv,
                                           **kwargs).result()
        with self._children_lock:
            self._children = [p for p in self._children if p.poll() is None]
            self._children.append(process)
        return process

    def run(self, argv, check=True, timeout: float = 60,
            **kwargs) -> subprocess.CompletedProcess:
        """Run a program in the node to its end.

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
            raise NodeError(f'{self.name}: {" ".join(argv)}: still running '
                            f'after {timeout} s') from e
        if check and process.returncode:
            raise NodeError(f'{self.name}: {" ".join(argv)}: status '
                            f'{process.returncode:d}\n{out}{err}')
        return subprocess.CompletedProcess(argv, process.returncode, out,
                                           err)

    def out(self, *argv, **kwargs):
        """Standard output of a program."""
        return self.run(list(argv), **kwargs).stdout

    def batch(self, text, *options):
        """Lines for ``ip -batch``: one process for many changes.

        :param options: of ``ip``, such as '-6' for lines of IPv6
        """
        self.run(['ip', *options, '-batch', '-'], input=text)

    def call(self, function, *args):
        """Call a Python function on a thread that is in the node.

        :returns: its result; its exception is raised here
        """
        outcome = {}

        def body():
            try:
                self._enter()
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

    def spawn(self, name: str, argv: list[str], restart=False,
              **kwargs) -> subprocess.Popen:
        """Start a service; its output is kept, see :meth:`log`.

        :param restart: start it again when it crashes of itself, as the
            service manager of a real host would; see :attr:`crashes`
        """
        self._recipes[name] = (argv, {'restart': restart, **kwargs})
        with open(self.path(_log(name)), 'ab') as log:
            process = self.services[name] = self.popen(
                argv, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True,
                **{'stdin': subprocess.DEVNULL, **kwargs})
        if restart:
            threading.Thread(target=self._watch, args=(name, process),
                             daemon=True).start()
        return process

    def _watch(self, name, process):
        if (process.wait() in _CRASHES and
                self.services.get(name) is process):
            self.crashes.append((name, process.returncode))
            with contextlib.suppress(NodeError, OSError, RuntimeError):
                self.start_again(name)

    def start_again(self, name):
        """Start a stopped or dead service again."""
        argv, kwargs = self._recipes[name]
        return self.spawn(name, argv, **kwargs)

    def stop(self, name, number=signal.SIGTERM, timeout=60) -> int:
        """Send a signal to a service and wait for its end."""
        process = self.services.pop(name)
        process.send_signal(number)
        # A stopped process would keep the signal for later.
        process.send_signal(signal.SIGCONT)
        return process.wait(timeout)

    def pause(self, name):
        """Stop a service with SIGSTOP, as if it hung."""
        self.services[name].send_signal(signal.SIGSTOP)

    def resume(self, name):
        """Let a paused service go on, with SIGCONT."""
        self.services[name].send_signal(signal.SIGCONT)

    def log(self, name):
        """All that a service printed, text."""
        return self.read(_log(name))

    # -- files ------------------------------------------------------------

    def path(self, path):
        """A path of the node as a path of the machine.

        :raises NodeError: when the node is off
        """
        if self.pid is None:
            raise NodeError(f'{self.name} is off')
        return f'/proc/{self.pid}/root{path}'

    def exists(self, path):
        """Whether there is such a file in the node."""
        return os.path.lexists(self.path(path))

    def read(self, path):
        """Content of a file of the node, text."""
        with open(self.path(path), encoding='utf-8',
                  errors='replace') as opened:
            return opened.read()

    def write(self, path, text, mode=0o644):
        """Write a file of the node; its directory is made."""
        outside = self.path(path)
        os.makedirs(os.path.dirname(outside), exist_ok=True)
        with open(outside, 'w', encoding='utf-8') as opened:
            opened.write(text)
        os.chmod(outside, mode)

    def sysctl(self, **values):
        """Set sysctls: ``net__ipv4__ip_forward=1``; '__' is a slash."""
        def write_all():
            for name, value in values.items():
                path = '/proc/sys/' + name.replace('__', '/')
                with open(path, 'w', encoding='ascii') as opened:
                    opened.write(str(value))
        # /proc/sys/net shows the namespace of the task that opens a file.
        self.call(write_all)

    # -- its processes ----------------------------------------------------

    def pids(self):
        """PIDs, seen from outside, of all processes in the node."""
        wanted = os.fstat(self._fds['pid']).st_ino
        found = []
        for name in os.listdir('/proc'):
            if name.isdigit():
                with contextlib.suppress(OSError):
                    if os.stat(f'/proc/{name}/ns/pid').st_ino == wanted:
                        found.append(int(name))
        return found

    def launched(self):
        """Number of processes and threads started in the node so far.

        PIDs are assigned in order, so the last PID of the namespace is this
        number.  The processes of this method do not count.
        """
        last = int(self.out('cat', '/proc/loadavg').split()[-1])
        self._looks += 1
        return last - self._looks

    def kill(self):
        """Power failure: SIGKILL to everything, at once."""
        os.kill(self.pid, signal.SIGKILL)
        # PID 1 ends only after all others, and this process has to reap those
        # that it started.  They may wait for the kernel, which still removes
        # the network of the former node.
        deadline = time.monotonic() + _DEATH
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            self._reap()
            if time.monotonic() > deadline:
                alive = '\n'.join(self._alive())
                raise NodeError(f'{self.name} does not die:\n{alive}')
            time.sleep(0.002)
        self._reap()
        self._children.clear()
        self.services.clear()
        self._looks = 0
        self._detach()

    def _reap(self):
        with self._children_lock:
            for process in self._children:
                process.poll()

    def _alive(self) -> list[str]:
        """The remaining processes, and their places in the kernel.

        The list also has all processes of the machine that work, wait for
        the kernel, or wait for their parent.  The end of a node often waits
        for a worker of the kernel that removes another node.
        """
        mine = set(self.pids())
        found = []
        for name in os.listdir('/proc'):
            if name.isdigit():
                stat = _read(f'/proc/{name}/stat')
                state = stat.rpartition(')')[2].split()[:1]
                if int(name) in mine or state in (['D'], ['R'], ['Z']):
                    first = ' '.join(stat.split()[:8])
                    stack = _read(f'/proc/{name}/stack')
                    found.append(f'{name}: {first} {stack}')
        return found + _kernel_messages()

    def _detach(self):
        self._starter.shutdown()
        for fd in self._fds.values():
            os.close(fd)
        self._fds = {}
        self.pid = None

    def close(self):
        """Take the node down; may be called again."""
        if self.pid is not None:
            self.kill()


def _read(path):
    """Text of a file, '' when it cannot be read."""
    try:
        with open(path, encoding='utf-8', errors='replace') as opened:
            return opened.read().strip()
    except OSError:
        return ''


def _kernel_messages():
    """The last messages of the kernel, list of str."""
    found = []
    with contextlib.suppress(OSError):
        fd = os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)
        try:
            # The last message is followed by EAGAIN.
            with contextlib.suppress(BlockingIOError):
                while True:
                    found.append(os.read(fd, 8192).decode(
                        errors='replace').partition(';')[2].strip())
        finally:
            os.close(fd)
    return found[-30:]


def environ(**extra):
    """The environment of programs in a node, dict."""
    values = dict(os.environ)
    values.pop('NOTIFY_SOCKET', None)
    values.update(extra)
    return values


def _log(name):
    return os.path.join('/var/log', f'{name}.out')
