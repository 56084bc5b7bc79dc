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

"""A named lock of an OVSDB server (RFC 7047, 4.1.8): one agent alone writes.

The lock belongs to a connection, and goes with it.  So it has a connection of
its own, which replicates no table: a lost replica does not hand the lock over,
and a lost lock does not disturb the replica.

When the holder's process ends, the server sees the end of the connection, and
the next one in its queue has the lock at once.  A holder that is silent keeps
the lock until the server gives up the connection: after two probe intervals of
the server, which are 5 seconds each by default.

Locks are not part of the database.  Each server of a cluster has locks of its
own, and so has a relay, so the lock is asked for at the leader only.
"""

import contextlib
import enum
import socket
import threading

from oslo_log import log as logging
from ovs import poller
from ovs.db import idl as ovs_idl
from ovsdbapp.backend.ovs_idl import idlutils

from ovn_network_agent import ovsdb
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.ovsdb import rpc
from ovn_network_agent.ovsdb import streams

LOG = logging.getLogger(__name__)

_CLOSE_TIMEOUT = 5


#: In answers to an operator: the state of a lock that nothing needed so far.
NOT_ASKED = 'not asked'


class State(enum.Enum):
    """Who has the lock."""

    HELD = 'held'
    #: another agent has it
    WAITING = 'waiting'
    #: the server has not answered
    NOT_CONNECTED = 'not connected'


class Lock:
    """A lock that is asked for from :meth:`start` to :meth:`close`.

    :param database: 'nb' or 'sb'
    :param remotes: comma-separated list of remotes
    :param name: of the lock, one for each driver: letters, digits and
        underscores, as the protocol wants it
    :param probe_interval: milliseconds
    :param held: function without arguments, called on the thread of the lock
        each time that the lock comes
    :ivar state: :class:`State`, set on the thread of the lock
    """

    def __init__(self, database, remotes, name, probe_interval,
                 held=lambda: None):
        self.name = name
        self.state = State.NOT_CONNECTED
        self._database = ovsdb.SCHEMAS[database]
        self._remotes = remotes
        self._probe_interval = probe_interval
        self._held = held
        # Set while the server has answered.
        self._known = threading.Event()
        self._passing = False
        self._stopping = False
        self._thread = None

    @property
    def started(self):
        """Whether the lock has been asked for."""
        return self._thread is not None

    @property
    def is_held(self):
        """Whether this agent has the lock."""
        return self.state is State.HELD

    @property
    def trouble(self):
        """The reason why the lock cannot be asked for, or ''."""
        if self.state is not State.NOT_CONNECTED:
            return ''
        why = streams.last_reasons(
            idlutils.parse_connection(self._remotes)) or (
            f'no leader has answered at {self._remotes}')
        return f'the lock {self.name} of {self._database}: {why}'

    def ask(self, timeout):
        """Ask for the lock, if need be, and wait for the first answer.

        :param timeout: seconds
        :returns: the :class:`State`, which may be another one soon
        """
        if not self.started:
            self.start()
        self._known.wait(timeout)
        return self.state

    def start(self):
        """Ask for the lock, now and after each loss of the connection."""
        self._own, self._other = socket.socketpair()
        self._own.setblocking(False)
        self._thread = threading.Thread(
            target=self._run, daemon=True, name=f'lock-{self.name}')
        self._thread.start()

    def pass_on(self):
        """Let the next one have the lock, and ask for it again after that.

        A holder that cannot write the database would keep all others from it.
        """
        if not self._stopping:
            self._passing = True
            self._other.send(b'.')

    def close(self):
        """Give the lock back, or no longer wait for it."""
        if self.started and not self._stopping:
            self._stopping = True
            self._other.send(b'.')
            self._thread.join(_CLOSE_TIMEOUT)

    # -- the thread -------------------------------------------------------

    def _run(self):
        with contextlib.closing(_Idl(
                self._remotes, self._database, self.name,
                self._probe_interval)) as idl:
            while not self._stopping:
                try:
                    idl.run()
                except Exception:
                    LOG.exception('The connection of the lock %s', self.name)
                    idl.force_reconnect()
                self._note(idl)
                waiting = poller.Poller()
                waiting.fd_wait(self._own, poller.POLLIN)
                idl.wait(waiting)
                waiting.block()
                if self._told() and self._passing:
                    self._passing = False
                    idl.force_reconnect()
        self.state = State.NOT_CONNECTED
        self._own.close()
        self._other.close()

    def _told(self):
        """Whether another thread has woken this one."""
        try:
            return bool(self._own.recv(64))
        except BlockingIOError:
            return False

    def _note(self, idl):
        state = idl.lock_state
        if state is self.state:
            return
        self.state = state
        if state is State.NOT_CONNECTED:
            self._known.clear()
        else:
            self._known.set()
        LOG.info('Lock %s of %s: %s', self.name, self._database, state.value)
        if state is State.HELD:
            self._held()


class _Idl(ovs_idl.Idl):
    """A connection to the leader that replicates nothing."""

    def __init__(self, remotes, database, name, probe_interval):
        super().__init__(
            remotes, ovs_idl.SchemaHelper(None, {
                'name': database, 'version': '0.0.0', 'tables': {}}),
            probe_interval=probe_interval)
        self._session = rpc.Session.in_place_of(self._session)
        self._session.reconnect.set_probe_interval(probe_interval)
        self._session.reconnect.set_backoff(*replica.pauses())
        self.set_lock(name)

    @property
    def _follows(self):
        """Whether this server is known to be the leader.

        The lock is asked for before that.
        """
        return (self.state == self.IDL_S_MONITORING and
                self._session.is_connected() and
                self._session.get_seqno() == self._last_seqno)

    @property
    def lock_state(self):
        """The :class:`State`."""
        if self._follows and self.has_lock:
            return State.HELD
        if self._follows and self.is_lock_contended:
            return State.WAITING
        return State.NOT_CONNECTED
