# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The servers confirm a loss before the agent acts on it.

A view from whole tables lacks each row that its replica lacks, for whatever
reason.  If it is the first or has lost something, the servers have to confirm
the few rows that decide (ADR 0005), and before a mass withdrawal everything
that decides what this chassis announces (ADR 0021).  No thread waits.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import dataclasses
import functools
import time
import uuid

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.ovn import comparisons
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import sources
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import query
from ovn_network_agent.ovsdb.columns import Tables
from ovn_network_agent.ovsdb.query import Answers

_Addresses = Mapping[str, model.ServedAddress]
_Compared = Mapping[str, Collection[comparisons.Comparison]]  # by database
# The answer matters only for its moment; no chassis has this name.
_MOMENT = (query.select('Chassis', ['name', '==', '']),)


@dataclasses.dataclass(frozen=True, slots=True)
class Loss:
    """What a view lacks and the former view had."""

    local: bool = False  # a gateway port or a machine of this chassis
    # UUIDs of routers that lost a port, network or address according to NB.
    routers: frozenset[str] = frozenset()
    # See :meth:`sources.Sources.lost`.
    tables: frozenset[queries.Place] = frozenset()

    def __bool__(self) -> bool:
        return self.local or bool(self.routers or self.tables)


class _Servers:
    """Asks servers whether their replicas are right, one round at a time."""

    def __init__(self, databases: Mapping[str, connection.Database]) -> None:
        self._databases = databases
        self._pending: set[str] = set()

    @property
    def is_pending(self) -> bool:
        """Whether an answer is awaited."""
        return bool(self._pending)

    def ask(self, compared: _Compared,
            confirmed: Callable[[str], object]) -> None:
        """Ask again; earlier answers do not count any more.

        :param confirmed: called with each database whose replica is right, on
            the connection's thread, which holds the lock
        """
        self._pending = this = set(compared)
        for name, each in compared.items():
            self._databases[name].ask(
                comparisons.operations(each), functools.partial(
                    self._answered, this, name, each, confirmed))

    def _answered(self, this: set[str], name: str,
                  compared: Collection[comparisons.Comparison],
                  confirmed: Callable[[str], object],
                  answers: Answers | None, tables: Tables) -> None:
        """Judge an answer, None after a loss; distrust a wrong replica.

        One that confirms nothing ends the round; the next pass asks again.
        """
        if this is not self._pending:
            return
        wrong = None if answers is None else comparisons.difference(
            compared, answers, tables)
        if wrong == '':
            this.discard(name)
            confirmed(name)
            return
        self._pending = set()
        if wrong:
            self._databases[name].distrust(wrong)


class Confirmation:
    """Whether something may be removed because the view lacks it."""

    def __init__(self, databases: Mapping[str, connection.Database],
                 wake: Callable[[str], object]) -> None:
        self._databases = databases
        self._servers = _Servers(databases)
        self._wake = wake
        self._routers: set[str] = set()
        self._members: Collection[comparisons.Place] = ()
        self._tables: set[queries.Place] = set()
        #: the first view needs SB
        self.missing = {'sb'}

    def consider(self, nb: Tables, sb: Tables, now: model.Snapshot,
                 loss: Loss | None, machines: bool) -> None:
        """Ask about a new view, unless the question is open.

        On the loop thread, with both replicas locked.  SB is asked anyway.

        :param loss: of a view from whole tables, else None: the servers
            reported it
        :param machines: whether SB has the ports of machines here
        """
        if loss is not None:
            self._take(nb, now, loss)
        elif self.missing and self._servers.is_pending:
            return
        compared = {'sb': [*comparisons.of_chassis(sb, now.node.chassis,
                                                   machines)]}
        if 'nb' in self.missing:
            compared['nb'] = [*comparisons.of_routers(nb, self._routers,
                                                      self._members)]
        replicas = {'nb': nb, 'sb': sb}
        for name, table in sorted(self._tables):
            if table in replicas[name]:
                compared[name].append(comparisons.of_table(
                    replicas[name], table,
                    self._databases[name].clauses(table)))
        self._servers.ask(compared, self._confirmed)

    def _take(self, nb: Tables, now: model.Snapshot, loss: Loss) -> None:
        torn = {router.uuid for router in now.routers
                if comparisons.torn(nb, router.uuid)}
        self._members = comparisons.torn_groups(nb)
        self._tables |= loss.tables
        self._routers |= loss.routers | torn
        self.missing |= {name for name, _table in loss.tables}
        if loss.local:
            self.missing.add('sb')
        if loss.routers or torn or self._members:
            self.missing.add('nb')

    def _confirmed(self, name: str) -> None:
        if name not in self.missing:
            return
        self._tables = {each for each in self._tables if each[0] != name}
        if name == 'nb':
            self._routers.clear()
            self._members = ()
        self.missing.discard(name)
        if not self.missing:
            self._wake('confirmed')


class MassWithdrawal:
    """Has the servers confirm the loss of many addresses."""

    def __init__(self, databases: Mapping[str, connection.Database],
                 wake: Callable[[str], object]) -> None:
        self._databases = databases
        self._servers = _Servers(databases)
        self._wake = wake
        # Once both servers have confirmed; replaced as a whole.
        self.confirmed: frozenset[str] = frozenset()

    def ask(self, chassis: str, subjects: frozenset[str],
            machines: bool) -> None:
        """Ask both servers, if both are connected and no question is open.

        :param subjects: addresses with their length
        :param machines: whether SB has the ports of machines here
        """
        def confirmed(_name: str) -> None:
            if not self._servers.is_pending:
                self.confirmed = subjects
                self._wake('withdrawals confirmed')

        if self._servers.is_pending:
            return
        with contextlib.suppress(connection.Unavailable):
            with (self._databases['nb'].rows() as nb,
                  self._databases['sb'].rows() as sb):
                # An earlier answer says nothing about a later loss.
                self.confirmed = frozenset()
                self._servers.ask({
                    'nb': comparisons.of_announcements(nb),
                    'sb': [*comparisons.of_chassis(sb, chassis, machines)]},
                    confirmed)


def loss(before: model.Snapshot | None, now: model.Snapshot, nb: Tables,
         of_drivers: sources.Sources | None) -> Loss:
    """What a view has lost; the first one has nothing to compare with."""
    if before is None:
        return Loss()
    tables: Collection[queries.Place] = (
        of_drivers.lost(before.subjects, now.subjects) if of_drivers else ())
    local, routers = _lost_ports(before, now, nb)
    local |= before.machines is not now.machines and (
        not _ports(before) <= _ports(now))
    present = {router.uuid for router in now.routers}
    for key, had in before.addresses.items():
        has = now.addresses.get(key, {})
        if had is has:
            continue
        local |= not _machines(had) <= _machines(has)
        if key in present and not _claims(had) <= _claims(has):
            routers.add(key)
    if before.networks is not now.networks and (
            not _vnis(before) <= _vnis(now)):
        # NB says which network has a VNI.
        tables = {*tables, ('nb', 'Logical_Switch')}
    prefixes = lost_tenants(before, now)
    if prefixes:
        # SB says which network of a tenant is at which port.
        tables = {*tables, ('sb', 'Port_Binding')}
    return Loss(local, frozenset(routers | prefixes), frozenset(tables))


def _lost_ports(before: model.Snapshot, now: model.Snapshot,
                nb: Tables) -> tuple[bool, set[str]]:
    """Whether a gateway port is gone from here, and what routers lack."""
    local = False
    routers: set[str] = set()
    present = {router.uuid: router for router in now.routers}
    for router in before.routers:
        new = present.get(router.uuid)
        ports = {p.lrp: p for p in new.ports} if new else {}
        for port in router.local_ports:
            there = ports.get(port.lrp)
            if there is None or not there.local:
                local = True
            if new is not None and (
                    there is None or there.domain != port.domain or
                    not set(port.networks) <= set(there.networks)):
                routers.add(router.uuid)
        if new is None and uuid.UUID(router.uuid) not in nb['Logical_Router']:
            routers.add(router.uuid)
    return local, routers


def lost_tenants(before: model.Snapshot, now: model.Snapshot) -> set[str]:
    """UUIDs of the routers that are there and have lost a prefix."""
    present = {router.uuid for router in now.routers}
    return {key for key, had in before.tenants.items()
            if key in present and had is not now.tenants.get(key) and
            not _prefixes(had) <= _prefixes(now.tenants.get(key, {}))}


def _prefixes(known: Mapping[str, model.TenantPrefix]) -> set[str]:
    return {prefix for prefix, each in known.items() if each.announced}


def _vnis(view: model.Snapshot) -> set[tuple[str, int]]:
    return {(uuid, network.domain) for uuid, network in view.networks.items()
            if network.vni}


def _ports(view: model.Snapshot) -> set[tuple[str, str]]:
    return {(each.port, each.address) for known in view.machines.values()
            for each in known.values()}


def _machines(addresses: _Addresses) -> set[str]:
    return {each.address for each in addresses.values() if each.resident}


def _claims(addresses: _Addresses) -> set[tuple[str, str]]:
    return {(each.address, kind) for each in addresses.values()
            for kind in each.kinds}


class Barrier:
    """Holds what was lost in NB until a view is newer than SB's answer.

    SB and NB are two servers: a former owner may see its rows taken over in NB
    before the move in SB, and both agents would write in turns.  A server
    sends all updates before an answer, so after one of SB the replica has the
    move, and the next view counts.

    :param wake: called on the connection's thread when SB has answered
    """

    def __init__(self, sb: connection.Database,
                 wake: Callable[[], object]) -> None:
        self._sb = sb
        self._wake = wake
        # By ref the monotonic seconds of the first answer after the loss.
        self._answers: dict[resources.Ref, list[float]] = {}

    def ask(self, refs: Collection[resources.Ref]) -> None:
        """Ask SB, and hold these refs.

        Without a connection nobody is asked; the replica is new after it.
        """
        answers: list[float] = []
        with contextlib.suppress(connection.Unavailable), self._sb.rows():
            self._answers.update(dict.fromkeys(refs, answers))
            self._sb.ask(_MOMENT, functools.partial(self._answered, answers))

    def held(self, viewed: float) -> frozenset[resources.Ref]:
        """The refs whose loss a view of these monotonic seconds may miss."""
        self._answers = {
            ref: answers for ref, answers in self._answers.items()
            if not any(moment < viewed for moment in answers)}
        return frozenset(self._answers)

    def _answered(self, answers: list[float],
                  _found: query.Answers | None,
                  _tables: Tables) -> None:
        answers.append(time.monotonic())
        self._wake()
