# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The watch of the agent's nftables table for changes by others.

The kernel notifies only a privileged socket, which the privileged side opens
and hands over.  A notice carries no data; its receiver lists the table anew.
The watch leaves out notifications of other tables by name.  It leaves out
notifications of the agent's own changes by the process id of nft, which is
the netlink port.  Where the port is another number, such as with pid
namespaces, an own change costs one listing that finds no difference.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import socket
import threading

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent.netlink import sender
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import nftables
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.daemon import receiving_sockets
from ovn_network_agent.privileged.nft import nft
from ovn_network_agent.watches import notifications

LOG = logging.getLogger(__name__)


class TableWatch(notifications.Watch):
    """A thread that reports changes of the agent's table by others.

    :param callback: gets the text that names a change and its author, on the
        thread of the watch; must return soon
    :param subscribe: entry point that connects to an abstract Unix socket
        and sends the notification socket over it
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
        # Held during a change by the agent: only at the end of the change is
        # the process id of its notifications known.
        self._changing = threading.Lock()
        self._own: set[int] = set()

    @contextlib.contextmanager
    def own_change(self) -> Iterator[Callable[[int], None]]:
        """Context of a change by the agent.

        It gives a function that notes the process id of an nft process.
        """
        with self._changing:
            yield self._own.add

    def _open(self) -> socket.socket:
        # In a dry run, which does not need the watch, this raises ReadOnly.
        return receiving_sockets.receive(self._subscribe)

    def _news(self, datagrams: Iterator[bytes]) -> notifications.News:
        with self._changing:
            # All datagrams are read, even after the first that counts.
            authors = [port for data in datagrams
                       for port in self._authors(data)]
        if not authors:
            return []
        return [('the table was changed' + sender.described(authors[-1]),)]

    def _all_read(self) -> None:
        # The notifications of all own changes have been read, too.
        self._own.clear()

    def _authors(self, data: bytes) -> Iterator[int]:
        """Netlink ports of the changes of the table by others."""
        # The cheap test comes first, for nodes with thousands of other rules.
        if self._table.encode() + b'\0' not in data:
            return
        for kind, _flags, _seq, port, start, end in wire.messages(data):
            if port not in self._own and nftables.table(
                    kind, data, start, end) == self._table:
                yield port


def started(callback: Callable[[str], object],
            table: str = ownership.NFT_TABLE) -> TableWatch | None:
    """A watch that was started, or None while there can be none."""
    watching = TableWatch(callback, table=table)
    try:
        watching.start()
    except context.ReadOnly:
        # A dry run reads once.
        return None
    except context.FAILURES as error:
        # The next reading tries again.
        LOG.warning('Changes of nftables by others are only noticed at '
                    'the reconcile_interval: %s', error)
        return None
    return watching
