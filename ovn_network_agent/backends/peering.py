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

"""Backend peering: the rows of OVN NB by which two routers peer."""

from ovn_network_agent import notices
from ovn_network_agent import resources
from ovn_network_agent.backends import locked_rows
from ovn_network_agent.conf import network_peer
from ovn_network_agent.ovn import peering_commands
from ovn_network_agent.ovn import peering_rows

LOCK = locked_rows.lock_name(network_peer.GROUP)


class PeeringBackend(locked_rows.Backend):
    """The rows of each peering, as one object."""

    name = 'peering'
    kinds = (resources.Peering,)
    doubted_by = (notices.PEERINGS,)
    driver = network_peer.GROUP
    rows = peering_rows.read
    commands = {'set': peering_commands.SetPeering,
                'remove': peering_commands.RemovePeering}
