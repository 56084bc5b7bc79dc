# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The priorities of gateways in OVN, and the overlap of their owners."""

import dataclasses

from ovn_network_agent.resources import base


@dataclasses.dataclass(frozen=True, slots=True)
class GatewayPriority(base.Resource):
    """The priority of a candidate in a gateway group, in OVN NB."""

    # 'Gateway_Chassis' or 'HA_Chassis_Group'.
    table: str
    # UUID of the Logical_Router_Port or HA_Chassis_Group.
    group: str
    chassis: str
    # 0..32767.
    priority: int
    # The reason of an agent that has lowered the priority, as in
    # model.Candidate, else ''.
    drained: str = ''
    # The priority before that, 0 when not drained.
    earlier: int = 0
    # chassisredirect ports that have to be on this chassis at the write; not
    # part of the value.
    owned: tuple[str, ...] = dataclasses.field(
        default=(), compare=False, repr=False)
    # (chassis, priority) of the group at the decision; not part of the value.
    before: tuple[tuple[str, int], ...] = dataclasses.field(
        default=(), compare=False, repr=False)
    # Likewise the wanted priorities of the group.
    after: tuple[tuple[str, int], ...] = dataclasses.field(
        default=(), compare=False, repr=False)

    kind = 'gateway_priority'
    key_fields = ('table', 'group', 'chassis')
    stage = base.Stage.LEAD
    # The row is Neutron's.
    retained = True


@dataclasses.dataclass(frozen=True, slots=True)
class Overlap(base.Resource):
    """A moment in which this chassis and others have the same gateways."""

    # IP addresses of the tunnels of the others.
    addresses: tuple[str, ...]

    kind = 'overlap'
    key_fields = ()
    # Packets have to be relayed to the chassis that takes over.
    stage = base.Stage.LEAD
