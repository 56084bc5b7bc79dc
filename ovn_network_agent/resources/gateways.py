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
    # Names of chassisredirect ports that have to be on this chassis when the
    # priority is written; not part of the value.
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
