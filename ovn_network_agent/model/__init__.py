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

"""The frozen view that drivers see: one Node and its Routers.

Plain values without I/O.  Values can be compared, so the agent recognises an
unchanged router, which then costs nothing in a pass.

Drivers, also those of other projects, take all names from this package.
"""

from ovn_network_agent.model.gateways import MAINTENANCE
from ovn_network_agent.model.gateways import REDIRECT
from ovn_network_agent.model.gateways import SHUTDOWN
from ovn_network_agent.model.gateways import UNFIT
from ovn_network_agent.model.gateways import Candidate
from ovn_network_agent.model.gateways import Fact
from ovn_network_agent.model.gateways import GatewayGroup
from ovn_network_agent.model.gateways import GatewayState
from ovn_network_agent.model.gateways import GroupPort
from ovn_network_agent.model.gateways import Tenure
from ovn_network_agent.model.node import ALL
from ovn_network_agent.model.node import Device
from ovn_network_agent.model.node import Node
from ovn_network_agent.model.node import Phase
from ovn_network_agent.model.node import Relay
from ovn_network_agent.model.node import Segment
from ovn_network_agent.model.routers import BalancedAddress
from ovn_network_agent.model.routers import GatewayPort
from ovn_network_agent.model.routers import Handover
from ovn_network_agent.model.routers import Nat
from ovn_network_agent.model.routers import NbDefaultRoute
from ovn_network_agent.model.routers import Router
from ovn_network_agent.model.served import KINDS
from ovn_network_agent.model.served import ServedAddress
from ovn_network_agent.model.snapshot import Snapshot

__all__ = (
    'ALL',
    'BalancedAddress',
    'Candidate',
    'Device',
    'Fact',
    'GatewayGroup',
    'GatewayPort',
    'GatewayState',
    'GroupPort',
    'Handover',
    'KINDS',
    'MAINTENANCE',
    'Nat',
    'NbDefaultRoute',
    'Node',
    'Phase',
    'REDIRECT',
    'Relay',
    'Router',
    'SHUTDOWN',
    'Segment',
    'ServedAddress',
    'Snapshot',
    'Tenure',
    'UNFIT',
)
