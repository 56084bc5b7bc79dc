# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

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
import contextlib
import functools
import time

from ovn_network_agent import resources
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica_query
from ovn_network_agent.ovsdb.columns import Tables

# The answer matters only for its moment; no chassis has this name.
_MOMENT = (replica_query.select('Chassis', ['name', '==', '']),)


class Barrier:
    """Holds what was lost in NB until a view is newer than SB's answer.

    :param wake: called when SB has answered, on the thread of the connection
    """

    def __init__(self, sb: connection.Database,
                 wake: Callable[[], object]) -> None:
        self._sb = sb
        self._wake = wake
        # By ref the monotonic seconds of the answer to the question after the
        # loss, nothing before it.
        self._answers: dict[resources.Ref, list[float]] = {}

    def ask(self, refs: Collection[resources.Ref]) -> None:
        """Ask SB, and hold these refs.

        Without a connection there is no question: the reason is in
        :attr:`connection.Database.trouble`, and after the connection the
        replica is new.
        """
        answers: list[float] = []
        with contextlib.suppress(connection.Unavailable), self._sb.rows():
            self._answers.update(dict.fromkeys(refs, answers))
            self._sb.ask(_MOMENT, functools.partial(self._answered, answers))

    def held(self, viewed: float) -> frozenset[resources.Ref]:
        """The refs whose loss the present view may not explain.

        :param viewed: monotonic seconds at which the present view was built
        """
        self._answers = {
            ref: answers for ref, answers in self._answers.items()
            if not any(moment < viewed for moment in answers)}
        return frozenset(self._answers)

    def _answered(self, answers: list[float],
                  _found: replica_query.Answers | None,
                  _tables: Tables) -> None:
        answers.append(time.monotonic())
        self._wake()
