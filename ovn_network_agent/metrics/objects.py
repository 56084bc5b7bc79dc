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

"""Numbers of objects that are desired and in place, kept by what changes."""

import collections

from ovn_network_agent import ownership
from ovn_network_agent import resources

_ANNOUNCING = (resources.Announcement.kind, resources.AnnouncedRoute.kind,
               resources.VniRoute.kind)
_FLOW = resources.Flow.kind
# The parts of a VNI, with the values of a label.
_VNIS = {resources.VniDevices.kind: 'devices',
         resources.EvpnInstance.kind: 'frr'}
_COUNTED = (*_ANNOUNCING, _FLOW, *_VNIS)


class Objects:
    """Counts announced addresses, hairpin flows, and the parts of VNIs."""

    def __init__(self):
        self._forget()

    def _forget(self):
        # Whether each desired object is in place, with the name that it
        # counts for; and by name the numbers of both.
        self._states = {}
        self._desired = collections.Counter()
        self._there = collections.Counter()

    def count_all(self, tracker):
        """Count everything anew.

        :param tracker: :class:`tracking.Tracker`
        """
        self._forget()
        self.count(tracker, [r.ref for r in tracker.wanted(_COUNTED)])

    def count(self, tracker, refs):
        """Count the objects that may have changed.

        :param tracker: :class:`tracking.Tracker`
        :param refs: iterable of :class:`resources.Ref`
        """
        for ref in refs:
            if ref.kind not in _COUNTED:
                continue
            name, is_there = self._states.pop(ref, (None, False))
            _change(self._desired, name, -1)
            _change(self._there, name, -1 if is_there else 0)
            name = _name(tracker.desired(ref))
            if name is not None:
                self._states[ref] = name, tracker.in_sync(ref)
                _change(self._desired, name, 1)
                _change(self._there, name, int(tracker.in_sync(ref)))

    @property
    def gauges(self):
        """The numbers, a dict of the name of a metric to an int."""
        found = {}
        for counter, ips, flows, vnis in (
                (self._desired, 'desired_ips', 'hairpin_flows_desired',
                 'vnis_desired'),
                (self._there, 'announced_ips', 'hairpin_flows_installed',
                 'vnis_installed')):
            others = {name: counter[name] for name in (_FLOW, *_VNIS)}
            found |= {
                ips: len(counter) - sum(map(bool, others.values())),
                flows: others[_FLOW],
                vnis: {(part,): others[kind]
                       for kind, part in _VNIS.items()}}
        return found


def _name(resource):
    """The name that an object counts for, None for an object without one.

    The objects of an address count as one address, and each other object as
    one of its kind.
    """
    if resource is None:
        return None
    if resource.kind in _ANNOUNCING:
        return resource.subject
    if resource.kind in _VNIS:
        return resource.kind
    return _FLOW if resource.cookie == ownership.COOKIE_HAIRPIN else None


def _change(counter, name, number):
    if name is not None:
        counter[name] += number
        if not counter[name]:
            del counter[name]
