# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Networks of VNIs that routers need here, beside those of machines.  Pure."""

from collections.abc import Mapping

from ovn_network_agent import model
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn.subjects import provider_networks
from ovn_network_agent.ovn.subjects import segments

_Networks = Mapping[str, model.ProviderNetwork]


class VniNetworks:
    """Finds the networks of VNIs with gateway ports of this chassis."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 located: segments.Segments,
                 places: provider_networks.ProviderNetworks) -> None:
        self._rows = found
        self._inputs = known
        self._segments = located
        self._places = places
        # Of the last view, and their ports in VNIs.
        self._of: tuple[object, object] = (), ()
        self._ports: set[str] = set()
        #: these and those of machines; the same mapping while they are equal
        self.joined: _Networks = {}
        # What they were made of.
        self._parts: tuple[_Networks, _Networks] = {}, {}

    def update(self, of_machines: _Networks,
               routers: tuple[model.Router, ...],
               groups: tuple[model.GatewayGroup, ...]) -> None:
        """Look at routers here or to come: the devices come first."""
        if self._of[0] is not routers or self._of[1] is not groups:
            self._of = routers, groups
            ports = {port.lrp for router in routers
                     for port in router.used_ports if port.vni}
            ports.update(port.lrp for group in groups
                         for port in group.ports if port.vni)
            if ports != self._ports:
                self._ports = ports
                self._rows.outdate('VNI ports')
        parts = of_machines, self._rows.ask(self._found)
        if any(new is not old for new, old
               in zip(parts, self._parts, strict=True)):
            self.joined, self._parts = {**parts[1], **parts[0]}, parts

    def domain(self, lrp: str) -> int:
        """The VNI of the network of a gateway port, 0 for the underlay."""
        found, _uuid = self._places.vni(self._segments.datapath(lrp))
        return found.number if found else 0

    # -- a function of rows -----------------------------------------------

    def _found(self) -> dict[str, model.ProviderNetwork]:
        self._rows.note('VNI ports')
        found = {}
        for lrp in sorted(self._ports):
            datapath = self._rows.ask(self._segments.datapath, lrp)
            each = datapath and self._rows.ask(self._places.every, datapath)
            if each:
                found[each.network.uuid] = each.network
        return found
