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


"""Backend gateway_priority: who is to host gateway ports, in OVN NB.

It owns the priority of the candidates of groups that this chassis is a
candidate of: rows of Gateway_Chassis and of HA_Chassis.  Never a row: they
are Neutron's, and nothing is created or deleted.

A stop lowers all groups of this chassis in one transaction, or none: the
order in which chassis stop rests on that (decision record 0009).

A chassis takes the lead only where it is the owner.  What the view says may
be old, so the Southbound server is asked once more: two chassis that both
think so would drive each other's numbers up, and the port to and fro.
"""

from ovn_network_agent import model
from ovn_network_agent import notices
from ovn_network_agent import resources
from ovn_network_agent.backends import asking
from ovn_network_agent.backends import base
from ovn_network_agent.backends import nb_writer
from ovn_network_agent.ovn import priorities
from ovn_network_agent.ovn import questions
from ovn_network_agent.ovsdb import connection


class GatewayPriorityBackend(nb_writer.Writer):
    """Priorities of this chassis in the groups of gateways."""

    name = 'gateway_priority'
    kinds = (resources.GatewayPriority,)
    doubted_by = (notices.PRIORITIES,)
    revived_by = (notices.connected('nb'),)

    def read(self, known):
        try:
            with self._context.databases['nb'].rows() as nb:
                return list(priorities.gateway_priorities(
                    nb, self._context.chassis()))
        except connection.Unavailable as e:
            raise base.BackendError(str(e)) from e

    def __init__(self, conf):
        super().__init__(conf)
        # Groups that a stop lowers, in the changes that are being made.
        self._stopping = frozenset()

    def command(self, verb, resource):
        # A priority is retained, so there is nothing to remove.
        return lambda api: priorities.SetPriority(
            api, resource, _group(resource.ref) in self._stopping)

    def together(self, ref):
        # A group that is numbered anew in part would move its ports.
        group = _group(ref)
        return 'stop' if group in self._stopping else group

    def apply(self, delta):
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
        """What is not to be written, as its ports are not here.

        :returns: dict of Ref to reason
        :raises BackendError: when SB does not say where they are
        """
        ports = sorted({port for r in wanted for port in r.owned})
        if not ports:
            return {}
        question = questions.Owners(ports)
        owners = question.owners(asking.ask(
            self._context.databases['sb'], question))
        chassis = self._context.chassis()
        found = {}
        for resource in wanted:
            elsewhere = [port for port in resource.owned
                         if owners.get(port) != chassis]
            if elsewhere:
                found[resource.ref] = (
                    f'{elsewhere[0]} is no longer on this chassis')
        return found


def _group(ref):
    """(table, UUID) of the group of a candidate."""
    table, group, _chassis = ref.key
    return table, group
