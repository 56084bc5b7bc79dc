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

"""Whether the replica of SB is as new as a row in NB.

An agent takes rows in NB over when it sees the gateway port in SB.  SB and NB
are two servers, so the former owner may see the rows first.  If the former
owner restored the rows, both agents would write in turns until the replica of
SB has caught up.  A server sends all earlier updates before an answer: after
an answer of SB, the replica of the former owner has the move, too.  The
drivers know of the move with the next view, so the answer counts from that
view on.
"""

from collections.abc import Callable
from collections.abc import Collection
import functools
import threading
import time

from ovn_network_agent import resources
from ovn_network_agent.ovn import questions
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb.columns import Tables
from ovn_network_agent.ovsdb.question import Answers


class CatchingUp:
    """Holds what was lost in NB until a view is newer than SB's answer.

    :param wake: called when SB has answered, on the thread of the connection
    """

    def __init__(self, sb: connection.Database,
                 wake: Callable[[], object]) -> None:
        self._sb = sb
        self._wake = wake
        self._lock = threading.Lock()
        # Each ref, and the number of the last question after its loss.
        self._asked: dict[resources.Ref, int] = {}
        self._number = 0
        # The numbers of the answered questions, and the monotonic seconds of
        # each answer, until a view is newer.
        self._answers: dict[int, float] = {}

    def ask(self, refs: Collection[resources.Ref]) -> None:
        """Ask SB, and hold these refs.

        Without a connection there is no question: the reason is in
        :attr:`connection.Database.trouble`, and after the connection the
        replica is new.
        """
        try:
            with self._sb.rows():
                with self._lock:
                    self._number += 1
                    self._asked.update(dict.fromkeys(refs, self._number))
                self._sb.ask(questions.MOMENT,
                             functools.partial(self._answered, self._number))
        except connection.Unavailable:
            pass

    def held(self, viewed: float) -> frozenset[resources.Ref]:
        """The refs whose loss the present view may not explain.

        :param viewed: monotonic seconds at which the present view was built
        """
        with self._lock:
            settled = max((number for number, moment in self._answers.items()
                           if moment < viewed), default=0)
            self._answers = {number: moment for number, moment
                             in self._answers.items() if number > settled}
            self._asked = {ref: number for ref, number in self._asked.items()
                           if number > settled}
            return frozenset(self._asked)

    def _answered(self, number: int, _answers: Answers | None,
                  _tables: Tables) -> None:
        with self._lock:
            self._answers[number] = time.monotonic()
        self._wake()
