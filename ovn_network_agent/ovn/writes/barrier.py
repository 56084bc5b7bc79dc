# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether the replica of SB is as new as a row in NB.

SB and NB are two servers: a former owner may see its rows taken over in NB
before the move in SB, and both agents would write in turns.  A server sends
all updates before an answer, so after one of SB the replica has the move, and
the next view counts.
"""

from collections.abc import Callable
from collections.abc import Collection
import contextlib
import functools
import time

from ovn_network_agent import resources
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import query
from ovn_network_agent.ovsdb.columns import Tables

# The answer matters only for its moment; no chassis has this name.
_MOMENT = (query.select('Chassis', ['name', '==', '']),)


class Barrier:
    """Holds what was lost in NB until a view is newer than SB's answer.

    :param wake: called on the connection's thread when SB has answered
    """

    def __init__(self, sb: connection.Database,
                 wake: Callable[[], object]) -> None:
        self._sb = sb
        self._wake = wake
        # By ref the monotonic seconds of the first answer after the loss.
        self._answers: dict[resources.Ref, list[float]] = {}

    def ask(self, refs: Collection[resources.Ref]) -> None:
        """Ask SB, and hold these refs.

        Without a connection nobody is asked; the replica is new after it.
        """
        answers: list[float] = []
        with contextlib.suppress(connection.Unavailable), self._sb.rows():
            self._answers.update(dict.fromkeys(refs, answers))
            self._sb.ask(_MOMENT, functools.partial(self._answered, answers))

    def held(self, viewed: float) -> frozenset[resources.Ref]:
        """The refs whose loss a view of these monotonic seconds may miss."""
        self._answers = {
            ref: answers for ref, answers in self._answers.items()
            if not any(moment < viewed for moment in answers)}
        return frozenset(self._answers)

    def _answered(self, answers: list[float],
                  _found: query.Answers | None,
                  _tables: Tables) -> None:
        answers.append(time.monotonic())
        self._wake()
