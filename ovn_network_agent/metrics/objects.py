# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Numbers of objects that are desired and in place, kept by what changes."""

import collections
from collections.abc import Iterable

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.engine import tracking
from ovn_network_agent.metrics import declared

_ANNOUNCING = (resources.Announcement.kind, resources.AnnouncedRoute.kind,
               resources.VniRoute.kind)
_FLOW = resources.Flow.kind
# The parts of a VNI, with the values of a label.
_VNIS = {resources.VniDevices.kind: 'devices',
         resources.EvpnInstance.kind: 'frr'}
# What is counted beside announcements, by kind.
_OTHERS = (_FLOW, *_VNIS)
_COUNTED = (*_ANNOUNCING, *_OTHERS)


# Owner and name.
_Name = tuple[str, str | None]


class _Names:
    """How many objects each name has, and how many names each owner has."""

    def __init__(self) -> None:
        # By owner and name.
        self.objects: collections.Counter[_Name] = collections.Counter()
        self.of: collections.Counter[str] = collections.Counter()

    def change(self, name: _Name | None, number: int) -> None:
        """Count more objects of a name, or fewer; nothing for None."""
        if name is None:
            return
        before = bool(self.objects[name])
        self.objects[name] += number
        self.of[name[0]] += bool(self.objects[name]) - before
        if not self.objects[name]:
            del self.objects[name]

    @property
    def addresses(self) -> int:
        """The number of addresses and prefixes."""
        return self.of.total() - sum(bool(self.count(kind))
                                     for kind in _OTHERS)

    def count(self, kind: str) -> int:
        """The number of objects of one of :data:`_OTHERS`."""
        return self.objects[kind, '']


class Objects:
    """Counts announced addresses by driver, hairpin flows, parts of VNIs."""

    def __init__(self) -> None:
        # Those that have announced something, also if it is gone.
        self._drivers: set[str] = set()
        self._forget()

    def _forget(self) -> None:
        # Whether each desired object is in place, with the name that it
        # counts for; and by name the numbers of both.
        self._states: dict[resources.Ref, tuple[_Name, bool]] = {}
        self._desired, self._there = _Names(), _Names()

    def count_all(self, tracker: tracking.Tracker) -> None:
        """Count everything anew."""
        self._forget()
        self.count(tracker, [r.ref for r in tracker.wanted(_COUNTED)])

    def count(self, tracker: tracking.Tracker,
              refs: Iterable[resources.Ref]) -> None:
        """Count the objects that may have changed."""
        for ref in refs:
            if ref.kind not in _COUNTED:
                continue
            name, is_there = self._states.pop(ref, (None, False))
            self._desired.change(name, -1)
            self._there.change(name, -int(is_there))
            name = _name(tracker.desired(ref), tracker)
            if name is not None:
                self._states[ref] = name, tracker.in_sync(ref)
                self._desired.change(name, 1)
                self._there.change(name, int(tracker.in_sync(ref)))

    @property
    def gauges(self) -> declared.Gauges:
        """The numbers, see :class:`store.Store`."""
        desired, there = self._desired, self._there
        self._drivers.update(desired.of.keys() - {*_OTHERS})
        return {'desired_ips': desired.addresses,
                'announced_ips': there.addresses,
                'announcements': {
                    (driver, state): number for driver in self._drivers
                    for state, number in zip(declared.ANNOUNCEMENTS, (
                        there.of[driver],
                        desired.of[driver] - there.of[driver]), strict=True)},
                'hairpin_flows_desired': desired.count(_FLOW),
                'hairpin_flows_installed': there.count(_FLOW),
                'vnis_desired': _parts(desired),
                'vnis_installed': _parts(there)}


def _parts(names: _Names) -> dict[tuple[str], int]:
    return {(part,): names.count(kind) for kind, part in _VNIS.items()}


def _name(resource: resources.Resource | None,
          tracker: tracking.Tracker) -> _Name | None:
    """The name that an object counts for, None for an object without one.

    The objects of an address count as one address, and each other object as
    one of its kind.
    """
    if resource is None:
        return None
    if resource.kind in _ANNOUNCING:
        return tracker.driver(resource.ref), resource.subject
    if isinstance(resource, resources.Flow) and (
            resource.cookie != ownership.COOKIE_HAIRPIN):
        return None
    return resource.kind, ''
