# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The time of a takeover, from the event to the last announcement.

From the event that woke the agent until the announcements are in place on this
node, without the time of FRR and the fabric.
"""

from collections.abc import Callable
from collections.abc import Sequence
import time
import typing

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import trigger
from ovn_network_agent.common import wording

if typing.TYPE_CHECKING:
    from ovn_network_agent.engine import outcome as outcomes

LOG = logging.getLogger(__name__)

_NAMED = 5


class Takeover(typing.NamedTuple):
    """A takeover that has ended."""

    routers: tuple[str, ...]  # names, sorted
    addresses: int  # number of announced addresses
    seconds: float  # from the event to the last announcement


class Takeovers:
    """Measures the takeovers in passes, on the loop thread.

    A port that is here at the start of the agent is no takeover (trap T21),
    nor is a repair.  A port without an address to announce ends its takeover
    at once, so that a later addition does not count (trap T20).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: Sequence[model.Router] | None = None
        # By UUID of the router the names of its ports here, a frozenset; only
        # routers with such ports.  None before the first view.
        self._here: dict[str, frozenset[str]] | None = None
        self._began: float | None = None
        self._routers: dict[str, str] = {}
        self._announced = 0
        self.last: Takeover | None = None

    def after_pass(self, snapshot: model.Snapshot, wake: trigger.Wake,
                   outcome: 'outcomes.Outcome') -> None:
        """Note the result of a pass with a view of OVN."""
        first = self._here is None
        came = self._note(snapshot.routers)
        if first:
            return
        if came and not self._routers:
            self._began = wake.fired_at
            self._announced = 0
        self._routers.update(came)
        self._routers = {uuid: name for uuid, name in self._routers.items()
                         if uuid in (self._here or {})}
        if self._routers:
            self._look(outcome)

    def _note(self, routers: Sequence[model.Router]) -> dict[str, str]:
        """Note the ports that are here now.

        :returns: names of the routers with a port that has come, by UUID
        """
        if routers == self._seen:
            return {}
        before, self._seen = self._here or {}, routers
        self._here = {
            router.uuid: frozenset(port.lrp for port in router.local_ports)
            for router in routers if router.local_ports}
        return {router.uuid: router.called for router in routers
                if self._here.get(router.uuid, frozenset()) -
                before.get(router.uuid, frozenset())}

    def _look(self, outcome: 'outcomes.Outcome') -> None:
        self._announced += sum(
            1 for verb, resource in outcome.applied if verb == 'created' and
            resource.stage is resources.Stage.ANNOUNCE)
        if outcome.announces or any(
                _announces(ref.kind) for ref in outcome.failures):
            return
        routers, self._routers = self._routers, {}
        if self._announced and self._began is not None:
            self.last = Takeover(tuple(sorted(routers.values())),
                                 self._announced,
                                 self._clock() - self._began)
            _say(self.last)


def _announces(kind: str) -> bool:
    return kind in (resources.Announcement.kind,
                    resources.AnnouncedRoute.kind,
                    resources.VniRoute.kind)


def _say(takeover: Takeover) -> None:
    LOG.info('Took over %s: %s announced after %.0f ms',
             wording.first(takeover.routers, _NAMED),
             wording.count(takeover.addresses, 'address'),
             takeover.seconds * 1000)
