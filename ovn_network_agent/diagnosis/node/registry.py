# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""All checks of a node, in the order in which a person repairs them."""

from ovn_network_agent.diagnosis.node import advice
from ovn_network_agent.diagnosis.node import announced
from ovn_network_agent.diagnosis.node import versions
from ovn_network_agent.diagnosis.node.agent import agents
from ovn_network_agent.diagnosis.node.agent import configuration
from ovn_network_agent.diagnosis.node.agent import forwards
from ovn_network_agent.diagnosis.node.agent import objects
from ovn_network_agent.diagnosis.node.frr import evpn
from ovn_network_agent.diagnosis.node.frr import frr
from ovn_network_agent.diagnosis.node.frr import next_hops
from ovn_network_agent.diagnosis.node.frr import outbound
from ovn_network_agent.diagnosis.node.kernel import devices
from ovn_network_agent.diagnosis.node.kernel import drops
from ovn_network_agent.diagnosis.node.kernel import managers
from ovn_network_agent.diagnosis.node.kernel import mtu
from ovn_network_agent.diagnosis.node.kernel import neighbour_tables
from ovn_network_agent.diagnosis.node.kernel import precedence
from ovn_network_agent.diagnosis.node.kernel import routing
from ovn_network_agent.diagnosis.node.ovn import egress
from ovn_network_agent.diagnosis.node.ovn import gateways
from ovn_network_agent.diagnosis.node.ovn import machines
from ovn_network_agent.diagnosis.node.ovn import ovn
from ovn_network_agent.diagnosis.node.ovn import peers
from ovn_network_agent.diagnosis.node.ovn import power

CHECKS = (*configuration.CHECKS, *agents.CHECKS, *versions.CHECKS,
          *devices.CHECKS, *routing.CHECKS, *managers.CHECKS, *frr.CHECKS,
          *next_hops.CHECKS, *advice.CHECKS,
          *ovn.CHECKS, *gateways.CHECKS, *machines.CHECKS, *peers.CHECKS,
          *egress.CHECKS, *announced.CHECKS, *power.CHECKS,
          *forwards.CHECKS, *outbound.CHECKS,
          *precedence.CHECKS, *drops.CHECKS, *mtu.CHECKS,
          *neighbour_tables.CHECKS, *evpn.CHECKS, *objects.CHECKS)
