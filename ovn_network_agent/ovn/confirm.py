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

"""The servers confirm a loss before the agent withdraws anything.

A change that a server has reported needs no confirmation.  But a view that
was built from whole tables lacks each row that its replica lacks, for
whatever reason.  When such a view is the first or has lost something, the
agent removes nothing until the servers have confirmed the loss.  The question
names only the few rows that decide, and no thread waits for the answer.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import functools

from ovn_network_agent import model
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import questions
from ovn_network_agent.ovn import rounds
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb.columns import Tables
from ovn_network_agent.ovsdb.columns import Uuid
from ovn_network_agent.ovsdb.question import Answers

_Addresses = Mapping[str, model.ServedAddress]


class Confirmation(rounds.Rounds):
    """Whether something may be removed because the view lacks it.

    :param wake: called with the reason once the loss is confirmed
    """

    def __init__(self, databases: Mapping[str, connection.Database],
                 wake: Callable[[str], object]) -> None:
        super().__init__(databases)
        self._wake = wake
        self._lost: set[str] = set()
        self._candidates: Sequence[tuple[str, Uuid]] = ()
        # Those of sources that have lost something.
        self._places: set[queries.Place] = set()
        # The databases that have yet to confirm; the first view needs SB.
        self._missing = {'sb'}
        # Whether nothing is left to confirm.
        self.given = False

    def consider(self, nb: Tables, sb: Tables, before: model.Snapshot | None,
                 now: model.Snapshot, whole: bool,
                 machines: bool = False,
                 places: Collection[queries.Place] = ()) -> None:
        """Compare a new view with the former view, and ask if need be.

        This runs on the loop thread, with the locks of both replicas held.

        :param whole: whether the new view was built from whole tables
        :param machines: whether SB has the ports of machines here
        :param places: see :meth:`sources.Sources.lost`, of a whole view
        """
        if whole:
            gateways, routers = _lost(before, now, nb)
            routers |= {router.uuid for router in now.routers
                        if questions.torn(nb, router.uuid)}
            self._lost |= routers
            self._candidates = questions.torn_groups(nb)
            self._missing |= {'sb'} if gateways else set()
            self._missing |= (
                {'nb'} if routers or self._candidates else set())
            self._places.update(places)
            self._missing |= {database for database, _table in places}
            self.given = not self._missing
        elif self.given or self._round is not None:
            return
        asked: dict[str, rounds.Question] = {
            'sb': questions.Bound(sb, now.node.chassis, machines)}
        if 'nb' in self._missing:
            asked['nb'] = questions.Routers(nb, self._lost,
                                            self._candidates)
        for database, replica in ('nb', nb), ('sb', sb):
            tables = {table: self._databases[database].clauses(table)
                      for place, table in sorted(self._places)
                      if place == database}
            if tables:
                asked[database] = questions.OfSources(
                    asked[database], replica, tables)
        self._ask(asked)

    @staticmethod
    def loses(nb: Tables, before: model.Snapshot | None,
              now: model.Snapshot) -> bool:
        """Whether a new view lacks what the former view had."""
        gateways, routers = _lost(before, now, nb)
        return gateways or bool(routers)

    def repeat(self, sb: Tables, chassis: str, machines: bool) -> None:
        """Ask SB once more about a view in which nothing has changed.

        :param machines: whether SB has the ports of machines here
        """
        self._ask({'sb': questions.Bound(sb, chassis, machines)})

    def _ask(self, asked: Mapping[str, rounds.Question]) -> None:
        self._round = this = object()
        for name, question in asked.items():
            self._databases[name].ask(
                question.operations,
                functools.partial(self._answered, this, name, question))

    def _answered(self, this: object, name: str, question: rounds.Question,
                  answers: Answers | None, tables: Tables) -> None:
        """Judge the answers of a server, see :meth:`_confirmed`."""
        if (self._confirmed(this, name, question, answers, tables) and
                name in self._missing):
            self._missing.discard(name)
            self._places = {each for each in self._places if each[0] != name}
            if name == 'nb':
                self._lost.clear()
                self._candidates = ()
            self.given = not self._missing
            if self.given:
                self._wake('confirmed')


def _lost(before: model.Snapshot | None, now: model.Snapshot,
          nb: Tables) -> tuple[bool, set[str]]:
    """The gateways and routers that a view lacks and the former view had.

    :returns: whether a gateway port or machine of this chassis is gone; UUIDs
        of routers that lost a port, network or address according to NB
    """
    gateways = bool(before and not _ports(before) <= _ports(now))
    routers: set[str] = set()
    present = {router.uuid: router for router in now.routers}
    for router in before.routers if before else ():
        new = present.get(router.uuid)
        ports = {p.lrp: p for p in new.ports} if new else {}
        for port in router.local_ports:
            there = ports.get(port.lrp)
            if there is None or not there.local:
                gateways = True
            if new is not None and (there is None or not (
                    set(port.networks) <= set(there.networks))):
                routers.add(router.uuid)
        if new is None and not questions.has_router(nb, router.uuid):
            routers.add(router.uuid)
    for uuid, had in before.addresses.items() if before else ():
        has = now.addresses.get(uuid, {})
        if had is has:
            continue
        if not _machines(had) <= _machines(has):
            gateways = True
        if uuid in present and not _claims(had) <= _claims(has):
            routers.add(uuid)
    return gateways, routers | (lost_tenants(before, now) if before else set())


def lost_tenants(before: model.Snapshot, now: model.Snapshot) -> set[str]:
    """UUIDs of the routers that are there and have lost a prefix."""
    present = {router.uuid for router in now.routers}
    return {uuid for uuid, had in before.tenants.items()
            if uuid in present and had is not now.tenants.get(uuid) and
            not _prefixes(had) <= _prefixes(now.tenants.get(uuid, {}))}


def _prefixes(known: Mapping[str, model.TenantPrefix]) -> set[str]:
    return {prefix for prefix, each in known.items() if each.announced}


def _ports(view: model.Snapshot) -> set[tuple[str, str]]:
    return {(each.port, each.address) for known in view.machines.values()
            for each in known.values()}


def _machines(addresses: _Addresses) -> set[str]:
    return {each.address for each in addresses.values() if each.resident}


def _claims(addresses: _Addresses) -> set[tuple[str, str]]:
    return {(each.address, kind) for each in addresses.values()
            for kind in each.kinds}
