# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend vni_devices: VRF, bridge and VXLAN device of each VNI.

The agent's have its alias. One of another program with such a name stays, and
the VNI fails.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import errno
import functools
import time
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.common import notices
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.privileged.network import vni_links as privileged

# Seconds for which a bridge is down before it is up again.  After 0.05 s,
# zebra 8.4 may make its neighbours again first, and then remove them.
_DOWN = 1.0
_NO_TUNNEL = vni_links.Tunnel(0, '', 0)

LOG = logging.getLogger(__name__)

#: Seconds for which a neighbour lacks before the bridge goes down.
LASTING = 10.0
# Seconds between two readings, because the routes of BGP may be many.
_FRESH = 1.0
# Seconds until the next attempt, after the first and at most.
_FIRST, _LAST = 60.0, 3600.0


class VniDevicesBackend(base.Backend):
    """The devices of the VNIs, all three as one object."""

    name = 'vni_devices'
    kinds = (resources.VniDevices,)
    doubted_by = (notices.kernel('link'), notices.VNI_NEXT_HOPS)
    uses_known = False
    # For the time that a bridge is down.
    concurrent = True
    # What is in the VRF leaves it with the VRF.
    invalidates = ('vni_port', 'sysctl', 'address', 'neighbour',
                   'neighbour_proxy', 'route', 'rule')

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._next_hops = NextHops(functools.partial(
            vni_links.read_next_hops, self.conf.evpn.table_base))
        # The VNIs that lacked neighbours for long at the last reading.
        self._lost: set[int] = set()

    def read(self, known: base.Known) -> list[resources.VniDevices]:
        """Read the devices of all VNIs that have one of the agent.

        :returns: ``mtu`` is 0 while a device is missing, down or wrong, and
            when zebra has to make its neighbours again
        :raises base.BackendError: when the kernel does not answer
        """
        found, details = calls.reading('devices', vni_links.read_all)
        ours = {name: link for name, link in found.items()
                if link.alias == ownership.LINK_ALIAS}
        names = {link.index: name for name, link in found.items()}
        vnis = {vni for name in ours
                if (vni := evpn_names.vni_of_device(name))}
        self._lost = calls.reading(
            'neighbours', self._next_hops.lost) & vnis if vnis else set()
        there = [_resource(vni, ours, details, names) for vni in sorted(vnis)]
        return [dataclasses.replace(r, mtu=0) if r.vni in self._lost else r
                for r in there]

    def apply(self, delta: base.Delta) -> base.Failures:
        """Make, repair or delete devices; see :meth:`base.Backend.apply`."""
        wanted, unwanted = (resources.of_kind(resources.VniDevices, some)
                            for some in (delta.wanted, delta.delete))
        renewed = [r for r in wanted if r.vni in self._lost]
        failed: base.Failures = {}
        if renewed:
            failed = calls.refused(privileged.lower_bridges, renewed,
                                   [r.vni for r in renewed])
            self._next_hops.renewed(
                [r.vni for r in renewed if r.ref not in failed])
            self._lost = set()
        failed |= _set(wanted, False, (errno.EAGAIN,))
        failed |= calls.refused(privileged.delete_devices, unwanted,
                                [r.vni for r in unwanted])
        down = [r for r in wanted
                if isinstance(failed.get(r.ref), base.Kept)]
        if not down:
            return failed
        time.sleep(_DOWN)
        return {ref: why for ref, why in failed.items()
                if not isinstance(why, base.Kept)} | _set(down, True)


def _set(wanted: Sequence[resources.VniDevices], rested: bool,
         kept: Collection[int] = ()) -> base.Failures:
    """Make devices or repair them; see :func:`calls.refused`."""
    def set_devices(items: list[Any]) -> Any:
        return privileged.set_devices(items, rested)

    return calls.refused(
        set_devices, wanted,
        [[r.vni, r.table, r.mac, r.local, r.port, r.mtu, r.underlay]
         for r in wanted], kept)


def _resource(vni: int, ours: Mapping[str, links.Link],
              details: Mapping[str, vni_links.Details],
              names: Mapping[int, str]) -> resources.VniDevices:
    """The devices of a VNI as they are.

    :param ours: the marked ones
    :param names: by ifindex
    """
    vrf, bridge, vxlan = (ours.get(name) for name in (
        evpn_names.vrf(vni), evpn_names.bridge(vni), evpn_names.vxlan(vni)))
    tunnel, mtu = _NO_TUNNEL, 0
    if vxlan and vxlan.kind == 'vxlan':
        tunnel = details[vxlan.name].tunnel or _NO_TUNNEL
    if (vrf and bridge and vxlan and vrf.up and tunnel.vni == vni and
            bridge.kind == 'bridge' and
            not tunnel.learning and details[vxlan.name].settled and all(
                details[each.name].grouped for each in (vrf, bridge, vxlan))
            and all(
                each.up and each.master == master.index and
                details[each.name].silent for each, master in (
                    (bridge, vrf), (vxlan, bridge)))):
        mtu = details[vxlan.name].mtu
    return resources.VniDevices(
        vni, vrf.vrf_table if vrf else 0, bridge.mac if bridge else '',
        tunnel.local, tunnel.port, mtu, names.get(tunnel.link, ''))


class NextHops:
    """Which VNIs lack neighbours for their next hops, and since when.

    zebra may have a VNI as up, and its routes, without the neighbours, for
    example after zebra alone was started again. It makes them again when the
    VNI's bridge goes down and up, which withdraws the VNI of this node for two
    seconds. So one has to lack for :data:`LASTING`, and further attempts come
    later and later.

    :param clock: monotonic seconds
    """

    def __init__(
            self,
            read: Callable[[], Iterable[vni_links.Hop]] =
            vni_links.read_next_hops,
            clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        # From (VNI, next hop) to the time since which it lacks.
        self._first_seen: dict[tuple[int, str], float] = {}
        self._until = 0.0
        # By VNI: (pause after the last attempt, time until which it lasts).
        self._pauses: dict[int, tuple[float, float]] = {}

    def lost(self) -> set[int]:
        """The VNIs whose bridges have to go down and up.

        :raises OSError: when the kernel does not answer
        """
        now = self._clock()
        if now >= self._until:
            self._first_seen = {
                (hop.vni, hop.via): self._first_seen.get(
                    (hop.vni, hop.via), now)
                for hop in self._read() if hop.lacks}
            self._until = now + _FRESH
        self._pauses = {vni: (pause, until) for vni, (pause, until)
                        in self._pauses.items() if now < until + pause}
        return {vni for (vni, _via), start in self._first_seen.items()
                if now - start >= LASTING and
                now >= self._pauses.get(vni, (0.0, 0.0))[1]}

    def renewed(self, vnis: Iterable[int]) -> None:
        """Note that the bridges of VNIs are down, and say why."""
        now = self._clock()
        for vni in vnis:
            hops = sorted(via for lost, via in self._first_seen if lost == vni)
            LOG.warning(
                'VNI %d has routes to %s and no neighbour for them on %s, so '
                'each packet there is lost; the bridge goes down and up, so '
                'that zebra makes them again', vni, ', '.join(hops),
                evpn_names.bridge(vni))
            pause = min(2 * self._pauses.get(vni, (_FIRST / 2, 0.0))[0], _LAST)
            self._pauses[vni] = pause, now + pause
