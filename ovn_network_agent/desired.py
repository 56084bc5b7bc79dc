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

"""The desired state: the contributions of all drivers, merged by key.

Pure.  Several contributors may want the same thing (two routers on one
provider network want the same leak route); it goes when the last of them
lets go.  If they want different things at the same key, that is a conflict:
what was there first stays, the other one is reported, and nothing else is
affected.  Never last-writer-wins, because then the order of events would
decide what the system looks like.
"""

import collections

from ovn_network_agent import resources


class DesiredState:
    """Merges contributions into a :class:`delta.Tracker`."""

    def __init__(self, tracker):
        self._tracker = tracker
        self._contributions = {}
        self._claims = collections.defaultdict(dict)
        self._keeps = collections.defaultdict(set)
        self._conflicts = {}
        self._contradictions = {}

    @property
    def conflicts(self):
        """dict of Ref to str: what could not be merged, and why."""
        found = dict(self._conflicts)
        for by_ref in self._contradictions.values():
            found.update(by_ref)
        return found

    def contributors(self):
        """Names of all that contribute something, as a set."""
        return set(self._contributions)

    def contributed(self, contributor):
        """What a contributor wants at present, a list of resources."""
        return list(self._contributions.get(contributor, {}).values())

    def contribute(self, contributor, wanted):
        """Replace everything that ``contributor`` wants.

        :param contributor: hashable name, such as ('fip_route', uuid)
        :param wanted: iterable of resources, empty to withdraw all
        """
        new = self._by_ref(contributor, wanted)
        old = self._contributions.get(contributor, {})
        if new:
            self._contributions[contributor] = new
        else:
            self._contributions.pop(contributor, None)
        for ref in old.keys() - new.keys():
            self._release(contributor, ref)
        for ref, resource in new.items():
            if old.get(ref) != resource or resource.requires != old[
                    ref].requires:
                self._claim(contributor, resource)

    def _by_ref(self, contributor, wanted):
        by_ref, contradictions = {}, {}
        for resource in wanted:
            other = by_ref.setdefault(resource.ref, resource)
            if other != resource:
                contradictions[resource.ref] = '%s wants both %s and %s' % (
                    contributor, other, resource)
        self._contradictions.pop(contributor, None)
        if contradictions:
            self._contradictions[contributor] = contradictions
        return by_ref

    def _claim(self, contributor, resource):
        if resource.kind == resources.Keep.kind:
            self._keeps[resource.of].add(contributor)
            self._tracker.keep(resource.of)
            return
        self._claims[resource.ref][contributor] = resource
        self._settle(resource.ref)

    def _release(self, contributor, ref):
        if ref.kind == resources.Keep.kind:
            self._release_keep(contributor, ref.key[0])
            return
        self._claims[ref].pop(contributor, None)
        self._settle(ref)

    def _release_keep(self, contributor, of):
        self._keeps[of].discard(contributor)
        if not self._keeps[of]:
            del self._keeps[of]
            self._tracker.keep(of, kept=False)

    def _settle(self, ref):
        """Decide what is wanted at ``ref`` after its claims changed."""
        claims = self._claims[ref]
        self._conflicts.pop(ref, None)
        if not claims:
            del self._claims[ref]
            self._tracker.unwant(ref)
            return
        # Insertion order: the first claim that is still there wins.
        first_by, first = next(iter(claims.items()))
        for contributor, resource in claims.items():
            if resource != first:
                self._conflicts[ref] = '%s wants %s but %s wants %s' % (
                    first_by, first, contributor, resource)
        wanted = self._tracker.desired(ref)
        if wanted != first or wanted.requires != first.requires:
            self._tracker.want(first)
