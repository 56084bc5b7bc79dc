# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""All checks of a node, in the order in which a person repairs them."""

from ovn_network_agent.diagnosis.node import advice
from ovn_network_agent.diagnosis.node import agents
from ovn_network_agent.diagnosis.node import announced
from ovn_network_agent.diagnosis.node import configuration
from ovn_network_agent.diagnosis.node import devices
from ovn_network_agent.diagnosis.node import drops
from ovn_network_agent.diagnosis.node import egress
from ovn_network_agent.diagnosis.node import evpn
from ovn_network_agent.diagnosis.node import forwards
from ovn_network_agent.diagnosis.node import frr
from ovn_network_agent.diagnosis.node import gateways
from ovn_network_agent.diagnosis.node import machines
from ovn_network_agent.diagnosis.node import managers
from ovn_network_agent.diagnosis.node import mtu
from ovn_network_agent.diagnosis.node import neighbour_tables
from ovn_network_agent.diagnosis.node import next_hops
from ovn_network_agent.diagnosis.node import objects
from ovn_network_agent.diagnosis.node import outbound
from ovn_network_agent.diagnosis.node import ovn
from ovn_network_agent.diagnosis.node import peers
from ovn_network_agent.diagnosis.node import power
from ovn_network_agent.diagnosis.node import precedence
from ovn_network_agent.diagnosis.node import routing
from ovn_network_agent.diagnosis.node import versions

CHECKS = (*configuration.CHECKS, *agents.CHECKS, *versions.CHECKS,
          *devices.CHECKS, *routing.CHECKS, *managers.CHECKS, *frr.CHECKS,
          *next_hops.CHECKS, *advice.CHECKS,
          *ovn.CHECKS, *gateways.CHECKS, *machines.CHECKS, *peers.CHECKS,
          *egress.CHECKS, *announced.CHECKS, *power.CHECKS,
          *forwards.CHECKS, *outbound.CHECKS,
          *precedence.CHECKS, *drops.CHECKS, *mtu.CHECKS,
          *neighbour_tables.CHECKS, *evpn.CHECKS, *objects.CHECKS)
