# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""All targets, by name."""

from ovn_network_agent.tests.fuzz.targets import control
from ovn_network_agent.tests.fuzz.targets import files
from ovn_network_agent.tests.fuzz.targets import frr
from ovn_network_agent.tests.fuzz.targets import netlink
from ovn_network_agent.tests.fuzz.targets import openflow
from ovn_network_agent.tests.fuzz.targets import ovn
from ovn_network_agent.tests.fuzz.targets import privileged

TARGETS = {target.name: target for module in (
    netlink, openflow, frr, control, ovn, files, privileged)
    for target in module.TARGETS}
