# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Resources: the objects that should exist, as frozen values.

A resource is one object in one system. Its ``key`` is that of the object
there, and all other fields are its value: a changed value is an update, never
a deletion and a creation. It has only fields that the agent sets, so that the
object compares equal when a backend reads it back.

In a pass, creations run in ascending order of ``stage`` (announcements last),
deletions in descending order. Drivers and backends, also those of other
projects, take all names from this package, which has a module for each system.
"""

from ovn_network_agent.resources.base import Delta as Delta
from ovn_network_agent.resources.base import Keep as Keep
from ovn_network_agent.resources.base import Problem as Problem
from ovn_network_agent.resources.base import Ref as Ref
from ovn_network_agent.resources.base import Resource as Resource
from ovn_network_agent.resources.base import Stage as Stage
from ovn_network_agent.resources.base import of_kind as of_kind
from ovn_network_agent.resources.base import updates_of as updates_of
from ovn_network_agent.resources.egress import EgressAddress as EgressAddress
from ovn_network_agent.resources.egress import EgressDrop as EgressDrop
from ovn_network_agent.resources.egress import EgressHeld as EgressHeld
from ovn_network_agent.resources.egress import EgressMachine as EgressMachine
from ovn_network_agent.resources.egress import EgressNetworks as EgressNetworks
from ovn_network_agent.resources.egress import EgressRoute as EgressRoute
from ovn_network_agent.resources.egress import EgressSource as EgressSource
from ovn_network_agent.resources.egress import EgressTable as EgressTable
from ovn_network_agent.resources.evpn import EvpnInstance as EvpnInstance
from ovn_network_agent.resources.evpn import VniDevices as VniDevices
from ovn_network_agent.resources.evpn import VniPort as VniPort
from ovn_network_agent.resources.evpn import VniRoute as VniRoute
from ovn_network_agent.resources.evpn import VniRule as VniRule
from ovn_network_agent.resources.frr import Announcement as Announcement
from ovn_network_agent.resources.frr import PrefixListEntry as PrefixListEntry
from ovn_network_agent.resources.frr import (
    RouterAdvertisement as RouterAdvertisement,
)
from ovn_network_agent.resources.kernel import BLACKHOLE as BLACKHOLE
from ovn_network_agent.resources.kernel import MAIN_TABLE as MAIN_TABLE
from ovn_network_agent.resources.kernel import SEVERAL as SEVERAL
from ovn_network_agent.resources.kernel import Address as Address
from ovn_network_agent.resources.kernel import AnnouncedRoute as AnnouncedRoute
from ovn_network_agent.resources.kernel import KernelRoute as KernelRoute
from ovn_network_agent.resources.kernel import LinkUp as LinkUp
from ovn_network_agent.resources.kernel import Neighbour as Neighbour
from ovn_network_agent.resources.kernel import NeighbourProxy as NeighbourProxy
from ovn_network_agent.resources.kernel import NftElement as NftElement
from ovn_network_agent.resources.kernel import NftTable as NftTable
from ovn_network_agent.resources.kernel import Rule as Rule
from ovn_network_agent.resources.kernel import Sysctl as Sysctl
from ovn_network_agent.resources.kernel import VethPair as VethPair
from ovn_network_agent.resources.kernel import VipAddress as VipAddress
from ovn_network_agent.resources.kernel import VlanDevice as VlanDevice
from ovn_network_agent.resources.northbound import (
    EGRESS_COLUMNS as EGRESS_COLUMNS,
)
from ovn_network_agent.resources.northbound import (
    PEERING_COLUMNS as PEERING_COLUMNS,
)
from ovn_network_agent.resources.northbound import Advertised as Advertised
from ovn_network_agent.resources.northbound import BfdTimers as BfdTimers
from ovn_network_agent.resources.northbound import DefaultRoute as DefaultRoute
from ovn_network_agent.resources.northbound import EgressNat as EgressNat
from ovn_network_agent.resources.northbound import EgressPolicy as EgressPolicy
from ovn_network_agent.resources.northbound import EgressRows as EgressRows
from ovn_network_agent.resources.northbound import (
    GatewayPriority as GatewayPriority,
)
from ovn_network_agent.resources.northbound import MacBinding as MacBinding
from ovn_network_agent.resources.northbound import OnLinkRoute as OnLinkRoute
from ovn_network_agent.resources.northbound import Peering as Peering
from ovn_network_agent.resources.northbound import PeerPolicy as PeerPolicy
from ovn_network_agent.resources.northbound import PeerSide as PeerSide
from ovn_network_agent.resources.northbound import StaleRoute as StaleRoute
from ovn_network_agent.resources.switch import LOCAL as LOCAL
from ovn_network_agent.resources.switch import Flow as Flow
from ovn_network_agent.resources.switch import Overlap as Overlap
from ovn_network_agent.resources.switch import RelayPort as RelayPort
