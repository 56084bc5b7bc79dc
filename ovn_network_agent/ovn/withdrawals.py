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

"""The servers confirm whole tables before a mass withdrawal.

ADR 0005 asks about the routers that have lost something.  A mass withdrawal
may come from a view that names no router any more, or from the first view of
an agent.  So this question is about everything that decides which addresses
this chassis announces.
"""

from collections.abc import Callable
from collections.abc import Mapping
import functools

from ovn_network_agent.ovn import questions
from ovn_network_agent.ovn import rounds
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb.columns import Tables
from ovn_network_agent.ovsdb.question import Answers


class Withdrawals(rounds.Rounds):
    """Has the servers confirm the loss of addresses.

    :param wake: called with the reason when the loss is confirmed
    """

    def __init__(self, databases: Mapping[str, connection.Database],
                 wake: Callable[[str], object]) -> None:
        super().__init__(databases)
        self._wake = wake
        # The subjects of the last question, set when both servers have
        # confirmed the replicas; replaced as a whole.
        self.confirmed: frozenset[str] = frozenset()

    def ask(self, nb: Tables, sb: Tables, chassis: str,
            subjects: frozenset[str], machines: bool = False) -> None:
        """Ask both servers, unless a question is open.

        This runs on the loop thread, with the locks of both replicas held.

        :param subjects: addresses with their length
        :param machines: whether SB has the ports of machines here
        """
        if self._round is not None:
            return
        # An earlier answer says nothing about a later loss.
        self.confirmed = frozenset()
        self._round = this = {'nb', 'sb'}
        asked: dict[str, rounds.Question] = {
            'nb': questions.Whole(nb),
            'sb': questions.Bound(sb, chassis, machines)}
        for name, question in asked.items():
            self._databases[name].ask(question.operations, functools.partial(
                self._answered, this, name, question, subjects))

    def _answered(self, this: set[str], name: str, question: rounds.Question,
                  subjects: frozenset[str], answers: Answers | None,
                  tables: Tables) -> None:
        if not self._confirmed(this, name, question, answers, tables):
            return
        this.discard(name)
        if not this:
            self.confirmed = subjects
            self._round = None
            self._wake('withdrawals confirmed')
