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

"""Desired and actual state side by side, and the difference between them.

Pure.  The tracker remembers the keys that may differ.  So the cost of a
difference depends on the number of changes, not on the number of resources.
"""

import collections
from collections.abc import Iterable
import itertools
import typing

from ovn_network_agent import resources
from ovn_network_agent.resources import base

_NOTHING = resources.Delta()

# By kind and key.
_Resources: typing.TypeAlias = collections.defaultdict[
    str, dict[base.Key, resources.Resource]]
# By kind.
_Keys: typing.TypeAlias = collections.defaultdict[str, set[base.Key]]


class Tracker:
    """Desired and actual resources by kind and key; does no I/O."""

    def __init__(self) -> None:
        self._desired: _Resources = collections.defaultdict(dict)
        self._actual: _Resources = collections.defaultdict(dict)
        self._kept: _Keys = collections.defaultdict(set)
        self._pending: _Keys = collections.defaultdict(set)
        self._changed: _Keys = collections.defaultdict(set)
        self._touches: collections.Counter[str] = collections.Counter()
        # By kind its touches at the last difference, and this difference.
        self._deltas: dict[str, tuple[int, resources.Delta]] = {}

    # -- what should be ---------------------------------------------------

    def want(self, resource: resources.Resource) -> None:
        """Desire a resource, in place of another one with the same key."""
        ref = resource.ref
        self._desired[ref.kind][ref.key] = resource
        self._touch(ref)

    def unwant(self, ref: resources.Ref) -> None:
        """No longer desire the resource at ``ref``."""
        self._desired[ref.kind].pop(ref.key, None)
        self._touch(ref)

    def keep(self, ref: resources.Ref, kept: bool = True) -> None:
        """Leave the resource at ``ref`` as found, or (False) end this."""
        if kept:
            self._kept[ref.kind].add(ref.key)
        else:
            self._kept[ref.kind].discard(ref.key)
        self._touch(ref)

    # -- what is ----------------------------------------------------------

    def found(self, resource: resources.Resource) -> None:
        """Take note that a resource exists with this value."""
        ref = resource.ref
        self._actual[ref.kind][ref.key] = resource
        self._touch(ref)

    def gone(self, ref: resources.Ref) -> None:
        """Take note that nothing exists at ``ref``."""
        self._actual[ref.kind].pop(ref.key, None)
        self._touch(ref)

    def resync(self, kinds: Iterable[str],
               found: list[resources.Resource]) -> list[resources.Ref]:
        """Replace the actual state of some kinds by a new reading.

        A found resource that is as desired is kept as the desired object, as
        after its creation, and the list gets this object, too.  So thousands
        of equal values are there once.

        :returns: refs whose resource was as desired and no longer is
        :raises ValueError: when a resource is of another kind
        """
        fresh: dict[str, dict[base.Key, resources.Resource]] = {
            kind: {} for kind in kinds}
        for place, resource in enumerate(found):
            kind = resource.kind
            if kind not in fresh:
                raise ValueError(f'unexpected kind {kind}')
            want = self._desired[kind].get(resource.key)
            if want is not None and want is not resource and want == resource:
                found[place] = resource = want
            fresh[kind][resource.ref.key] = resource
        lost = []
        for kind, actual in fresh.items():
            former = self._actual[kind]
            # Most objects are the same, and to compare values takes longer.
            different = [key for key, before in former.items()
                         if actual.get(key) is not before and
                         actual.get(key) != before]
            lost += [resources.Ref(kind, key) for key in different
                     if former[key] == self._desired[kind].get(key)]
            different += actual.keys() - former.keys()
            self._changed[kind].update(different)
            self._touches[kind] += len(different)
            self._actual[kind] = actual
            wanted = self._desired[kind]
            # A resource that is as desired is the same object.
            self._pending[kind].update(actual.keys() - wanted.keys(), (
                key for key, want in wanted.items()
                if actual.get(key) is not want))
        return lost

    def take_changed(self) -> list[resources.Ref]:
        """The keys that changed since the last call.

        The value of a changed key may be the same again.
        """
        changed, self._changed = (self._changed,
                                  collections.defaultdict(set))
        return [resources.Ref(kind, key) for kind, keys in changed.items()
                for key in keys]

    def count(self, kinds: Iterable[str]) -> int:
        """Number of the actual resources of some kinds."""
        return sum(len(self._actual[kind]) for kind in kinds)

    def touches(self, kinds: Iterable[str]) -> int:
        """How often something of some kinds was set or found different.

        The number grows with each statement of what should be, with each
        change of a backend, and with each reading that differs.
        """
        return sum(self._touches[kind] for kind in kinds)

    def copy(self) -> 'Tracker':
        """The same state, for another thread."""
        made = Tracker()
        for mine, other in ((self._desired, made._desired),
                            (self._actual, made._actual)):
            other.update({kind: known.copy() for kind, known in mine.items()})
        made._kept.update({kind: keys.copy()
                           for kind, keys in self._kept.items()})
        return made

    # -- the difference ---------------------------------------------------

    def delta(self, kinds: Iterable[str]) -> resources.Delta:
        """The difference for some kinds."""
        found = [self._delta(kind) for kind in kinds
                 if self._pending.get(kind)]
        if len(found) <= 1:
            return found[0] if found else _NOTHING
        chain = itertools.chain.from_iterable
        return resources.Delta(
            tuple(chain(delta.create for delta in found)),
            tuple(chain(delta.update for delta in found)),
            tuple(chain(delta.delete for delta in found)))

    def _delta(self, kind: str) -> resources.Delta:
        """The difference for one kind.

        A pass asks several times, and FRR may work for seconds on thousands
        of routes.  So the difference is kept until something is touched.
        """
        touches = self._touches[kind]
        known = self._deltas.get(kind)
        if known is None or known[0] != touches:
            known = self._deltas[kind] = touches, self._difference(kind)
        return known[1]

    def _difference(self, kind: str) -> resources.Delta:
        create, update, delete = [], [], []
        for key in sorted(self._pending[kind], key=str):
            want = self._desired[kind].get(key)
            have = self._actual[kind].get(key)
            if self.settles(resources.Ref(kind, key), have):
                self._forget_pending(kind, key)
            elif want is None:
                if have is not None:
                    delete.append(have)
            elif have is None:
                create.append(want)
            else:
                update.append((have, want))
        return resources.Delta(tuple(create), tuple(update), tuple(delete))

    def in_sync(self, ref: resources.Ref) -> bool:
        """Whether ``ref`` is desired and exists with the desired value."""
        want = self._desired[ref.kind].get(ref.key)
        return (want is not None and
                want == self._actual[ref.kind].get(ref.key))

    def settled(self, ref: resources.Ref) -> bool:
        """Whether nothing has to be done about ``ref``."""
        return self.settles(ref, self.existing(ref))

    def settles(self, ref: resources.Ref,
                have: resources.Resource | None) -> bool:
        """Whether nothing would have to be done about another reading."""
        want = self.desired(ref)
        return want == have or (
            want is None and have is not None and (
                ref.key in self._kept[ref.kind] or have.retained))

    def desired(self, ref: resources.Ref) -> resources.Resource | None:
        """The desired resource at ``ref``."""
        return self._desired[ref.kind].get(ref.key)

    def existing(self, ref: resources.Ref) -> resources.Resource | None:
        """The actual resource at ``ref``."""
        return self._actual[ref.kind].get(ref.key)

    def actual(self, kinds: Iterable[str] | None = None
               ) -> list[resources.Resource]:
        """All actual resources, of some kinds or of all."""
        kinds = self._actual if kinds is None else kinds
        return [r for kind in kinds for r in self._actual[kind].values()]

    def wanted(self, kinds: Iterable[str] | None = None
               ) -> list[resources.Resource]:
        """All desired resources, of some kinds or of all."""
        kinds = self._desired if kinds is None else kinds
        return [r for kind in kinds for r in self._desired[kind].values()]

    def known_refs(self, kinds: Iterable[str]) -> frozenset[resources.Ref]:
        """Refs that are desired or believed to exist."""
        return frozenset(itertools.chain.from_iterable(
            (*(wanted.ref for wanted in self._desired[kind].values()),
             *(resources.Ref(kind, key) for key in
               self._actual[kind].keys() - self._desired[kind].keys()))
            for kind in kinds))

    def _forget_pending(self, kind: str, key: base.Key) -> None:
        pending = self._pending[kind]
        pending.discard(key)
        if not pending:
            # An emptied set keeps its size, and a look at it costs that much.
            del self._pending[kind]
            self._deltas.pop(kind, None)

    def _touch(self, ref: resources.Ref) -> None:
        # Without settled keys, the next difference has less to sort.
        if self.settled(ref):
            self._forget_pending(ref.kind, ref.key)
        else:
            self._pending[ref.kind].add(ref.key)
        self._changed[ref.kind].add(ref.key)
        self._touches[ref.kind] += 1
