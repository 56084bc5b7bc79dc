# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""JSON-RPC sessions of python-ovs with a faster ``recv()``.

A session also takes questions, answered in the order of the updates.
"""

import collections
from collections.abc import Callable
import errno
import os
import typing
from typing import Any

from oslo_log import log as logging
from ovs import jsonrpc

from ovn_network_agent.ovsdb import framing

LOG = logging.getLogger(__name__)

_CHUNK = 65536  # bytes read at once; a record of TLS has at most 16 KiB


class Connection(jsonrpc.Connection):
    """A connection whose messages :mod:`framing` cuts and reads."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._framer = framing.Framer()
        self._texts: collections.deque[bytes] = collections.deque()

    def recv(self) -> tuple[int, Any]:
        """The next message, without a wait.

        :returns: (0, ovs.jsonrpc.Message), or (errno, None): EAGAIN without a
            whole message, else the end of the connection
        """
        while not self.status:
            if self._texts:
                return self._message()
            error, data = self.stream.recv(_CHUNK)
            if error == errno.EAGAIN:
                return error, None
            if error or not data:
                self._end(error)
            else:
                self.received_bytes += len(data)
                self._take(data)
        return self.status, None

    def recv_wait(self, poller: Any) -> None:
        """Have the poller wake when :meth:`recv` has something to do."""
        if self.status or self._texts:
            poller.immediate_wake()
        else:
            self.stream.recv_wait(poller)

    def _end(self, error: int) -> None:
        if error:
            LOG.warning('%s: receive error: %s', self.name,
                        os.strerror(error))
        self.error(error or jsonrpc.EOF)

    def _take(self, data: bytes) -> None:
        try:
            self._texts.extend(self._framer.feed(data))
        except framing.Malformed as error:
            self._refuse(error)

    def _message(self) -> tuple[int, Any]:
        try:
            found = jsonrpc.Message.from_json(
                framing.value(self._texts.popleft()))
        except framing.Malformed as error:
            found = str(error)
        if isinstance(found, jsonrpc.Message):
            return 0, found
        self._refuse(found)
        return self.status, None

    def _refuse(self, reason: object) -> None:
        LOG.warning('%s: received what is no message of JSON-RPC: %s',
                    self.name, reason)
        self.error(errno.EPROTO)


class Session(jsonrpc.Session):
    """A session whose connections are of :class:`Connection`."""

    rpc: Any

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._questions: dict[Any, Callable[[Any], object]] = {}

    @classmethod
    def in_place_of(cls, session: Any) -> typing.Self:
        """A session in the place of one that has not begun to connect."""
        made = cls(session.reconnect, None, session.remotes)
        made.pick_remote()
        return made

    def run(self) -> None:
        """As in the library, which makes connections of its own class."""
        super().run()
        if self.rpc is not None and not isinstance(self.rpc, Connection):
            made = Connection(self.rpc.stream)  # Nothing has been received yet
            made.output = self.rpc.output
            self.rpc = made

    def ask(self, request: Any, answered: Callable[[Any], object]) -> None:
        """Send a request whose answer is not for the IDL.

        :param answered: called with its ovs.jsonrpc.Message after all earlier
            updates; with None for no answer
        """
        self._questions[request.id] = answered
        if self.send(request):
            self._questions.pop(request.id)(None)

    def give_up(self) -> None:
        """Expect no answer any more to what was asked so far."""
        while self._questions:
            self._questions.popitem()[1](None)

    def recv(self) -> Any:
        """As in the library, without answers to questions."""
        found = super().recv()
        while found is not None and found.id in self._questions and (
                found.type in (jsonrpc.Message.T_REPLY,
                               jsonrpc.Message.T_ERROR)):
            self._questions.pop(found.id)(found)
            found = super().recv()
        return found
