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

import functools

from ovn_network_agent.ovn import questions
from ovn_network_agent.ovn import rounds


class Withdrawals(rounds.Rounds):
    """Has the servers confirm the loss of addresses.

    :param databases: dict of name to :class:`connection.Database`
    :param wake: function(reason), called when the loss is confirmed
    :ivar confirmed: frozenset of the subjects of the last question, set when
        both servers have confirmed the replicas; replaced as a whole
    """

    def __init__(self, databases, wake):
        super().__init__(databases)
        self._wake = wake
        self.confirmed = frozenset()

    def ask(self, nb, sb, chassis, subjects, machines=False):
        """Ask both servers, unless a question is open.

        This runs on the loop thread, with the locks of both replicas held.

        :param nb: dict of table name to dict of UUID to row; likewise sb
        :param chassis: name of this chassis
        :param subjects: frozenset of addresses with their length
        :param machines: whether SB has the ports of machines here
        """
        if self._round is not None:
            return
        # An earlier answer says nothing about a later loss.
        self.confirmed = frozenset()
        self._round = this = {'nb', 'sb'}
        for name, question in (('nb', questions.Whole(nb)),
                               ('sb', questions.Bound(sb, chassis,
                                                      machines))):
            self._databases[name].ask(question.operations, functools.partial(
                self._answered, this, name, question, subjects))

    def _answered(self, this, name, question, subjects, answers, tables):
        """Judge the answer of a server, see :meth:`_confirmed`."""
        if not self._confirmed(this, name, question, answers, tables):
            return
        this.discard(name)
        if not this:
            self.confirmed = subjects
            self._round = None
            self._wake('withdrawals confirmed')
