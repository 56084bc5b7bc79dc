# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend peering: the rows of OVN NB by which two routers peer."""

from ovn_network_agent import resources
from ovn_network_agent.backends.northbound import locked_rows
from ovn_network_agent.common import notices
from ovn_network_agent.conf.options import network_peer
from ovn_network_agent.ovn.peering import peering_rows

LOCK = locked_rows.lock_name(network_peer.GROUP)


class PeeringBackend(locked_rows.Backend):
    """The rows of each peering, as one object."""

    name = 'peering'
    kinds = (resources.Peering,)
    doubted_by = (notices.PEERINGS,)
    driver = network_peer.GROUP
    rows = peering_rows.read
    commands = {'set': peering_rows.SetPeering,
                'remove': peering_rows.RemovePeering}
