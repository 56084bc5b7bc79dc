# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Backend gateway_priority: priorities of gateway candidates, in OVN NB.

It changes rows of Gateway_Chassis and HA_Chassis in the groups of this
chassis; Neutron owns the rows. A stop lowers the priorities in all groups in
one transaction, or in none: the order in which chassis stop depends on this
(decision record 0009).

A chassis raises its priority to a lead only where it is the owner. The view
may be old, so the backend asks the Southbound server once more: two chassis
that both count as the owner would move the port to and fro.
"""

from collections.abc import Collection
from collections.abc import Hashable
from typing import Any

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.common import notices
from ovn_network_agent.ovn.writes import priorities
from ovn_network_agent.ovsdb import query


class GatewayPriorityBackend(ovsdb_writer.NbWriter):
    """Priorities of this chassis in the groups of gateways."""

    name = 'gateway_priority'
    kinds = (resources.GatewayPriority,)
    doubted_by = (notices.PRIORITIES, notices.IDENTITY)
    revived_by = (notices.connected('nb'),)
    reads_only_rows = True

    def read(self, known: base.Known) -> list[resources.GatewayPriority]:
        """Read the priorities of this chassis in all gateway groups.

        :raises base.BackendError: when the replica of NB is not usable
        """
        with self.tables() as nb:
            return list(priorities.gateway_priorities(
                nb, self._context.chassis(), self._context.groups()))

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        # Keys of the groups that a stop lowers in the present changes.
        self._stopping = frozenset[Hashable]()

    def command(self, verb: str, resource: resources.GatewayPriority
                ) -> ovsdb_writer.Make:
        """The command that writes a priority; only 'set' occurs."""
        # A priority is retained, so there is nothing to remove.
        return lambda api: priorities.SetPriority(
            api, resource, _group(resource.ref) in self._stopping)

    def batch_key(self, ref: resources.Ref) -> Hashable:
        """The (table, UUID) of the group; 'stop' for all that a stop lowers.
        """
        # New priorities for only a part of a group could move its ports.
        group = _group(ref)
        return 'stop' if group in self._stopping else group

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write priorities; those of an owner only after a question to SB.

        :returns: refused priorities, and those that want a lead while the port
            is on another chassis
        :raises base.BackendError: when SB or NB does not answer
        """
        changes = [*((r, r) for r in resources.of_kind(
            resources.GatewayPriority, delta.create)), *resources.updates_of(
                resources.GatewayPriority, delta)]
        failures = self._not_owned({new for _old, new in changes
                                    if new.owned})
        rest = tuple(change for change in changes
                     if change[1].ref not in failures)
        self._stopping = frozenset(
            _group(new.ref) for _old, new in rest
            if new.drained == model.SHUTDOWN and
            new.chassis == self._context.chassis())
        if rest:
            failures.update(super().apply(base.Delta(update=rest)))
        return failures

    def _not_owned(self, wanted: Collection[resources.GatewayPriority]
                   ) -> base.Failures:
        """The priorities not to write, because the ports are elsewhere.

        :raises BackendError: when SB does not answer
        """
        ports = sorted({port for r in wanted for port in r.owned})
        if not ports:
            return {}
        chassis, *bindings = ovsdb_writer.ask(
            self._context.databases['sb'], [
                query.select('Chassis',
                             ['name', '==', self._context.chassis()]),
                *(query.select('Port_Binding',
                               ['logical_port', '==', port],
                               columns=('chassis',))
                  for port in ports)])
        own = [row['_uuid'] for row in chassis]
        here = {port for port, answer in zip(ports, bindings, strict=True)
                if any(row['chassis'] in own for row in answer)}
        found = {}
        for resource in wanted:
            elsewhere = [port for port in resource.owned
                         if port not in here]
            if elsewhere:
                found[resource.ref] = (
                    f'{elsewhere[0]} is no longer on this chassis')
        return found


def _group(ref: resources.Ref) -> tuple[Hashable, Hashable]:
    """(table, UUID) of the group of a candidate."""
    table, group, _chassis = ref.key
    return table, group
