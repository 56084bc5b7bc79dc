# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which VNIs lack neighbours for their next hops, for longer than a moment.

zebra may have a VNI as up, and its routes, without the neighbours, for example
after zebra alone was started again. It makes them anew when the VNI's bridge
goes down and up, which withdraws the VNI of this node for two seconds. So one
has to lack for :data:`LASTING`, and further attempts come later and later.
"""

from collections.abc import Callable
from collections.abc import Iterable
import time

from oslo_log import log as logging

from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import vni_neighbours

LOG = logging.getLogger(__name__)

#: Seconds for which a neighbour lacks before the bridge goes down.
LASTING = 10.0
# Seconds between two readings, because the routes of BGP may be many.
_FRESH = 1.0
# Seconds until the next attempt, after the first and at most.
_FIRST, _LAST = 60.0, 3600.0


class NextHops:
    """What lacks in the kernel, and since when.

    :param clock: monotonic seconds
    """

    def __init__(
            self,
            read: Callable[[], Iterable[vni_neighbours.Hop]] =
            vni_neighbours.read_all,
            clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        # From (VNI, next hop) to the time since which it lacks.
        self._since: dict[tuple[int, str], float] = {}
        self._until = 0.0
        # By VNI: (pause after the last attempt, time until which it lasts).
        self._pauses: dict[int, tuple[float, float]] = {}

    def lost(self) -> set[int]:
        """The VNIs whose bridges have to go down and up.

        :raises OSError: when the kernel does not answer
        """
        now = self._clock()
        if now >= self._until:
            self._since = {
                (hop.vni, hop.via): self._since.get((hop.vni, hop.via), now)
                for hop in self._read() if hop.lacks}
            self._until = now + _FRESH
        self._pauses = {vni: (pause, until) for vni, (pause, until)
                        in self._pauses.items() if now < until + pause}
        return {vni for (vni, _via), since in self._since.items()
                if now - since >= LASTING and
                now >= self._pauses.get(vni, (0.0, 0.0))[1]}

    def renewed(self, vnis: Iterable[int]) -> None:
        """Note that the bridges of VNIs are down, and say why."""
        now = self._clock()
        for vni in vnis:
            hops = sorted(via for lost, via in self._since if lost == vni)
            LOG.warning(
                'VNI %d has routes to %s and no neighbour for them on %s, so '
                'each packet there is lost; the bridge goes down and up, so '
                'that zebra makes them again', vni, ', '.join(hops),
                evpn_names.bridge(vni))
            pause = min(2 * self._pauses.get(vni, (_FIRST / 2, 0.0))[0], _LAST)
            self._pauses[vni] = pause, now + pause
