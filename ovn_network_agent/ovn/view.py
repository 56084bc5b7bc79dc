# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From databases and kernel to one Snapshot; asks no source without news."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import math
import time
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import normal_wait
from ovn_network_agent.conf import plugins
from ovn_network_agent.drivers import source
from ovn_network_agent.gateways import handover
from ovn_network_agent.ovn import confirmation
from ovn_network_agent.ovn import cross_check as checking
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import local_state
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovn import sources
from ovn_network_agent.ovn.chassis import absent_chassis
from ovn_network_agent.ovn.chassis import own_chassis
from ovn_network_agent.ovn.chassis import tunnels
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb.columns import Tables
from ovn_network_agent.ovsdb.columns import Uuid
from ovn_network_agent.watches import base as observing

LOG = logging.getLogger(__name__)


class NotReady(Exception):
    """There is no complete view (yet); the text names the reason."""


class Incomplete(NotReady, normal_wait.NotYet):
    """The server still has to send rows; the loop is woken for them."""


class View:
    """Reads the replicas and the kernel's devices, on the loop thread.

    A database's lock is held only while its changes are copied.

    :param wake: called for a confirmed loss, and a chassis gone for good
    :param look_at_ports: function(provider bridge, names of all its ports)
    :param made_of_rows: the sources of drivers; they also read ``tables``
    """

    def __init__(self, conf: Any,
                 databases: Mapping[str, connection.Database],
                 wake: Callable[..., object] = lambda reason, stale=(): None,
                 handovers: handover.Handovers | None = None,
                 observers: Iterable[observing.Observer] = (),
                 look_at_ports: Callable[[str, Collection[str]], object] = (
                     lambda bridge, names: None),
                 jitter: float | None = None, dead_after: float = tunnels.DEAD,
                 made_of_rows: Iterable[source.Source] = (),
                 tables: sources.Tables | None = None) -> None:
        self._conf = conf
        self._databases = databases
        self._wake = wake
        self._asks_machines = plugins.requested(conf, plugins.MACHINES)
        self._asks_links = plugins.requested(conf, plugins.LINKS)
        self._builder = snapshot.Builder(conf.gateway_port,
                                         inputs.choice(conf))
        self._sources = (sources.Sources(made_of_rows, tables or {})
                         if made_of_rows else None)
        self._local = local_state.LocalState(
            conf, databases, look_at_ports, wake)
        self._dirty: dict[queries.Place, set[Uuid]] = {}
        self._confirmation = confirmation.Confirmation(databases, wake)
        self._withdrawal = confirmation.MassWithdrawal(databases, wake)
        self._handovers = handovers or handover.Handovers(conf)
        self._absent = absent_chassis.AbsentChassis(conf, self._builder, wake,
                                                    jitter)
        self._tunnels = tunnels.Tunnels(databases['ovs'],
                                        dead_after=dead_after)
        # Was a view since the last complete one built from whole tables?  Has
        # SB sent the ports of machines here: now, ever?
        self._whole = self._has_machines = self._had_machines = False
        # The input beside the rows: of the last view from whole tables, of the
        # comparison's first batch (None: rows may have changed), and of the
        # last search.
        self._looked: object = None
        self._compared: object = None
        self._searched: object = None
        self._known: object = None
        self._groups: tuple[model.GatewayGroup, ...] = ()
        self._observers = observers
        self._abandoned = False
        self._registered = False  # since the start
        self._held = own_chassis.HeldPorts(time.monotonic)
        # Other chassis with this host name, doubled names in options.
        self._doubled: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
        self.last: model.Snapshot | None = None
        #: monotonic seconds at which the replicas were read for :attr:`last`
        self.viewed = -math.inf

    @property
    def marks(self) -> frozenset[ownership.Owner]:
        """:attr:`model.Node.marks`, none while unknown."""
        return self.last.node.marks if self.last else frozenset()

    @property
    def chassis(self) -> str:
        """Name of this chassis, '' while unknown."""
        return self.last.node.chassis if self.last else ''

    @property
    def groups(self) -> frozenset[tuple[str, str]] | None:
        """(table, UUID as text) of the gateway groups, None while unknown."""
        return None if self.last is None else frozenset(
            (group.table, group.key) for group in self.last.groups)

    @property
    def confirmed(self) -> bool:
        """Whether something may be removed because the view lacks it."""
        return not self._confirmation.missing and self._registered

    @property
    def cross_check(self) -> checking.CrossCheck:
        """The cross-check of the present view."""
        return self._builder.cross_check(self._withdrawal.confirmed)

    def have_confirmed(self, subjects: frozenset[str]) -> None:
        """See :meth:`confirmation.MassWithdrawal.ask`."""
        self._withdrawal.ask(self.chassis, subjects, self._has_machines)

    @property
    def dead(self) -> frozenset[ownership.Owner]:
        """The chassis that are gone for good."""
        return self._absent.absence.dead

    @property
    def silent(self) -> frozenset[ownership.Owner]:
        """The chassis that do not answer."""
        return self._absent.silence.silent

    def due_in(self) -> float | None:
        """Seconds until the view changes by time alone, or None."""
        late = self._late_for(self.last.node) if self.last else 0.0
        return min((due for due in (
            self._handovers.due_in(), self._tunnels.due_in(),
            self._absent.absence.due_in(), self._absent.silence.due_in(),
            late or None, self._held.due_in(),
            self._builder.due_in(time.monotonic()))
            if due is not None), default=None)

    def batches(self) -> list[queries.RowBatch]:
        """The batches of a comparison; none where a full view is as quick."""
        if self.last is None or self._looked is not None:
            return []
        found = queries.cut(self._builder.rows())
        return found if len(found) > 1 else []

    def snapshot(self, phase: model.Phase, full: bool = False,
                 batch: queries.RowBatch | None = None) -> model.Snapshot:
        """The present view.

        :param full: compute everything again, if anything has changed since;
            have SB confirm the ports of this chassis anyway
        :param batch: rows that count as changed; the last ends a full view
        :raises NotReady: a database is not loaded or is busy: withdraw nothing
        """
        ends = batch is not None and batch.last
        try:
            # The first view has many attempts, and all of them are full.
            self._read_local((full or ends) and self.last is not None)
            if phase is model.Phase.DRAINING and self.last is not None:
                self._tunnels.look({
                    c.addresses for group in self.last.groups
                    for c in group.peers(self.chassis) if c.addresses})
            with (self._databases['nb'].rows() as nb,
                  self._databases['sb'].rows() as sb):
                viewed = time.monotonic()
                # With both replicas held: a change marked but not yet visible
                # would be lost.
                unknown = self._note_changes('nb') | self._note_changes('sb')
                before = self.last
                if batch is not None and self._dirty and not unknown:
                    # What a server has reported needs no confirmation for the
                    # batch.
                    before = self._complete(
                        self._build(nb, sb, phase, unknown, False, None))
                now = self._build(nb, sb, phase, unknown, full, batch)
                if self.last is None and self._asks_links and (
                        self._local.lacks_routes(now.translated_here)):
                    # What a former run has left is in use.
                    self._local.read_links(now.translated_here, False)
                    now = self._build(nb, sb, phase, unknown, full, batch)
                self._have_machines()
                now = self._complete(now)
                if batch is not None:
                    # Without a report of a server, it has to be confirmed.
                    self._whole = self._whole or bool(
                        confirmation.loss(before, now, nb, self._sources))
                if (self._whole or full or ends or
                        self._confirmation.missing) and phase in (
                            model.Phase.RUNNING, model.Phase.DRAINING):
                    self._confirmation.consider(
                        nb, sb, now, confirmation.loss(
                            self.last, now, nb, self._sources)
                        if self._whole else None, self._has_machines)
                self._search(sb)
                self._log_doubled_names(now.node)
                self.last, self.viewed = now, viewed
                self._dirty, self._whole = {}, False
                if self._asks_links and self._local.lacks_routes(
                        now.translated_here):
                    self._wake('this node has got other egress addresses')
        except (connection.Unavailable, own_chassis.Unknown) as e:
            raise NotReady(str(e)) from e
        return now

    def _build(self, nb: Tables, sb: Tables, phase: model.Phase,
               unknown: bool, full: bool,
               batch: queries.RowBatch | None) -> model.Snapshot:
        """Bring the view up to date; the same input is not computed twice."""
        own = self._builder.own_chassis() if self.last else None
        if own is not None and (
                self._held.names or own not in sb['Chassis']):
            self._held.look(own, sb['Chassis'], self._builder.ports_here)
        wiring = self._local.wiring
        if self._held.names:
            wiring = wiring._replace(held=self._held.names)
        looked = (wiring, self._handovers.routers, phase,
                  self._databases['sb'].session, self._databases['nb'].session)
        before, self._looked = self._looked, None
        changed = unknown or self._dirty.keys() - absent_chassis.REPORTS
        settled = not changed and before == looked
        if batch is not None and batch.first:
            self._compared = looked
        elif changed or self._compared != looked:
            self._compared = None
        for place, uuids in batch.rows.items() if batch else ():
            self._dirty.setdefault(place, set()).update(uuids)
        if full or unknown:
            chosen = inputs.choice(self._conf)  # a reload asks for a full view
            full = unknown or not settled or chosen != self._builder.chosen
            self._builder.choose(chosen)
        now = self._builder.build(
            nb, sb, wiring, self._dirty, phase, full,
            self._handovers.routers, batch, self.chassis, time.monotonic())
        if self._sources is not None:
            now = self._sources.add(
                now, {'nb': nb, 'sb': sb}, self._dirty, self._builder.whole)
            self._whole = self._whole or self._sources.whole
        self._registered |= self._builder.own_chassis() is not None
        self._whole = self._whole or self._builder.whole
        compared = (batch is not None and batch.last and
                    self._compared is not None)
        if (settled and batch is None) or self._builder.whole or compared:
            self._looked = looked
        return now

    def _complete(self, now: model.Snapshot) -> model.Snapshot:
        """The view just built with the states of gateways, and addresses."""
        # Whether a relay answers is no part of its value.
        alive = [relay.alive for relay in now.node.relays]
        facts = self._facts(now.node)
        known = (now.node, alive, now.routers, now.groups, facts,
                 self._tunnels.silent, self._tunnels.dead)
        if self._whole or not self._handovers.settled or known != self._known:
            now = self._handovers.update(self._tunnels.judged(now, facts))
            self._known, self._groups = known, now.groups
        return self._builder.complete(
            dataclasses.replace(now, groups=self._groups))

    def _have_machines(self) -> None:
        """Have the server send those of a cloud's machines that matter here.

        :raises Incomplete: until the replica has them; while SB is away, the
            first distributed floating IP must not stop this node
        """
        self._has_machines = False
        # Without its row, no port is bound to this chassis.
        own, southbound = self._builder.own_chassis(), self._databases['sb']
        bound = self._asks_machines or self._builder.distributed
        inhabited = self._builder.inhabited
        if own is None or not (bound or inhabited):
            return
        complete = southbound.also('Port_Binding', [
            *(events.bound_to(own) if bound else ()), *events.at(inhabited)])
        self._has_machines = bound and complete
        self._had_machines = self._had_machines or complete
        if not complete and (
                southbound.connected or self._had_machines or
                self.last is None):
            raise Incomplete('the ports of the machines on this chassis, or '
                             'in networks of tenants, are still to come')

    def _facts(self, node: model.Node) -> set[model.Fact]:
        """The facts about all groups.

        A standby has to be fit for some time, so that its priority does not
        flap.  A node that stops changes each priority once, by the present
        alone.
        """
        stops = node.phase is model.Phase.DRAINING
        known = {model.Fact.UNFIT: any(o.unfit and not (stops and o.recovers)
                                       for o in self._observers),
                 model.Fact.ABANDONED: self._abandoned,
                 model.Fact.FIXED: not self._databases['nb'].connected,
                 model.Fact.LATE: self._late_for(node) > 0}
        return {fact for fact, true in known.items() if true}

    def _log_doubled_names(self, node: model.Node) -> None:
        """Log which names have become ambiguous, or unique again."""
        previous, self._doubled = self._doubled, (node.namesakes,
                                                  self._builder.doubled)
        namesakes, routers = self._doubled
        if namesakes and namesakes != previous[0]:
            LOG.warning(
                'OVN SB has the host name %s of this chassis %s for %s, too; '
                'Neutron cannot tell them apart; set a host name of its own '
                'on each node (external_ids:hostname of Open_vSwitch), or '
                'delete the row of a node that is gone', node.hostname,
                node.chassis, ', '.join(namesakes))
        elif namesakes != previous[0]:
            LOG.info('No other chassis in OVN SB has the host name %s any '
                     'more', node.hostname)
        if routers and routers != previous[1]:
            LOG.warning(
                'Several routers have the name %s, which an option of '
                '[announce] names; a tenant may have chosen it, so name the '
                'routers by their UUIDs', ', '.join(routers))

    def _late_for(self, node: model.Node) -> float:
        """Seconds for which chassis may not follow; 0 unless ports leave."""
        if not (node.drains or node.phase is model.Phase.DRAINING):
            return 0.0
        southbound = self._databases['sb']
        return own_chassis.late_for(
            southbound.connected, southbound.changed_at, time.monotonic())

    def abandon(self) -> None:
        """From now on, mark all groups as abandoned."""
        self._abandoned = True

    def restate(self, phase: model.Phase) -> model.Snapshot:
        """The last view in another phase; NotReady without any."""
        if self.last is None:
            raise NotReady('OVN was never seen')
        self.last = dataclasses.replace(
            self.last, node=self.last.node._replace(phase=phase))
        return self.last

    def _search(self, sb: Tables) -> None:
        """Search for absent chassis, unless the result would be the same."""
        session = self._databases['sb'].session
        options = self._conf.gateway_drain
        searched = (session, self._builder.chassis,
                    options.stale_chassis_grace_period,
                    options.silent_chassis_limit)
        if (searched != self._searched or self._absent.counts or
                self._whole or not self._dirty.keys().isdisjoint(
                    absent_chassis.TABLES)):
            self._absent.look(sb, session)
            self._searched = searched

    def _note_changes(self, name: str) -> bool:
        """Note the changed rows; whether any row may have changed."""
        dirty = self._databases[name].dirty
        anything = dirty.take_all()
        for table, uuids in dirty.take().items():
            self._dirty.setdefault((name, table), set()).update(uuids)
        return anything

    def _read_local(self, full: bool) -> None:
        """Read the local switch and the devices, if there are news."""
        dirty = self._databases['ovs'].dirty
        with self._databases['ovs'].rows() as ovs:
            unknown, changed = dirty.take_all(), dirty.take()
            if unknown or changed or not self._local.has_switch:
                self._local.read_switch(ovs)
        if (full or not self._local.has_devices or
                self._local.kernel.news.poll(0)):
            self._local.read_devices()
        if self._asks_links:
            self._local.read_links(
                self.last.translated_here if self.last else (), full)

    def close(self) -> None:
        """Close the socket of the kernel's news."""
        self._local.close()
