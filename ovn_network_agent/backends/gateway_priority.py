# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Backend gateway_priority: priorities of gateway candidates, in OVN NB.

The backend changes the priorities in the gateway groups of this chassis, which
are rows of Gateway_Chassis and HA_Chassis.  Neutron owns the rows, so the
backend never creates or deletes one.

A stop lowers the priorities in all groups of this chassis in one transaction,
or in none.  The order in which chassis stop depends on this (decision record
0009).

A chassis raises its priority to a lead only where it is the owner.  The view
may be old, so the backend asks the Southbound server once more.  Two chassis
that both count as the owner would raise their priorities in turn, and move the
port to and fro.
"""

from ovn_network_agent import model
from ovn_network_agent import notices
from ovn_network_agent import resources
from ovn_network_agent.backends import asking
from ovn_network_agent.backends import base
from ovn_network_agent.backends import nb_writer
from ovn_network_agent.ovn import priorities
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import question


class GatewayPriorityBackend(nb_writer.Writer):
    """Priorities of this chassis in the groups of gateways."""

    name = 'gateway_priority'
    kinds = (resources.GatewayPriority,)
    doubted_by = (notices.PRIORITIES, notices.IDENTITY)
    revived_by = (notices.connected('nb'),)
    goes_by_rows = True

    def read(self, known):
        """Read the priorities of this chassis in all gateway groups.

        :param known: not needed, because each row names its chassis
        :returns: list of :class:`resources.GatewayPriority`
        :raises base.BackendError: when the replica of NB is not usable
        """
        try:
            with self._context.databases['nb'].rows() as nb:
                return list(priorities.gateway_priorities(
                    nb, self._context.chassis(), self._context.groups()))
        except connection.Unavailable as e:
            raise base.BackendError(str(e)) from e

    def __init__(self, conf):
        super().__init__(conf)
        # Keys of the groups that a stop lowers in the present changes.
        self._stopping = frozenset()

    def command(self, verb, resource):
        """The command that writes a priority.

        :param verb: not looked at: only 'set' occurs
        :param resource: :class:`resources.GatewayPriority`
        """
        # A priority is retained, so there is nothing to remove.
        return lambda api: priorities.SetPriority(
            api, resource, _group(resource.ref) in self._stopping)

    def together(self, ref):
        """The group of the candidate; one group for all that a stop lowers.

        :param ref: :class:`resources.Ref` of a
            :class:`resources.GatewayPriority`
        :returns: 'stop', or the (table, UUID) of the gateway group
        """
        # New priorities for only a part of a group could move its ports.
        group = _group(ref)
        return 'stop' if group in self._stopping else group

    def apply(self, delta):
        """Write priorities; those of an owner only after a question to SB.

        :param delta: :class:`base.Delta`; its deletions are not looked at
        :returns: dict of :class:`resources.Ref` to reason: refused priorities,
            and those that want a lead while the port is on another chassis
        :raises base.BackendError: when SB or NB does not answer
        """
        changes = tuple((r, r) for r in delta.create) + delta.update
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

    def _not_owned(self, wanted):
        """The priorities not to write, because the ports are elsewhere.

        :returns: dict of Ref to reason
        :raises BackendError: when SB does not answer
        """
        ports = sorted({port for r in wanted for port in r.owned})
        if not ports:
            return {}
        chassis, *bindings = asking.ask(self._context.databases['sb'], [
            question.select('Chassis',
                            ['name', '==', self._context.chassis()]),
            *(question.select('Port_Binding', ['logical_port', '==', port],
                              columns=('chassis',)) for port in ports)])
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


def _group(ref):
    """(table, UUID) of the group of a candidate."""
    table, group, _chassis = ref.key
    return table, group
