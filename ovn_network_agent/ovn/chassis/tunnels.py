# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The other candidates whose tunnels are down, for the agent's drain.

SB keeps a chassis without power; BFD, which ovn-controller runs wherever a
gateway has several candidates, notices.  The tunnels are not in the view, as
there may be hundreds: only a drain asks for them.  One tunnel that is up
suffices.  A silent candidate takes nothing over, and the drain does not wait
for a dead one.  Without an answer or BFD, none is silent.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import threading
import time

from ovn_network_agent import model
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import query

INTERVAL = 1.0  # seconds from one question to the next
# Seconds that a BFD session of a dead chassis is down: an overlap (decision
# record 0011) takes up to 12 s, a restart of Open vSwitch some.
DEAD = 15.0
# Seconds to wait for the first answer: the first decision needs it.
_PATIENCE = 1.0
# ovs-vswitchd's words for diagnostic 1 of RFC 5880, section 4.1: packets no
# longer arrive.
_EXPIRED = 'Control Detection Time Expired'
_Peer = tuple[str, ...]  # the addresses of the tunnels of one candidate
_Status = Mapping[str, str]  # a column bfd_status


class Tunnels:
    """Remembers since when tunnels are down.

    ``silent``: no answer; ``dead``: down for ``dead_after`` seconds.
    """

    def __init__(self, database: connection.Database,
                 clock: Callable[[], float] = time.monotonic,
                 dead_after: float = DEAD) -> None:
        self._database = database
        self._clock = clock
        self._dead_after = dead_after
        self._answered = threading.Event()
        self._answer: dict[str, list[dict[str, str]]] = {}
        self._down: dict[_Peer, float] = {}
        self._due: float | None = None
        self.silent: frozenset[_Peer] = frozenset()
        self.dead: frozenset[_Peer] = frozenset()

    def due_in(self) -> float | None:
        """Seconds until the next question, None outside of a drain."""
        return (None if self._due is None else
                max(0.0, self._due - self._clock()))

    def look(self, peers: Collection[_Peer]) -> None:
        """Find the silent and the dead candidates."""
        if not peers:
            self._due = None
            self.silent = self.dead = frozenset()
            return
        now = self._clock()
        if self._due is None or now >= self._due:
            self._ask(sorted({address for peer in peers
                              for address in peer}))
            self._due = now + INTERVAL
        self.judge({peer: [status for address in peer
                           for status in self._answer.get(address, ())]
                    for peer in peers}, now)

    def _ask(self, addresses: Collection[str]) -> None:
        def answered(answers: query.Answers | None,
                     _tables: columns.Tables) -> None:
            if answers is not None:
                self._answer = statuses(addresses, answers)
            self._answered.set()

        try:
            with self._database.rows():
                # 'flow' leaves out the agent's relays, which have numbers.
                self._database.ask([query.select(
                    'Interface', ['options', 'includes', ['map', [
                        ['remote_ip', address], ['key', 'flow']]]],
                    columns=('bfd_status',)) for address in addresses],
                    answered)
        except connection.Unavailable:
            return
        self._answered.wait(_PATIENCE)

    def judge(self, statuses: Mapping[_Peer, Collection[_Status]],
              now: float) -> None:
        """Derive ``silent`` and ``dead`` from BFD; ``now`` is monotonic."""
        down = {peer: found for peer, found in statuses.items()
                if found and all(status.get('state') != 'up'
                                 for status in found)}
        self._down = {peer: self._down.get(peer, now) for peer in down}
        self.dead = frozenset(peer for peer, began in self._down.items()
                              if now >= began + self._dead_after)
        self.silent = self.dead | {
            peer for peer, found in down.items() if all(
                status.get('diagnostic') == _EXPIRED for status in found)}

    def judged(self, snapshot: model.Snapshot,
               facts: set[model.Fact]) -> model.Snapshot:
        """Add to the groups what is known of the health of the nodes.

        In routers, each change would cost the drivers all of them.
        """
        silent, dead = self.silent, self.dead
        if not facts and not silent:
            return snapshot
        return dataclasses.replace(snapshot, groups=tuple(
            group._replace(
                facts=group.facts | facts,
                candidates=tuple(
                    c._replace(silent=c.addresses in silent,
                               dead=c.addresses in dead)
                    for c in group.candidates))
            for group in snapshot.groups))


def statuses(addresses: Collection[str], answers: query.Answers
             ) -> dict[str, list[dict[str, str]]]:
    """By address the column bfd_status of each tunnel with BFD."""
    return {address: [
        status for row in answer
        if 'state' in (status := dict(row['bfd_status'][1]))]
        for address, answer in zip(addresses, answers, strict=True)}
