# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Drains: the commands of operators, their wishes, and the state of each.

The loop follows the wish in the local database.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
import datetime
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import wording
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import plugins
from ovn_network_agent.control import intents
from ovn_network_agent.control.reports import text
from ovn_network_agent.control.socket import commands
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovs import drain_writer
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.privileged import overlap
from ovn_network_agent.privileged.daemon import context

LOG = logging.getLogger(__name__)


def drain_scope(group: model.GatewayGroup, drains: Set[str]) -> str:
    """The wish that covers a group: 'all', 'router' (one of its) or ''."""
    if model.ALL in drains:
        return 'all'
    return '' if drains.isdisjoint(group.routers) else 'router'


def stays(group: model.GatewayGroup, chassis: str,
          name: Callable[[str], str] = str) -> str:
    """The reason why a drain does not move a group, '' when it does.

    It leaves no group without a ready candidate; a chassis with priority 0 and
    without a port has nothing to move.
    """
    own = group.candidate(chassis) or model.Candidate(chassis, 0)
    here = any(port.chassis == chassis for port in group.ports)
    if group.takers(chassis) or not (own.priority > 0 or here):
        return ''
    others = [c for c in group.candidates if c.chassis != chassis]
    if not others:
        return 'this chassis is its only candidate'
    reasons = ', '.join(f'{name(c.chassis)} {_why(c)}' for c in others)
    return f'none of its other candidates is ready ({reasons})'


def _why(candidate: model.Candidate) -> str:
    if not candidate.known:
        return 'has no chassis in OVN SB'
    if candidate.drained == model.UNFIT:
        return 'has priority 0, as its BGP could not announce anything'
    return 'has priority 0'


class StartTimes:
    """Notes the time of the first view with a drain, and with a handover.

    The database has none, so the earliest is that of the agent's start.
    """

    def __init__(self,
                 clock: Callable[[], datetime.datetime] = (
                     lambda: datetime.datetime.now(datetime.UTC))
                 ) -> None:
        self._clock = clock
        # Times like 2026-01-31T12:00:00Z, by a member of node.drains, and by
        # name of the Logical_Router_Port.  Replaced as a whole, for any
        # thread.
        self.drains: dict[str, str] = {}
        self.handovers: dict[str, str] = {}

    def note(self, snapshot: model.Snapshot) -> None:
        """Note a new view; on one thread only."""
        leaving = [port.lrp for router in snapshot.routers
                   for port in router.ports
                   if port.handover is not model.Handover.NONE]
        if not (snapshot.node.drains or leaving or self.drains or
                self.handovers):
            return
        now = self._clock().strftime('%Y-%m-%dT%H:%M:%SZ')
        self.drains = {drain: self.drains.get(drain, now)
                       for drain in snapshot.node.drains}
        self.handovers = {lrp: self.handovers.get(lrp, now)
                          for lrp in leaving}


def overlap_state(conf: cfg.ConfigOpts) -> str:
    """The overlap of drains: 'on', 'off', why none, or '' without drains.

    Asks ovn-controller, which takes some seconds at the most.
    """
    if (not plugins.requested(conf, plugins.RANKING) or
            mode.forwards_only(conf)):
        return ''
    if not conf.gateway_drain.overlap:
        return 'off'
    try:
        return overlap.readiness() or 'on'
    except context.FAILURES as error:
        return f'not known: {wording.error(error)}'


class Maintenance:
    """Carries out the commands drain and undrain of an operator."""

    def __init__(self, conf: cfg.ConfigOpts,
                 databases: Mapping[str, connection.Database],
                 snapshot: Callable[[], model.Snapshot | None],
                 names: Callable[[], directory.Directory]) -> None:
        self._conf = conf
        self._databases = databases
        self._snapshot = snapshot
        self._names = names

    def drain(self, routers: Sequence[str] = (), force: bool = False
              ) -> dict[str, Any]:
        """Write the wish that ports leave this node, for "drain --json".

        :param routers: for :meth:`directory.Router.is_called`; empty for all
        :param force: even if no other candidate is ready to take over
        :raises commands.Refused: when the wish is not written
        """
        self._may_write()
        snapshot, names = self._snapshot(), self._names()
        chassis = snapshot.node.chassis if snapshot else ''
        machines = self._machines(snapshot) if not routers else 0
        if not plugins.requested(self._conf, plugins.RANKING):
            raise commands.Refused(
                'without the driver gateway_drain a drain has no effect; ' + (
                    text.of_machines(machines) if machines else 'add the '
                    'driver to [DEFAULT] drivers and restart the agent'))
        wanted = frozenset(self._find(names, name, snapshot).uuid
                           for name in routers) or frozenset({model.ALL})
        doubts: list[str] = []

        def add(before: frozenset[str]) -> frozenset[str]:
            doubts[:] = self._doubts(snapshot, names, wanted, before)
            if doubts and not force:
                raise commands.Refused(
                    f'not drained: {"; ".join(doubts)}; to drain anyway, '
                    'repeat the command with --force')
            return before if model.ALL in before else (
                wanted if model.ALL in wanted else before | wanted)
        before, after = self._write(add)
        LOG.info('Drain of %s was asked for%s', ', '.join(sorted(wanted)),
                 ' (forced)' if force else '')
        return {
            'command': 'drain', 'wanted': sorted(wanted),
            'changed': before != after, 'drains': sorted(after),
            'names': _called(names, wanted | after),
            'stays': [{'group': group.name, 'reason': reason,
                       'routers': list(map(names.describe, group.routers))}
                      for group in _groups(snapshot, wanted)
                      if (reason := stays(
                          group, chassis, names.hostname))],
            'machines': machines,
            'peerings': len({each.pair for each in intents.of_view(
                snapshot, model.Peering)} - {''}),
            'forced': doubts}

    def undrain(self, routers: Sequence[str] = ()) -> dict[str, Any]:
        """Remove the wish, for "undrain --json".

        :param routers: as for :meth:`drain`; empty to remove all wishes
        :raises commands.Refused: when the wish is not removed
        """
        self._may_write()
        snapshot, names = self._snapshot(), self._names()
        # By the UUID alone: the router may be gone.
        wished = snapshot.node.drains if snapshot else ()
        wanted = frozenset(
            name if name in wished else self._find(names, name).uuid
            for name in routers)

        def remove(before: frozenset[str]) -> frozenset[str]:
            if wanted and model.ALL in before:
                raise commands.Refused(
                    'the whole node is drained, and no single router can be '
                    'taken out of that; use "undrain" without --router, then '
                    '"drain --router" for those that are to stay away')
            return before - wanted if wanted else frozenset()
        before, after = self._write(remove)
        LOG.info('Undrain of %s was asked for',
                 ', '.join(sorted(wanted)) or model.ALL)
        return {
            'command': 'undrain',
            'wanted': sorted(wanted) or [model.ALL],
            'changed': before != after, 'drains': sorted(after),
            'names': _called(names, wanted | after)}

    def _may_write(self) -> None:
        if mode.forwards_only(self._conf):
            raise commands.Refused(
                'this agent only forwards ports: there are no gateways here '
                'that could be drained; to withdraw its VIPs, stop the agent')
        if self._conf.dry_run:
            raise commands.Refused('this is a dry run, which writes nothing')

    def _machines(self, snapshot: model.Snapshot | None) -> int:
        return sum(1 for _each in announcing.of_machines(
            self._conf, snapshot)) if snapshot else 0

    def _write(self, how: Callable[[frozenset[str]], frozenset[str]]
               ) -> tuple[frozenset[str], frozenset[str]]:
        try:
            return drain_writer.change(self._databases['ovs'], how,
                                       self._conf.ovn.transaction_timeout)
        except command.NotWritten as e:
            raise commands.Refused(
                f'external_ids:{ownership.EXT_ID_DRAIN} of the local '
                f'Open_vSwitch row: {e}') from e

    # -- whom it is about -------------------------------------------------

    def _find(self, names: directory.Directory, name: str,
              snapshot: model.Snapshot | None = None) -> directory.Router:
        """The router of a name or UUID; in a snapshot, with a gateway port.

        :raises commands.Refused: when not exactly one router is meant
        """
        found = [router for router in names.routers.values()
                 if router.is_called(name)]
        if not found:
            problem = self._databases['nb'].problem
            because = f'; {problem}' if problem else ''
            raise commands.Refused(
                f'there is no router "{name}"; looked for it as the UUID or '
                'the name of a Logical_Router, and as the UUID or the name of '
                f'a router in Neutron{because}')
        if len(found) > 1:
            uuids = ', '.join(sorted(router.uuid for router in found))
            raise commands.Refused(
                f'"{name}" is the name of {len(found)} routers; give the '
                f'UUID of one router: {uuids}')
        if snapshot is not None and not _groups(
                snapshot, {found[0].uuid}):
            raise commands.Refused(
                f'{names.describe(found[0].uuid)} has no gateway port that '
                'this chassis is a candidate for; there is nothing to drain')
        return found[0]

    # -- what speaks against it -------------------------------------------

    def _doubts(self, snapshot: model.Snapshot | None,
                names: directory.Directory, wanted: frozenset[str],
                before: frozenset[str]) -> Iterator[str]:
        if snapshot is None:
            yield ('OVN has not been seen yet, so it is unknown which '
                   'candidates could take over')
            return
        for name in ('nb', 'sb'):
            if not self._databases[name].connected:
                yield (f'{self._databases[name].problem}, so it is unknown '
                       'which candidates could take over')
        chassis = snapshot.node.chassis
        for group in _groups(snapshot, wanted):
            if drain_scope(group, before):
                continue  # covered by the former wish
            reason = stays(group, chassis, names.hostname)
            alone = len(group.candidates) == 1
            if reason and not (alone and model.ALL in wanted):
                routers = ', '.join(map(names.describe, group.routers))
                yield f'{routers}: {reason} ({group.name})'


def _called(names: directory.Directory, uuids: Iterable[str]
            ) -> dict[str, str]:
    return {uuid: router.label or router.name for uuid in sorted(uuids)
            if (router := names.routers.get(uuid))}


def _groups(snapshot: model.Snapshot | None, wanted: Set[str]
            ) -> list[model.GatewayGroup]:
    return [group for group in (snapshot.groups if snapshot else ())
            if drain_scope(group, wanted)]
