# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The watch of the agent's nftables table for changes by others.

The kernel notifies only a privileged socket, which the privileged side hands
over.  A notice carries no data; its receiver lists the table again.  Own
changes are known by nft's process id, which is its netlink port; where it is
not, as with pid namespaces, one costs a listing without a difference.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import socket
import threading

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent.common import wording
from ovn_network_agent.netlink import multicast
from ovn_network_agent.netlink import wire
from ovn_network_agent.privileged import nft
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.watches import notifications

LOG = logging.getLogger(__name__)


class TableWatch(notifications.Watch):
    """A thread that reports changes of the agent's table by others.

    :param callback: gets the text that names a change and its author, on the
        thread of the watch; must return soon
    :param subscribe: entry point that connects to an abstract Unix socket and
        sends the notification socket over it
    """

    NAME = 'nftables'
    RETRY = 5.0
    FAILURES = (*context.FAILURES, ValueError)
    EVERYTHING = [('some changes of the table were not reported',)]

    def __init__(self, callback: Callable[[str], object],
                 subscribe: Callable[[str], int] | None = None,
                 table: str = ownership.NFT_TABLE) -> None:
        super().__init__(callback)
        self._table = table
        self._subscribe = subscribe or nft.subscribe
        # Held during an own change: its process id is known at the end.
        self._changing = threading.Lock()
        self._own: set[int] = set()

    @contextlib.contextmanager
    def own_change(self) -> Iterator[Callable[[int], None]]:
        """Context of an own change; gives a function for nft's process id."""
        with self._changing:
            yield self._own.add

    def _open(self) -> socket.socket:
        # In a dry run, without need of a watch, this raises ReadOnly.
        return passed_sockets.receive(self._subscribe)

    def _news(self, datagrams: Iterator[bytes]) -> notifications.News:
        with self._changing:
            # All are read, even after the first that counts.
            authors = [port for data in datagrams
                       for port in self._authors(data)]
        if not authors:
            return []
        return [('the table was changed' + multicast.described(authors[-1]),)]

    def _all_read(self) -> None:
        # All own changes have been read, too.
        self._own.clear()

    def _authors(self, data: bytes) -> Iterator[int]:
        # Cheap, for nodes with thousands of other rules.
        if self._table.encode() + b'\0' not in data:
            return
        for kind, _flags, _seq, port, start, end in wire.messages(data):
            if port not in self._own and multicast.table(
                    kind, data, start, end) == self._table:
                yield port


def started(callback: Callable[[str], object],
            table: str = ownership.NFT_TABLE) -> TableWatch | None:
    """A watch that was started, or None while there can be none."""
    watching = TableWatch(callback, table=table)
    try:
        watching.start()
    except context.ReadOnly:
        return None  # once in a dry run
    except context.FAILURES as error:
        # The next reading tries again.
        LOG.warning('Changes of nftables by others are only noticed at '
                    'the reconcile_interval: %s', wording.error(error))
        return None
    return watching
