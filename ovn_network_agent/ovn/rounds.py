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

"""Rounds of questions to the servers, one round at a time."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Protocol

from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb.columns import Tables
from ovn_network_agent.ovsdb.question import Answers
from ovn_network_agent.ovsdb.question import Operation


class Question(Protocol):
    """A question of :mod:`ovn.questions` about a replica."""

    @property
    def operations(self) -> Sequence[Operation]:
        """What to send."""

    def wrong(self, answers: Answers, tables: Tables, /) -> str:
        """See :meth:`questions.Bound.wrong`."""


class Rounds:
    """Base of the classes that have the servers confirm their replicas."""

    def __init__(self, databases: Mapping[str, connection.Database]) -> None:
        self._databases = databases
        # The open round, any object; None when no answer is awaited.
        self._round: object = None

    def _confirmed(self, this: object, name: str, question: Question,
                   answers: Answers | None, tables: Tables) -> bool:
        """Whether an answer of the open round has confirmed a replica.

        An answer that confirms nothing ends the round, and the next pass asks
        again.  A wrong replica is distrusted.  This runs on the connection's
        thread, which holds the lock.

        :param this: the round of the answer
        :param answers: None when the connection was lost
        """
        if this is not self._round:
            return False
        if answers is not None:
            wrong = question.wrong(answers, tables)
            if not wrong:
                return True
            self._databases[name].distrust(wrong)
        self._round = None
        return False
