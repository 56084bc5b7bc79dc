# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A named lock of an OVSDB server (RFC 7047, 4.1.8): one agent alone writes.

It goes with its connection, and has one of its own without tables: a lost
replica and a lost lock do not disturb each other.

The next one has it at once when the holder's process ends.  A silent holder
keeps it for two probe intervals of the server, by default 5 s each.

Locks are not in the database: each server or relay has its own, so the leader
alone is asked.
"""

from collections.abc import Callable
import contextlib
import socket
import threading
import time

from oslo_log import log as logging
from ovs import poller
from ovs.db import idl as ovs_idl
from ovsdbapp.backend.ovs_idl import idlutils

from ovn_network_agent import ovsdb
from ovn_network_agent.common import backoff
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.ovsdb import session_idl
from ovn_network_agent.ovsdb import streams

LOG = logging.getLogger(__name__)

_CLOSE_TIMEOUT = 5
# Seconds without ability to write: lost replicas are mostly back after two.
PATIENCE = 5.0
_LOOK = 1000  # milliseconds between two looks whether it is able


class Lock:
    """A lock that is asked for from :meth:`start` to :meth:`close`.

    :param database: 'nb' or 'sb'
    :param name: one for each driver: letters, digits and underscores, as the
        protocol wants it
    :param probe_interval: milliseconds
    :param held: called on the thread of the lock each time that it comes
    :param hindrance: likewise; why this agent cannot write, or ''
    """

    def __init__(self, database: str, remotes: str, name: str,
                 probe_interval: int,
                 held: Callable[[], object] = lambda: None,
                 hindrance: Callable[[], str] = lambda: '') -> None:
        self.name = name
        self.state = lock_state.State.NOT_CONNECTED
        self._database = ovsdb.SCHEMAS[database]
        self._remotes = remotes
        self._probe_interval = probe_interval
        self._held = held
        self._hindrance = hindrance
        self._known = threading.Event()  # set while the server has answered
        self._passing = False
        self._stopping = False
        self._thread: threading.Thread | None = None
        # For the start of the thread, by several ones.
        self._start_lock = threading.Lock()
        self._pause = backoff.FIRST
        # Monotonic seconds; later ones while without lock, or able.
        self._able_at = 0.0

    @property
    def started(self) -> bool:
        """Whether the lock has been asked for."""
        return self._thread is not None

    @property
    def is_held(self) -> bool:
        """Whether this agent has the lock."""
        return self.state is lock_state.State.HELD

    @property
    def released(self) -> bool:
        """Whether this agent does not ask for it any more."""
        return self._stopping

    @property
    def problem(self) -> str:
        """The reason why the lock cannot be asked for, or ''."""
        if self.state is not lock_state.State.NOT_CONNECTED:
            return ''
        why = self._hindrance() or streams.last_reasons(
            idlutils.parse_connection(self._remotes)) or (
            f'no leader has answered at {self._remotes}')
        return f'the lock {self.name} of {self._database}: {why}'

    def ask(self, timeout: float) -> lock_state.State:
        """Ask for the lock if need be; the state after ``timeout`` seconds.

        It is that of the first answer, and may soon be another one.
        """
        with self._start_lock:
            if not self.started:
                self.start()
        self._known.wait(timeout)
        return self.state

    def start(self) -> None:
        """Ask for the lock, now and after each loss of the connection."""
        self._own, self._other = socket.socketpair()
        self._own.setblocking(False)
        thread = threading.Thread(
            target=self._run, daemon=True, name=f'lock-{self.name}')
        thread.start()
        self._thread = thread

    def pass_on(self) -> None:
        """Let the next one have the lock, and ask for it again after that.

        A holder that cannot write would keep all others from it.
        """
        if not self._stopping:
            self._passing = True
            self._other.send(b'.')

    def close(self) -> None:
        """Give the lock back, or no longer wait for it."""
        if self._thread is not None and not self._stopping:
            self._stopping = True
            self._other.send(b'.')
            self._thread.join(_CLOSE_TIMEOUT)
            # It may end before it is woken.
            if not self._thread.is_alive():
                self._own.close()
                self._other.close()

    # -- the thread -------------------------------------------------------

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._follow()
            except Exception:
                LOG.exception('Lock %s of %s', self.name, self._database)
                self._wait(1000 * backoff.spread(self._pause))
                self._pause = min(2 * self._pause, backoff.LAST)

    def _follow(self) -> None:
        with contextlib.closing(_Idl(
                self._remotes, self._database, self.name,
                self._probe_interval)) as idl:
            try:
                while not self._stopping:
                    idl.run()
                    self._note(idl.lock_state)
                    self._leave_or_ask(idl)
                    if self._wait(_LOOK if self.is_held or not idl.lock_name
                                  else None, idl) and self._passing:
                        self._passing = False
                        idl.force_reconnect()
            finally:
                # Before the server gives it to the next one.
                self._note(lock_state.State.NOT_CONNECTED)

    def _leave_or_ask(self, idl: '_Idl') -> None:
        """Have the lock only while able to write.

        Without work, this agent does not even try, and others would wait.
        """
        hindrance = self._hindrance()
        now = time.monotonic()
        if not (hindrance and self.is_held):
            self._able_at = now
        elif now - self._able_at > PATIENCE:
            LOG.info('Lock %s of %s is for others: %s', self.name,
                     self._database, hindrance)
            self._note(lock_state.State.NOT_CONNECTED)
            idl.set_lock(None)
        if not hindrance:
            idl.set_lock(self.name)

    def _wait(self, longest: float | None = None,
              idl: '_Idl | None' = None) -> bool:
        """Wait for the connection, or ``longest`` milliseconds.

        :returns: whether another thread has woken this one
        """
        waiting = poller.Poller()
        waiting.fd_wait(self._own, poller.POLLIN)
        if idl is not None:
            idl.wait(waiting)
        if longest is not None:
            waiting.timer_wait(int(longest))
        waiting.block()
        try:
            return bool(self._own.recv(64))
        except BlockingIOError:
            return False

    def _note(self, state: lock_state.State) -> None:
        if state is self.state:
            return
        self.state = state
        if state is lock_state.State.NOT_CONNECTED:
            self._known.clear()
        else:
            self._known.set()
        LOG.info('Lock %s of %s: %s', self.name, self._database, state.value)
        if state is lock_state.State.HELD:
            self._held()
        if state is not lock_state.State.NOT_CONNECTED:
            self._pause = backoff.FIRST


class _Idl(session_idl.SessionIdl):
    """A connection to the leader that replicates nothing.

    The lock is asked for before this is known to be the leader.
    """

    def __init__(self, remotes: str, database: str, name: str,
                 probe_interval: int) -> None:
        super().__init__(
            remotes, ovs_idl.SchemaHelper(None, {
                'name': database, 'version': '0.0.0', 'tables': {}}),
            probe_interval)
        self.set_lock(name)

    @property
    def lock_state(self) -> lock_state.State:
        """Who has the lock, as far as this connection knows."""
        if (self.state == self.IDL_S_MONITORING and
                self.session.is_connected() and
                self.session.get_seqno() == self.asked):
            if self.has_lock:
                return lock_state.State.HELD
            if self.is_lock_contended:
                return lock_state.State.WAITING
        return lock_state.State.NOT_CONNECTED
