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

"""Notices that somebody changed our nftables table.

The kernel tells of each transaction, and gives that to none but the root
side, which hands its socket over.  A notice carries no data: whoever gets it
lists the table anew.  Those of other tables are left out by name, and those
of our own changes by the process that made them: nft sends under its process
id.  Where it could not, for instance because of process id namespaces, our
own change is noticed, too, which costs one listing that finds nothing.
"""

import contextlib
import errno
import os
import select
import threading

from oslo_log import log as logging

from ovn_network_agent import handed
from ovn_network_agent.netlink import wire
from ovn_network_agent import ownership
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import nft

LOG = logging.getLogger(__name__)

# NFNL_SUBSYS_NFTABLES, and struct nfgenmsg before the attributes.
_SUBSYSTEM = 10
_HEADER = 4
# In the messages of all kinds of objects: NFTA_TABLE_NAME,
# NFTA_CHAIN_TABLE, NFTA_RULE_TABLE, NFTA_SET_TABLE, and so on.
_TABLE = 1
_NAME = ownership.NFT_TABLE.encode() + b'\0'
_DATAGRAM = 64 * 1024
# Seconds between attempts.
_RETRY = 5.0


class TableWatch:
    """A thread that reports changes of our table by others.

    :param callback: function without arguments, called on the thread of the
        watch; must return soon
    :param subscribe: entry point that connects to an abstract Unix socket
        and sends the notification socket over it
    """

    def __init__(self, callback, subscribe=None):
        self._callback = callback
        self._subscribe = subscribe or nft.subscribe
        self._socket = None
        self._wake = None
        self._thread = None
        # Held while we change something: whose notifications those were is
        # known when it is done.
        self._changing = threading.Lock()
        self._own = set()

    @property
    def running(self):
        """Whether it was started."""
        return self._thread is not None

    def start(self):
        """Subscribe and start the thread.

        What changes after the return is reported, so start the watch before
        the first listing.

        :raises OSError: when there is no such socket
        :raises ReadOnly: in a dry run, which has no use for it
        """
        self._socket = handed.receive(self._subscribe)
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread = threading.Thread(
            target=self._run, name='nft-watch', daemon=True)
        self._thread.start()

    def stop(self):
        """End the thread and close the socket; without effect twice."""
        if self._thread is None:
            return
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        self._thread = None
        os.close(self._wake)
        if self._socket is not None:
            self._socket.close()

    @contextlib.contextmanager
    def own_change(self):
        """While a change of ours is made.

        :returns: function to tell the process id of each nft
        """
        with self._changing:
            yield self._own.add

    def _run(self):
        while not self._stopped():
            try:
                told = self._receive()
            except (*context.FAILURES, ValueError) as error:
                told = self._recover(error)
            if told:
                self._tell()

    def _stopped(self):
        """Wait for news; whether it is the end."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        if self._socket is not None:
            poll.register(self._socket, select.POLLIN)
        ready = poll.poll(None if self._socket else _RETRY * 1000)
        return any(fd == self._wake for fd, _events in ready)

    def _recover(self, error):
        """After an error; whether everything may have changed."""
        if getattr(error, 'errno', None) == errno.ENOBUFS:
            LOG.info('Notifications of nftables were lost, reading the table')
            return True
        LOG.warning('Watch of nftables: %s; subscribing again', error)
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        return False

    def _tell(self):
        try:
            self._callback()
        except Exception:
            # The watch must outlive a mistake in what it calls.
            LOG.exception('Callback for a change of the table failed')

    def _receive(self):
        """Whether somebody else changed our table, by all that waits.

        :raises OSError: ENOBUFS when some were lost
        """
        if self._socket is None:
            self._socket = handed.receive(self._subscribe)
            return True
        told = False
        with self._changing:
            try:
                # Not for ever: a storm of changes must not delay the report.
                for _datagram in range(1000):
                    told |= self._concerns(self._socket.recv(_DATAGRAM))
            except BlockingIOError:
                # All read, and with it all of our own changes.
                self._own.clear()
        return told

    def _concerns(self, data):
        """Whether a datagram tells of a change of our table by others."""
        # At a glance, because of those who write thousands of rules.
        if _NAME not in data:
            return False
        return any(
            kind >> 8 == _SUBSYSTEM and port not in self._own and
            wire.attributes(data, start + _HEADER, end).get(_TABLE) == _NAME
            for kind, _flags, _seq, port, start, end in wire.messages(data))
