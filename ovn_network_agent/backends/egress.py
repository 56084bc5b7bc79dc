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

"""Backend egress: the rows of OVN NB of egress addresses."""

from ovn_network_agent import notices
from ovn_network_agent import resources
from ovn_network_agent.backends import locked_rows
from ovn_network_agent.conf import egress_ip
from ovn_network_agent.ovn import egress_commands
from ovn_network_agent.ovn import egress_rows

LOCK = locked_rows.lock_name(egress_ip.GROUP)


class EgressBackend(locked_rows.Backend):
    """The rows of each egress address at a router, as one object."""

    name = 'egress'
    kinds = (resources.EgressRows,)
    doubted_by = (notices.EGRESS,)
    driver = egress_ip.GROUP
    rows = egress_rows.read
    commands = {'set': egress_commands.SetEgress,
                'remove': egress_commands.RemoveEgress}
