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
import threading

from ovn_network_agent import ownership
from ovn_network_agent.netlink import nftables
from ovn_network_agent.netlink import wire
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import nft
from ovn_network_agent.privileged import receiving
from ovn_network_agent.watches import notifications

_NAME = ownership.NFT_TABLE.encode() + b'\0'


class TableWatch(notifications.Watch):
    """A thread that reports changes of our table by others.

    :param callback: function without arguments, called on the thread of the
        watch; must return soon
    :param subscribe: entry point that connects to an abstract Unix socket
        and sends the notification socket over it
    """

    NAME = 'nftables'
    RETRY = 5.0
    FAILURES = (*context.FAILURES, ValueError)

    def __init__(self, callback, subscribe=None):
        super().__init__(callback)
        self._subscribe = subscribe or nft.subscribe
        # Held while we change something: whose notifications those were is
        # known when it is done.
        self._changing = threading.Lock()
        self._own = set()

    @contextlib.contextmanager
    def own_change(self):
        """While a change of ours is made.

        :returns: function to tell the process id of each nft
        """
        with self._changing:
            yield self._own.add

    def _open(self):
        # In a dry run, which has no use for it, this raises ReadOnly.
        return receiving.receive(self._subscribe)

    def _news(self, datagrams):
        with self._changing:
            # All of them are read, whatever the first ones tell.
            concerned = [self._concerns(data) for data in datagrams]
        return self.EVERYTHING if any(concerned) else []

    def _all_read(self):
        # And with them all of our own changes.
        self._own.clear()

    def _concerns(self, data):
        """Whether a datagram tells of a change of our table by others."""
        # At a glance, because of those who write thousands of rules.
        if _NAME not in data:
            return False
        return any(
            port not in self._own and
            nftables.table(kind, data, start, end) == ownership.NFT_TABLE
            for kind, _flags, _seq, port, start, end in wire.messages(data))
