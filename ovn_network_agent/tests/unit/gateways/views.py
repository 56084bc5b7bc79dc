# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The view of a node with one router and two candidates for its gateway."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.gateways import group_facts

HERE, OTHER = cloud.CHASSIS, cloud.OTHER
DRIVERS = ['fip_route', 'gateway_drain']


def view(owner=HERE, own=0, known=True, handover=model.Handover.NONE,
         other=1, drained='', unfit=False, silent=False,
         dead=False):
    """A snapshot; see :class:`model.GatewayGroup` and its candidates.

    :param owner: name of the chassis that has the port
    :param own: priority of this chassis
    :param other: priority of the other chassis
    :param drained: mark of the other chassis
    """
    port = cloud.port(1, chassis=owner, local=owner == HERE, handover=handover)
    group = model.GatewayGroup(
        'Gateway_Chassis', 'key', 'lrp-1', (
            model.Candidate(HERE, own),
            model.Candidate(OTHER, other, known, drained=drained,
                            silent=silent or dead, dead=dead)),
        (model.GroupPort('cr-lrp-1', owner),),
        facts=group_facts.facts(UNFIT=unfit))
    return dataclasses.replace(
        cloud.snapshot(cloud.router(1, ports=(port,))), groups=(group,))
