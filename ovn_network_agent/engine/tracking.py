# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Desired and actual state side by side, and the difference between them.

Pure.  The desired state is what all drivers want, merged by key; a resource
goes when no contributor wants it any more, as two routers on one provider
network want the same leak route.  Of different resources at one key, a
conflict, the names of the contributors decide and not the order of events:
after a restart, on another gateway node or in a dry run, the order differs and
the result must not.

The tracker remembers the keys that may differ, so the cost follows the number
of changes, not of resources.
"""

import bisect
import collections
from collections.abc import Iterable
import dataclasses
import functools
import itertools
import typing

from ovn_network_agent import resources
from ovn_network_agent.resources import base

#: Name of a driver, and of the subject that it was asked about, in two parts.
Contributor: typing.TypeAlias = tuple[str, str, str]

_NOTHING = resources.Delta()

# By kind and key.
_Resources: typing.TypeAlias = collections.defaultdict[
    str, dict[base.Key, resources.Resource]]
_Keys: typing.TypeAlias = collections.defaultdict[str, set[base.Key]]


class DesiredState:
    """Merges contributions into a :class:`Tracker`."""

    def __init__(self, tracker: 'Tracker') -> None:
        self._tracker = tracker
        self._contributions: dict[
            Contributor, dict[resources.Ref, resources.Resource]] = {}
        self._claims = tracker.claims
        self._disputed: set[resources.Ref] = set()
        self._contradictions: dict[Contributor, dict[resources.Ref, str]] = {}

    @property
    def conflicts(self) -> dict[resources.Ref, str]:
        """What contributors do not agree about."""
        found = {}
        for ref in sorted(self._disputed, key=str):
            by, *others = self._claims[ref]
            first = self._contributions[by][ref]
            for other in others:
                resource = self._contributions[other][ref]
                if resource != first:
                    found[ref] = (f'{by} wants {first} but {other} wants '
                                  f'{resource}')
                    break
        for _by, by_ref in sorted(self._contradictions.items()):
            found.update(by_ref)
        return found

    def contributed(self, contributor: Contributor
                    ) -> list[resources.Resource]:
        """The resources that a contributor wants at present."""
        return list(self._contributions.get(contributor, {}).values())

    def contribute(self, contributor: Contributor,
                   wanted: Iterable[resources.Resource]) -> None:
        """Replace everything that ``contributor`` wants."""
        previous = self._contributions.get(contributor, {})
        new = self._by_ref(contributor, wanted)
        if len(new) == len(previous) and all(
                map(same, new.values(), previous.values())):
            # Thousands of equal resources would else be there twice.
            return
        if new:
            self._contributions[contributor] = new
        else:
            del self._contributions[contributor]
        for ref, resource in previous.items():
            if ref not in new:
                self._claims[ref].remove(contributor)
                self._settle(resource)
        for ref, resource in new.items():
            if ref not in previous:
                bisect.insort(self._claims.setdefault(ref, []), contributor)
            if not same(resource, previous.get(ref)):
                self._settle(resource)

    def _by_ref(self, contributor: Contributor,
                wanted: Iterable[resources.Resource]
                ) -> dict[resources.Ref, resources.Resource]:
        by_ref: dict[resources.Ref, resources.Resource] = {}
        self._contradictions.pop(contributor, None)
        for resource in wanted:
            other = by_ref.setdefault(resource.ref, resource)
            if other is not resource and other != resource:
                self._contradictions.setdefault(contributor, {})[
                    resource.ref] = (
                        f'{contributor} wants both {other} and {resource}')
        return by_ref

    def _settle(self, resource: resources.Resource) -> None:
        """Decide what is desired at a key where a wish has changed."""
        ref = resource.ref
        claims = self._claims[ref]
        if not claims:
            del self._claims[ref]
        if isinstance(resource, resources.Keep):
            self._tracker.keep(resource.of, bool(claims))
            return
        desired = self._tracker.desired(ref)
        if not claims:
            self._disputed.discard(ref)
            self._tracker.unwant(ref)
        elif ref in self._disputed or not same(resource, desired):
            # A thousand routers may want the same resource.
            first, *others = (self._contributions[by][ref] for by in claims)
            self._disputed.discard(ref)
            if not all(same(other, first) for other in others):
                self._disputed.add(ref)
            if not same(first, desired):
                self._tracker.want(first)


class Tracker:
    """Desired and actual resources by kind and key; does no I/O."""

    def __init__(self) -> None:
        #: who wants something at a key, by name; :class:`DesiredState` writes
        self.claims: dict[resources.Ref, list[Contributor]] = {}
        self._desired: _Resources = collections.defaultdict(dict)
        self._actual: _Resources = collections.defaultdict(dict)
        self._kept: _Keys = collections.defaultdict(set)
        # The keys that differ; no kind without any.
        self._pending: _Keys = collections.defaultdict(set)
        self._changed: _Keys = collections.defaultdict(set)
        self._touches: collections.Counter[str] = collections.Counter()
        # Until something of the kind changes: a pass asks several times, and
        # FRR may work for seconds on thousands of routes.
        self._deltas: dict[str, resources.Delta] = {}

    # -- what should be ---------------------------------------------------

    def driver(self, ref: resources.Ref) -> str:
        """The name of the first driver that wants ``ref``, '' for none."""
        claims = self.claims.get(ref)
        return claims[0][0] if claims else ''

    def want(self, resource: resources.Resource) -> None:
        """Desire a resource, in place of another one with the same key."""
        ref = resource.ref
        self._desired[ref.kind][ref.key] = resource
        if self._actual[ref.kind].get(ref.key) == resource:
            # As in resync(): what was read before lacks its prerequisites.
            self._actual[ref.kind][ref.key] = resource
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

    def removed(self, ref: resources.Ref) -> None:
        """Take note that nothing exists at ``ref``."""
        self._actual[ref.kind].pop(ref.key, None)
        self._touch(ref)

    def resync(self, kinds: Iterable[str],
               found: list[resources.Resource]) -> list[resources.Ref]:
        """Replace the actual state of some kinds by a new reading.

        Thousands of equal values are there once: in the list, too, a resource
        found as desired is replaced by the desired object.

        :returns: refs whose resource was as desired and no longer is
        :raises ValueError: when a resource is of another kind
        """
        fresh: dict[str, dict[base.Key, resources.Resource]] = {
            kind: {} for kind in kinds}
        for place, resource in enumerate(found):
            kind = resource.kind
            if kind not in fresh:
                raise ValueError(f'unexpected kind {kind}')
            key = resource.ref.key
            want = self._desired[kind].get(key)
            if want is None:
                before = self._actual[kind].get(key)
                if before == resource and before.requires:
                    # What is read lacks its prerequisites, which go after it.
                    found[place] = resource = dataclasses.replace(
                        resource, requires=before.requires)
            elif want is not resource and want == resource:
                found[place] = resource = want
            fresh[kind][key] = resource
        lost = []
        for kind, actual in fresh.items():
            previous, wanted = self._actual[kind], self._desired[kind]
            # Most objects are the same, and to compare values takes longer.
            different = [key for key, before in previous.items()
                         if actual.get(key) is not before and
                         actual.get(key) != before]
            lost += [resources.Ref(kind, key) for key in different
                     if previous[key] == wanted.get(key)]
            different += actual.keys() - previous.keys()
            self._changed[kind].update(different)
            self._touches[kind] += len(different)
            self._actual[kind] = actual
            self._deltas.pop(kind, None)
            self._pending[kind] = {
                key for key in itertools.chain(
                    (key for key, have in actual.items()
                     if wanted.get(key) is not have),
                    (key for key in wanted if key not in actual))
                if not self.settled(resources.Ref(kind, key))}
            if not self._pending[kind]:
                del self._pending[kind]
        return lost

    def take_changed(self) -> list[resources.Ref]:
        """The keys changed since the last call, maybe to the same value."""
        changed, self._changed = (self._changed,
                                  collections.defaultdict(set))
        return [resources.Ref(kind, key) for kind, keys in changed.items()
                for key in keys]

    def touches(self, kinds: Iterable[str]) -> int:
        """How often something of some kinds was set or found different.

        The number grows with each statement of what should be, with each
        change of a backend, and with each reading that differs.
        """
        return sum(self._touches[kind] for kind in kinds)

    def copy(self) -> 'Tracker':
        """The same state, for another thread."""
        made = Tracker()
        for own, other in ((self._desired, made._desired),
                           (self._actual, made._actual)):
            other.update({kind: known.copy() for kind, known in own.items()})
        made._kept.update({kind: keys.copy()
                           for kind, keys in self._kept.items()})
        return made

    # -- the difference ---------------------------------------------------

    def delta(self, kinds: Iterable[str]) -> resources.Delta:
        """The difference for some kinds."""
        found = [self._delta(kind) for kind in kinds if kind in self._pending]
        if len(found) <= 1:
            return found[0] if found else _NOTHING
        return resources.Delta(
            tuple(r for delta in found for r in delta.create),
            tuple(pair for delta in found for pair in delta.update),
            tuple(r for delta in found for r in delta.delete))

    def _delta(self, kind: str) -> resources.Delta:
        if kind not in self._deltas:
            create, update, delete = [], [], []
            for key in sorted(self._pending[kind], key=str):
                want = self._desired[kind].get(key)
                have = self._actual[kind].get(key)
                if want is not None and have is not None:
                    update.append((have, want))
                elif want is not None:
                    create.append(want)
                elif have is not None:
                    delete.append(have)
            self._deltas[kind] = resources.Delta(
                tuple(create), tuple(update), tuple(delete))
        return self._deltas[kind]

    def in_sync(self, ref: resources.Ref) -> bool:
        """Whether ``ref`` is desired and exists with the desired value."""
        want = self.desired(ref)
        return want is not None and want == self.existing(ref)

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
        return frozenset(
            r.ref for kind in kinds for r in
            (self._actual[kind] | self._desired[kind]).values())

    def _touch(self, ref: resources.Ref) -> None:
        if not self.settled(ref):
            self._pending[ref.kind].add(ref.key)
        elif ref.kind in self._pending:
            self._pending[ref.kind].discard(ref.key)
            if not self._pending[ref.kind]:
                # An emptied set keeps its size, and a look at it costs that
                # much.
                del self._pending[ref.kind]
        self._changed[ref.kind].add(ref.key)
        self._touches[ref.kind] += 1
        self._deltas.pop(ref.kind, None)


def same(resource: resources.Resource,
         other: resources.Resource | None) -> bool:
    """Whether two resources are equal in all fields.

    ``==`` leaves out fields that do not compare, which a backend may use: for
    example the priorities that a decision was based on.
    """
    return resource is other or resource == other and all(
        getattr(resource, name) == getattr(other, name)
        # mypy takes the hash of an object for that of its class.
        for name in _uncompared(type(resource)))  # type: ignore[arg-type]


@functools.cache
def _uncompared(kind: type[resources.Resource]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind)
                 if not field.compare)
