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

Pure.  Several contributors may want the same resource, as two routers on one
provider network want the same leak route.  The resource goes when no
contributor wants it any more.

Different resources at the same key are a conflict.  One contributor's
resource is desired, and the conflict is reported.  The names of the
contributors decide which resource, not the order of events: after a restart,
on another gateway node or in a dry run, the order differs and the result must
not.
"""

import collections
from collections.abc import Iterable
import dataclasses
import functools
import typing

from ovn_network_agent import resources
from ovn_network_agent.engine import tracking

#: Name of a driver, and of the subject that it was asked about, in two parts.
Contributor: typing.TypeAlias = tuple[str, str, str]
_Claim: typing.TypeAlias = tuple[Contributor, resources.Resource]
_Claims: typing.TypeAlias = dict[Contributor, resources.Resource]


class DesiredState:
    """Merges contributions into a :class:`tracking.Tracker`."""

    def __init__(self, tracker: tracking.Tracker) -> None:
        self._tracker = tracker
        self._contributions: dict[
            Contributor, tuple[resources.Resource, ...]] = {}
        # See :meth:`_claims_on`.
        self._claims: dict[resources.Ref, _Claim | _Claims] = {}
        self._disputed: set[resources.Ref] = set()
        self._keeps: collections.defaultdict[
            resources.Ref, set[Contributor]] = collections.defaultdict(set)
        self._conflicts: dict[resources.Ref, str] = {}
        # Of one contributor with itself.
        self._contradictions: dict[Contributor, dict[resources.Ref, str]] = {}

    @property
    def conflicts(self) -> dict[resources.Ref, str]:
        """What contributors do not agree about."""
        found = dict(self._conflicts)
        for _by, by_ref in sorted(self._contradictions.items(),
                                  key=lambda item: str(item[0])):
            found.update(by_ref)
        return found

    def contributed(self, contributor: Contributor
                    ) -> list[resources.Resource]:
        """The resources that a contributor wants at present."""
        return list(self._contributions.get(contributor, ()))

    def contribute(self, contributor: Contributor,
                   wanted: Iterable[resources.Resource]) -> None:
        """Replace everything that ``contributor`` wants."""
        new = self._by_ref(contributor, wanted)
        former = self._contributions.get(contributor, ())
        if len(new) == len(former) and all(map(same, new.values(), former)):
            # Thousands of equal resources would else be there twice.
            return
        old = {resource.ref: resource for resource in former}
        if new:
            self._contributions[contributor] = tuple(new.values())
        else:
            self._contributions.pop(contributor, None)
        for ref in old.keys() - new.keys():
            self._release(contributor, old[ref])
        for ref, resource in new.items():
            if not same(resource, old.get(ref)):
                self._claim(contributor, resource)

    def _by_ref(self, contributor: Contributor,
                wanted: Iterable[resources.Resource]
                ) -> dict[resources.Ref, resources.Resource]:
        by_ref: dict[resources.Ref, resources.Resource] = {}
        contradictions = {}
        for resource in wanted:
            other = by_ref.setdefault(resource.ref, resource)
            if other != resource:
                contradictions[resource.ref] = (
                    f'{contributor} wants both {other} and {resource}')
        self._contradictions.pop(contributor, None)
        if contradictions:
            self._contradictions[contributor] = contradictions
        return by_ref

    def _claim(self, contributor: Contributor,
               resource: resources.Resource) -> None:
        if isinstance(resource, resources.Keep):
            self._keeps[resource.of].add(contributor)
            self._tracker.keep(resource.of)
            return
        ref = resource.ref
        if ref not in self._claims:
            # Most refs have one contributor, and nothing is to be decided.
            self._claims[ref] = contributor, resource
            if not same(resource, self._tracker.desired(ref)):
                self._tracker.want(resource)
            return
        claims = self._claims_on(ref)
        agreed = (ref not in self._disputed and
                  len(claims) > (contributor in claims))
        claims[contributor] = resource
        self._store_claims(ref, claims)
        # Not settling saves a sort of all claims for each of the thousand
        # routers that may want the same resource.
        if not agreed or not same(resource, self._tracker.desired(ref)):
            self._settle(ref)

    def _release(self, contributor: Contributor,
                 resource: resources.Resource) -> None:
        if isinstance(resource, resources.Keep):
            self._keeps[resource.of].discard(contributor)
            if not self._keeps[resource.of]:
                del self._keeps[resource.of]
                self._tracker.keep(resource.of, kept=False)
            return
        ref = resource.ref
        claims = self._claims_on(ref)
        del claims[contributor]
        self._store_claims(ref, claims)
        if not claims or ref in self._disputed:
            self._settle(ref)

    def _claims_on(self, ref: resources.Ref) -> _Claims:
        found = self._claims.get(ref, {})
        return dict([found]) if isinstance(found, tuple) else found

    def _store_claims(self, ref: resources.Ref, claims: _Claims) -> None:
        """Keep the claims on ``ref``.

        Most refs have one claim, and a pair takes a quarter of the memory of
        a dict.
        """
        if not claims:
            self._claims.pop(ref, None)
        elif len(claims) == 1:
            self._claims[ref] = next(iter(claims.items()))
        else:
            self._claims[ref] = claims

    def _settle(self, ref: resources.Ref) -> None:
        """Decide which resource is desired at ``ref``, by its claims."""
        claims = self._claims_on(ref)
        self._conflicts.pop(ref, None)
        self._disputed.discard(ref)
        if not claims:
            self._tracker.unwant(ref)
            return
        ranked = sorted(claims.items(), key=lambda item: str(item[0]))
        first_by, first = ranked[0]
        for contributor, resource in ranked[1:]:
            if not same(resource, first):
                self._disputed.add(ref)
            if resource != first:
                self._conflicts.setdefault(
                    ref, f'{first_by} wants {first} but {contributor} wants '
                         f'{resource}')
        if not same(first, self._tracker.desired(ref)):
            self._tracker.want(first)


def same(resource: resources.Resource,
         other: resources.Resource | None) -> bool:
    """Whether two resources are equal in all fields.

    The operator ``==`` leaves out fields that do not compare.  But a backend
    uses them, too: for example the priorities that a decision was based on.
    """
    return resource is other or resource == other and all(
        getattr(resource, name) == getattr(other, name)
        # mypy takes the hash of an object for that of its class.
        for name in _uncompared(type(resource)))  # type: ignore[arg-type]


@functools.cache
def _uncompared(kind: type[resources.Resource]) -> tuple[str, ...]:
    """Names of fields of a class of resources that do not compare."""
    return tuple(field.name for field in dataclasses.fields(kind)
                 if not field.compare)
