# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A privsep context that forks cleanly, stays alive and stays small.

It adds to oslo.privsep's PrivContext:

* fork and connection are two steps, so that all daemons are forked, and the
  agent's capabilities given up, before the first thread exists;
* the daemon survives SIGINT, SIGTERM and SIGHUP to its group, because the
  clean-up needs it; it ends with the agent, at end of file of its channel;
* ``no_new_privs``: a program that root executes gets at most the daemon's
  capabilities;
* a call to a dead daemon raises at once, and a forked daemon is not silently
  replaced through sudo;
* the client side refuses changes in a dry run.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import concurrent.futures.thread
import errno
import functools
import logging
import os
import signal
import socket
import sys
import types
import typing

from oslo_privsep import capabilities
from oslo_privsep import comm
from oslo_privsep import daemon
from oslo_privsep import priv_context

from ovn_network_agent.privileged.daemon import capability
from ovn_network_agent.privileged.daemon import helper
from ovn_network_agent.privileged.daemon import memory_trim

LOG = logging.getLogger(__name__)
_P = typing.ParamSpec('_P')
_R = typing.TypeVar('_R')

PREFIX = 'ovn_network_agent.privileged'
STAY_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# the name of nothing behind the wall
_NO_ENTRY_POINT = 'no_entry_point'


class DaemonGone(OSError):
    """The privileged daemon has died; only a restart of the agent helps."""


class ReadOnly(Exception):
    """A change was asked for in a dry run; the text names the function."""


#: of a privileged call: the function's, and of a daemon that is too late
FAILURES = (OSError, comm.PrivsepTimeout, daemon.FailedToDropPrivileges,
            daemon.ProtocolError)


def _stay(signum: int, frame: types.FrameType | None) -> None:
    """Do nothing; programs of the daemon would inherit SIG_IGN."""


class _Socket(socket.socket):
    """A connection whose reset, by a daemon killed before it reads a request,
    is an end of file: else the library's reader ends, and the caller waits for
    ever.
    """

    def recv(self, *arguments: int) -> bytes:
        """As in the library of Python; b'' for a broken connection, too."""
        try:
            return super().recv(*arguments)
        except TimeoutError:
            raise
        except OSError as error:
            LOG.debug('Channel to a privileged daemon: %s', error)
            return b''


class _Channel(daemon.RootwrapClientChannel):
    """The channel to a daemon that is there, however it was started."""

    def __init__(self, sock: socket.socket, context: 'Context') -> None:
        self._context = context
        self._is_running = False
        # Not the class above, which would start a daemon.
        super(daemon.RootwrapClientChannel, self).__init__(
            _Socket(fileno=sock.detach()), context)

    @property
    def running(self) -> bool:
        """Whether the library's thread reads from the connection."""
        return self._is_running

    @running.setter
    def running(self, running: bool) -> None:
        has_ended = self._is_running and not running
        self._is_running = running
        if has_ended:
            self._context.ended()


class _ReadingChannel(_Channel):
    """The channel of a dry run, which refuses changes."""

    def remote_call(self, name: str, args: typing.Any, kwargs: typing.Any,
                    timeout: float | None) -> typing.Any:
        if name in self._context.changes:
            raise ReadOnly(f'{name} called in a dry run')
        return super().remote_call(name, args, kwargs, timeout)


class Context(priv_context.PrivContext):
    """One privileged daemon."""

    def __init__(self, name: str, caps: list[int], timeout: float,
                 reads: bool = True, without_ovn: bool = False) -> None:
        """Prepare a daemon, which is started later.

        :param name: as 'kernel' of [privsep_kernel] and privileged.kernel
        :param caps: the default of ``capabilities``
        :param timeout: seconds for a call; the functions have shorter limits
        :param reads: False if it only makes changes, so no dry run needs it
        :param without_ovn: whether the port-forward-only mode needs the daemon
        """
        super().__init__(
            PREFIX, cfg_section=f'privsep_{name}', pypath=f'{PREFIX}.{name}',
            capabilities=caps, timeout=timeout)
        self.name = name
        self.reads = reads
        self.without_ovn = without_ovn
        self.read_only = False
        self.changes: set[str] = set()
        # Called on another thread when the channel to the daemon has ended.
        self.ended: Callable[[], object] = lambda: None
        self.pid: int | None = None

    def change(self, func: Callable[_P, _R]) -> Callable[_P, _R]:
        """Decorator for an entry point that a dry run refuses (ReadOnly)."""
        self.changes.add(f'{func.__module__}.{func.__name__}')
        functools.update_wrapper(decorated := self.entrypoint(func), func)
        return decorated

    def entrypoint(self, func: Callable[_P, _R]) -> Callable[_P, _R]:
        """Decorator for an entry point that only reads."""
        decorated: Callable[_P, _R] = super().entrypoint(func)
        return decorated

    @property
    def alive(self) -> bool:
        """Whether the daemon is connected and its channel is open."""
        return bool(self.channel and self.channel.running)

    def fork(self, close: Iterable[socket.socket] = ()) -> socket.socket:
        """Fork the daemon; :meth:`attach` connects to the returned socket.

        Signals are blocked, so that none is lost or ends it without handlers.

        :param close: sockets of earlier daemons, which a copy in this one
            would keep alive after the agent's death
        """
        agent_end, daemon_end = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, STAY_SIGNALS)
        try:
            pid = os.fork()
            if pid == 0:
                for sock in (agent_end, *close):
                    sock.close()
                self._serve(daemon_end)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        daemon_end.close()
        self.pid = pid
        return agent_end

    def _serve(self, sock: socket.socket) -> typing.NoReturn:
        status = 1
        try:
            channel = comm.ServerChannel(sock)
            root = logging.getLogger()
            # replace_logging() would leave out every second handler.
            for handler in list(root.handlers):
                root.removeHandler(handler)
            daemon.replace_logging(
                daemon.PrivsepLogHandler(channel, processName=str(self)))
            ForkedDaemon(channel, context=self).run()
            status = 0
        except Exception:
            LOG.exception('Privileged daemon %s failed', self.name)
        finally:
            os._exit(status)

    def attach(self, sock: socket.socket) -> None:
        """Connect to the forked daemon and wait until it answers.

        :raises daemon.FailedToDropPrivileges: it ended, as without a
            capability
        """
        self.channel = self._channel(sock)

    def helper_command(self, sockpath: str) -> list[str]:
        """``root_helper`` and the helper's path, as in sudoers, by default."""
        command: list[str] = super().helper_command(sockpath)
        if self.conf.helper_command:
            return command
        arguments = command[command.index(helper.NAME) + 1:]
        return [*helper.root_helper(), helper.program(), *arguments]

    def start(self, method: typing.Any = priv_context.Method.ROOTWRAP) -> None:
        """Start the daemon with the helper command, also by the library when
        the channel is closed.

        :raises daemon.FailedToDropPrivileges: when the helper failed
        :raises DaemonGone: for a forked daemon: the agent has no privileges
            any more to start another one
        :raises ReadOnly: in a dry run, for a daemon that only makes changes
        """
        if self.read_only and not self.reads:
            raise ReadOnly(f'the daemon "{self.name}", which only makes '
                           'changes, is not there in a dry run')
        if self.pid is not None:
            raise DaemonGone(
                errno.EPIPE, f'the privileged daemon "{self.name}" (pid '
                f'{self.pid}) has died, restart the agent')
        if method is not priv_context.Method.ROOTWRAP:
            raise ValueError('use fork() and attach()')
        with self.start_lock:
            if self.channel is None:
                self.channel = self._channel(helper.start(
                    self.helper_command, helper.path(self.name)))

    def _channel(self, sock: socket.socket) -> _Channel:
        return (_ReadingChannel if self.read_only else _Channel)(sock, self)

    def set_client_mode(self, enabled: bool) -> None:
        """Confine the daemon, before its first thread; its capabilities tell
        it from tests, which call this in their own process.
        """
        super().set_client_mode(enabled)
        if not enabled and (set(capabilities.get_caps()[1])
                            == set(self.conf.capabilities)):
            for signum in STAY_SIGNALS:
                signal.signal(signum, _stay)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STAY_SIGNALS)
            capability.no_new_privileges()
            capability.keep_for_programs(set(self.conf.capabilities))
            capability.set_name(f'ovnagent-{self.name}')


class ForkedDaemon(daemon.Daemon):
    """The daemon of one context; takes the arguments of the library's.

    With 10,000 floating IPs, a call takes up to 15 MB, to which the library's
    loop (which a helper's daemon has) refers until the next one.  That also
    imports a call's module before it looks for the entry point, and some
    modules of Python run programs, or test suites; this one imports only from
    behind the wall.
    """

    def __init__(self, channel: comm.ServerChannel, context: typing.Any
                 ) -> None:
        super().__init__(typing.cast(comm.ServerChannel, _Requests(
            channel, f'{context.prefix}.')), context)
        self._keeper = memory_trim.Keeper(memory_trim.release)
        self.thread_pool = _Threads(context.conf.thread_pool_size)
        self.thread_pool.answered = self._keeper.look

    def loop(self) -> None:
        """Serve the calls of the agent until the channel ends."""
        self._keeper.start()
        super().loop()


class _Requests:
    """The library's source of requests, for names with ``prefix`` alone."""

    def __init__(self, channel: comm.ServerChannel, prefix: str) -> None:
        self.send = channel.send
        self._channel = channel
        self._prefix = prefix

    def __iter__(self) -> Iterator[tuple[typing.Any, list[typing.Any]]]:
        """The number and the parts of each request, cleared when the loop,
        which has started the call, asks for the next one.
        """
        for number, message in self._channel:
            parts = self._checked(*message)
            del message
            yield number, parts
            parts.clear()

    def _checked(self, kind: typing.Any, *values: typing.Any
                 ) -> list[typing.Any]:
        """The library answers the name in a refused call with an exception."""
        name = values[0] if values else None
        if kind == comm.Message.CALL and not str(name).startswith(
                self._prefix):
            return [kind, self._prefix + _NO_ENTRY_POINT, (), {}]
        return [kind, *values]


# imported here: after the fork, each daemon would have 1 MB for it
class _Threads(concurrent.futures.thread.ThreadPoolExecutor):
    """The threads that make the calls; the loop does not get the results,
    because it refers to the last one until the next call.
    """

    # called after each answer
    answered: Callable[[], object]

    def submit(  # type: ignore[override]
            self, *call: typing.Any) -> typing.Any:
        """Have a thread make a call; the loop adds a callback, once."""
        futures = [super().submit(*call)]

        def send(answer: Callable[[typing.Any], None]) -> None:
            future = futures.pop()
            future.add_done_callback(answer)
            future.add_done_callback(lambda _done: self.answered())
        return types.SimpleNamespace(add_done_callback=send)
