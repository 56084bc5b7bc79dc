# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The answers of the drivers: asked for changed subjects only, and merged.

Pure.  The former contribution of a driver that raises stays.

The former owner of a gateway port announces until the new owner has the proof.
"""

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import typing

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import bucketed_mapping
from ovn_network_agent.common import networks
from ovn_network_agent.drivers import base
from ovn_network_agent.engine import tracking
from ovn_network_agent.model import port_forwards


def complete(proof: resources.Advertised,
             wanted: Iterable[resources.Resource]
             ) -> resources.Advertised | None:
    """The proof with all that it requires, None if it is not wanted.

    There is none while a resource of the router is only kept as found, or an
    address of its family is reachable and not announced.

    :param wanted: all resources that the driver wants for the router
    """
    addresses: set[str] = set()
    announced: dict[str, resources.Ref] = {}
    following: list[resources.Ref] = []
    for resource in wanted:
        if resource.kind == resources.Keep.kind:
            return None
        subject = resource.subject
        # Nobody waits for a proof about a VNI.
        if (not subject or resource.kind == resources.VniRoute.kind or
                resource.kind == resources.DefaultRoute.kind or
                networks.family_of_valid(subject) != proof.version):
            continue
        if resource.follows:
            following.append(resource.ref)
        if resource.stage is resources.Stage.ANNOUNCE:
            announced[subject] = resource.ref
        elif resource.kind != resources.Flow.kind:
            addresses.add(subject)
    if not addresses <= announced.keys():
        return None
    prefixes = tuple(sorted(announced))
    return dataclasses.replace(
        proof, prefixes=prefixes, requires=(
            *proof.requires, *map(announced.__getitem__, prefixes),
            *sorted(set(following), key=str)))


LOG = logging.getLogger(__name__)

#: The kinds of subjects that need no source of a driver.
KINDS = (model.Node, port_forwards.Forwards, model.GatewayGroup, model.Router,
         model.ServedAddress, model.ProviderNetwork, model.PortAddress,
         model.TenantPrefix)
# Of a router and with announcements, for which the proof of the router waits.
_OF_ROUTERS = (model.ServedAddress, model.TenantPrefix)

# By what a subject belongs to (such as the UUID of a router), and by the rest
# of its name, '' for most.
Parts = Mapping[str, object]
Subjects = Mapping[str, Parts]

_NAMED = 10

# Statements of a driver, without a backend.
_STATEMENTS = (resources.Keep.kind, resources.Problem.kind)
# Kinds of an answer that are no contribution as they are.
_NOT_YET = (resources.Problem.kind, resources.Advertised.kind)
# Kinds of other drivers for which the proof of a router does not wait.
_OF_OTHERS = (resources.Keep.kind, resources.Rule.kind)
# A completed proof, in the place of the name of a subject.
_PROOF = 'proof'


class Contributions:
    """Asks the drivers and keeps the merged desired state current."""

    def __init__(self, drivers: list[base.Driver],
                 tracker: tracking.Tracker, kinds: Collection[str]) -> None:
        # The caller may replace them; only those with changed settings are
        # asked.
        self.drivers = drivers
        self._kinds = kinds
        self._state = tracking.DesiredState(tracker)
        # By kind; the node and, by driver, the settings of all answers.
        self._known: Mapping[type, Subjects] = {}
        self._node: model.Node | None = None
        self._settings: dict[str, object] = {}
        # By driver and router.
        self._proofs: dict[tuple[str, str], resources.Advertised] = {}
        self._problems: dict[
            tracking.Contributor, list[resources.Problem]] = {}
        self._problems_changed = False
        # Sorted, each text once.
        self.left_out: tuple[resources.Problem, ...] = ()
        self.broken: dict[tracking.Contributor, str] = {}

    @property
    def conflicts(self) -> dict[resources.Ref, str]:
        """What drivers do not agree about."""
        return self._state.conflicts

    def forget(self) -> None:
        """Ask every driver again at the next update."""
        self._node = None

    def update(self, snapshot: model.Snapshot) -> None:
        """Ask drivers about each subject that changed since the last time."""
        view = self._subjects(snapshot)
        node = typing.cast(model.Node, view[model.Node]['node'][''])
        settings = {driver.name: driver.settings for driver in self.drivers}
        reconfigured = {
            name for name, known in settings.items()
            if node != self._node or self._settings.get(name) != known}
        if self._node is not None and node != self._node:
            LOG.debug('Everything is asked about: %s changed', ', '.join(
                f'node.{name}' for name in node._fields
                if getattr(node, name) != getattr(self._node, name)))
        contributors: list[tracking.Contributor] = []
        for kind, present in view.items():
            contributors += self._update(kind, present, reconfigured, node)
        self._complete({about for _driver, about, _name in contributors},
                       [view[kind] for kind in _OF_ROUTERS])
        self._known, self._node, self._settings = view, node, settings
        self._report_problems()
        LOG.debug('Asked drivers %d times: %s', len(contributors), ', '.join(
            ' '.join(filter(None, each)) for each in contributors[:_NAMED]))

    def _subjects(self, snapshot: model.Snapshot) -> dict[type, Subjects]:
        node, forwards = snapshot.node, snapshot.forwards
        if forwards is not None:
            node = node._replace(extent=port_forwards.extent(forwards))
        return {
            model.Node: {'node': {'': node}},
            port_forwards.Forwards: (
                {} if forwards is None else {'forwards': {'': forwards}}),
            model.GatewayGroup: {f'{group.table} {group.key}': {'': group}
                                 for group in snapshot.groups},
            model.Router: {router.uuid: {'': router}
                           for router in snapshot.routers},
            model.ServedAddress: snapshot.addresses,
            model.ProviderNetwork: {uuid: {'': network} for uuid, network
                                    in snapshot.networks.items()},
            model.PortAddress: snapshot.machines,
            model.TenantPrefix: snapshot.tenants, **snapshot.subjects}

    def _update(self, kind: type, present: Subjects,
                reconfigured: Collection[str],
                node: model.Node) -> list[tracking.Contributor]:
        """Ask about the subjects of a kind; RECONFIGURED drivers about all.

        :returns: the contributors whose answers may be other ones
        """
        changed = list(_changes(self._known.get(kind, {}), present))
        contributors: list[tracking.Contributor] = []
        for driver in self.drivers:
            if kind not in driver.SUBJECTS:
                continue
            removed = [(driver.name, about, name)
                       for about, _parts, names in changed for name in names]
            for contributor in removed:
                self._take(contributor, ())
                self.broken.pop(contributor, None)
            subjects = {
                (driver.name, about, name): subject for about, parts in (
                    present.items() if driver.name in reconfigured else
                    ((about, parts) for about, parts, _names in changed))
                for name, subject in parts.items()}
            # Also what the driver has raised on.
            for contributor in self.broken.keys() - subjects.keys():
                driver_name, about, name = contributor
                subject = present.get(about, {}).get(name)
                if driver_name == driver.name and subject is not None:
                    subjects[contributor] = subject
            for contributor, subject in subjects.items():
                self._ask(driver, contributor, subject, node)
            contributors += (*removed, *subjects)
        return contributors

    # -- one contribution -------------------------------------------------

    def _ask(self, driver: base.Driver, contributor: tracking.Contributor,
             subject: object, node: model.Node) -> None:
        """Take the answer about a subject; the former one if there is none.

        So a bug in a driver withdraws nothing before the end of the agent.
        """
        stopped = node.phase is model.Phase.STOPPED
        try:
            wanted = self._understood(driver.resources(subject, node))
        except Exception as e:
            why = f'{type(e).__name__}: {e}'
            if self.broken.get(contributor) != why:
                # Once, though each pass asks the driver again.
                LOG.exception('Driver %s failed on %s', driver.name,
                              ' '.join(filter(None, contributor[1:])))
            self.broken[contributor] = why
            if not stopped:
                return
            wanted = self._state.contributed(contributor)
        self.broken.pop(contributor, None)
        if stopped:
            # At the end of the agent nothing is desired, but objects of others
            # stay.  One kept in doubt goes: no agent is left to resolve the
            # doubt.
            wanted = [r for r in wanted if isinstance(r, resources.Keep)
                      and r.foreign]
        self._take(contributor, wanted)

    def _take(self, contributor: tracking.Contributor,
              wanted: Sequence[resources.Resource]) -> None:
        problems = [r for r in wanted if isinstance(r, resources.Problem)]
        if problems or contributor in self._problems:
            self._problems_changed = True
            self._problems[contributor] = problems
        about, name = contributor[:2], contributor[2]
        if not name:
            # The proof of a router waits for all its answers.
            found = [r for r in wanted if isinstance(r, resources.Advertised)]
            if found:
                self._proofs[about] = found[0]
            elif self._proofs.pop(about, None):
                self._state.contribute((*about, _PROOF), ())
        self._state.contribute(contributor, [
            r for r in wanted if r.kind not in _NOT_YET])

    def _complete(self, changed: set[str], of_routers: list[Subjects]) -> None:
        """Complete the proofs of routers about which drivers were asked.

        A driver that has raised has not answered about the whole router.
        """
        doubtful = {about for _driver, about, _name in self.broken}
        for about in self._proofs:
            if about[1] not in changed or about[1] in doubtful:
                continue
            proof = complete(
                self._proofs[about], self._of_router(about, of_routers))
            self._state.contribute((*about, _PROOF), filter(None, (proof,)))

    def _of_router(self, about: tuple[str, str], of_routers: list[Subjects]
                   ) -> Iterator[resources.Resource]:
        """What the driver of a proof wants, and others for its subjects.

        No doubt about the router: what another driver keeps as found (two
        tenants may have one prefix), and a rule for a network whose single
        addresses are announced.
        """
        names = {name for parts in of_routers
                 for name in parts.get(about[1], ())}
        for driver in self.drivers:
            if driver.name == about[0]:
                for name in ('', *names):
                    yield from self._state.contributed((*about, name))
            elif model.TenantPrefix in driver.SUBJECTS:
                for name in names:
                    yield from (
                        each for each in self._state.contributed(
                            (driver.name, about[1], name))
                        if each.kind not in _OF_OTHERS)

    def _understood(self, wanted: Iterable[resources.Resource]
                    ) -> list[resources.Resource]:
        """The resources that a driver yields, checked.

        :raises ValueError: for what is no resource, or of no backend
        """
        wanted = list(wanted)
        for resource in wanted:
            if not isinstance(resource, resources.Resource):
                raise ValueError(f'{resource!r} is not a resource')
            hash(resource.ref)
            if (resource.kind not in self._kinds and
                    resource.kind not in _STATEMENTS):
                raise ValueError(
                    f'no backend makes resources of the kind {resource.kind}; '
                    'install the package that has this backend')
        return wanted

    def _report_problems(self) -> None:
        if not self._problems_changed:
            return
        self._problems_changed = False
        self._problems = {name: found for name, found
                          in self._problems.items() if found}
        before = {problem.text for problem in self.left_out}
        self.left_out = merged(itertools.chain(*self._problems.values()))
        now = {problem.text for problem in self.left_out}
        for text in sorted(now - before):
            LOG.warning('Left out: %s', text)
        for text in sorted(before - now):
            LOG.info('No longer left out: %s', text)


def _changes(before: Subjects, now: Subjects) -> Iterator[
        tuple[str, Parts, Iterable[str]]]:
    """What differs between two views of one kind.

    :returns: (what subjects belong to, those that are new or have another
        value, the names of those that are gone)
    """
    if now is before:
        return
    for about, parts in now.items():
        previous = before.get(about, {})
        if parts is previous or parts == previous:
            continue
        for old, new in bucketed_mapping.differing(previous, parts):
            yield about, {
                name: subject for name, subject in new.items()
                if (known := old.get(name)) is not subject and
                known != subject}, old.keys() - new.keys()
    for about in before.keys() - now.keys():
        yield about, {}, before[about].keys()


def merged(problems: Iterable[resources.Problem]
           ) -> tuple[resources.Problem, ...]:
    """Problems of several addresses of a router become one; sorted."""
    addresses: dict[resources.Problem, set[str]] = collections.defaultdict(set)
    for each in problems:
        addresses[dataclasses.replace(each, addresses=())].update(
            each.addresses)
    by_text = {problem.text: problem for problem in (
        each.naming(found) for each, found in addresses.items())}
    return tuple(by_text[text] for text in sorted(by_text))
