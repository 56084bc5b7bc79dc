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


"""Which other gateways do not answer, as a drain has to know.

SB keeps the chassis of a node that has lost its power.  The tunnels between
gateways have BFD, which tells: ovn-controller switches that on wherever a
gateway has more than one candidate.  OVN's tunnels are no part of the view, as
there may be hundreds.  So the local database is asked, and only in a drain.

A chassis may have several tunnels, and lives as long as one of them is up.
Who is silent takes nothing over.  Who is silent for long is dead, and not
waited for.  Without an answer, and without BFD, nobody is silent.
"""

import threading
import time

from ovn_network_agent.ovn import questions
from ovn_network_agent.ovsdb import connection

# Seconds from one question to the next.
INTERVAL = 1.0
# Seconds after which a session that is down means a dead chassis.  An overlap
# (decision record 0011) interrupts BFD for up to 12 s, and a restart of Open
# vSwitch for some.
DEAD = 15.0
# Seconds to wait for the first answer: the first decision needs it.
_PATIENCE = 1.0
# Of a session that nobody has ended: packets do not come any more.  The words
# are those of ovs-vswitchd, for diagnostic 1 of RFC 5880, 4.1.
_EXPIRED = 'Control Detection Time Expired'


class Tunnels:
    """Remembers since when tunnels are down.

    :param database: :class:`ovsdb.connection.Database` of Open_vSwitch
    :param clock: function that returns monotonic seconds
    :ivar silent: frozenset of those who do not answer, each a tuple of the
        addresses of its tunnels
    :ivar dead: frozenset of those who do not for long
    """

    def __init__(self, database, clock=time.monotonic):
        self._database = database
        self._clock = clock
        self._answered = threading.Event()
        self._answer = {}
        self._down = {}
        self._due = None
        self.silent = self.dead = frozenset()

    def due_in(self):
        """Seconds until the next question, None when nobody asks."""
        return (None if self._due is None else
                max(0.0, self._due - self._clock()))

    def look(self, peers):
        """Find out who is silent, and who is dead.

        :param peers: set of tuples of IP addresses of their tunnels, text
        """
        if not peers:
            self._due = None
            self.silent = self.dead = frozenset()
            return
        now = self._clock()
        if self._due is None or now >= self._due:
            self._ask({address for peer in peers for address in peer})
            self._due = now + INTERVAL
        self.judge({peer: [status for address in peer
                           for status in self._answer.get(address, ())]
                    for peer in peers}, now)

    def _ask(self, addresses):
        question = questions.Tunnels(sorted(addresses))

        def told(answers, _tables):
            if answers is not None:
                self._answer = question.statuses(answers)
            self._answered.set()

        try:
            with self._database.rows():
                self._database.ask(question.operations, told)
        except connection.Unavailable:
            return
        self._answered.wait(_PATIENCE)

    def judge(self, statuses, now):
        """Take in what was answered.

        :param statuses: dict of a tuple of addresses to list of
            ``bfd_status``, dict
        :param now: monotonic seconds
        """
        down = {peer: found for peer, found in statuses.items()
                if found and all(status.get('state') != 'up'
                                 for status in found)}
        self._down = {peer: self._down.get(peer, now) for peer in down}
        self.dead = frozenset(peer for peer, since in self._down.items()
                              if now >= since + DEAD)
        self.silent = self.dead | {
            peer for peer, found in down.items() if all(
                status.get('diagnostic') == _EXPIRED for status in found)}
