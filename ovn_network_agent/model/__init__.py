# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The frozen view that drivers see: one Node and its Routers; no I/O.

Values compare, so an unchanged router costs nothing in a pass.  Drivers, also
of other projects, take all names from here.
"""

from ovn_network_agent.model.evpn_names import Vni as Vni
from ovn_network_agent.model.gateways import MAINTENANCE as MAINTENANCE
from ovn_network_agent.model.gateways import REDIRECT as REDIRECT
from ovn_network_agent.model.gateways import SHUTDOWN as SHUTDOWN
from ovn_network_agent.model.gateways import UNFIT as UNFIT
from ovn_network_agent.model.gateways import Candidate as Candidate
from ovn_network_agent.model.gateways import Fact as Fact
from ovn_network_agent.model.gateways import GatewayGroup as GatewayGroup
from ovn_network_agent.model.gateways import GatewayState as GatewayState
from ovn_network_agent.model.gateways import GroupPort as GroupPort
from ovn_network_agent.model.gateways import Tenure as Tenure
from ovn_network_agent.model.intents import EgressHost as EgressHost
from ovn_network_agent.model.intents import EgressIp as EgressIp
from ovn_network_agent.model.intents import EgressMachine as EgressMachine
from ovn_network_agent.model.intents import EgressMode as EgressMode
from ovn_network_agent.model.intents import EgressPlace as EgressPlace
from ovn_network_agent.model.intents import Peering as Peering
from ovn_network_agent.model.intents import PeerState as PeerState
from ovn_network_agent.model.intents import Side as Side
from ovn_network_agent.model.node import ALL as ALL
from ovn_network_agent.model.node import Device as Device
from ovn_network_agent.model.node import Link as Link
from ovn_network_agent.model.node import Node as Node
from ovn_network_agent.model.node import Phase as Phase
from ovn_network_agent.model.node import Relay as Relay
from ovn_network_agent.model.node import Segment as Segment
from ovn_network_agent.model.routers import BalancedAddress as BalancedAddress
from ovn_network_agent.model.routers import GatewayPort as GatewayPort
from ovn_network_agent.model.routers import Handover as Handover
from ovn_network_agent.model.routers import Nat as Nat
from ovn_network_agent.model.routers import NbDefaultRoute as NbDefaultRoute
from ovn_network_agent.model.routers import Router as Router
from ovn_network_agent.model.snapshot import KINDS as KINDS
from ovn_network_agent.model.snapshot import Claim as Claim
from ovn_network_agent.model.snapshot import PortAddress as PortAddress
from ovn_network_agent.model.snapshot import ProviderNetwork as ProviderNetwork
from ovn_network_agent.model.snapshot import ServedAddress as ServedAddress
from ovn_network_agent.model.snapshot import Snapshot as Snapshot
from ovn_network_agent.model.snapshot import TenantPrefix as TenantPrefix
