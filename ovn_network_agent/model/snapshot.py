# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One consistent view: the node, its routers and its gateway groups."""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import itertools

from ovn_network_agent.model import port_forwards
from ovn_network_agent.model.announced import PortAddress
from ovn_network_agent.model.announced import ProviderNetwork
from ovn_network_agent.model.announced import ServedAddress
from ovn_network_agent.model.announced import TenantPrefix
from ovn_network_agent.model.egress import EgressHost
from ovn_network_agent.model.gateways import GatewayGroup
from ovn_network_agent.model.node import Node
from ovn_network_agent.model.routers import Router


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent view of the node and its part of OVN."""

    node: Node
    routers: tuple[Router, ...] = ()
    # Those that this chassis is a candidate of, active or not.
    groups: tuple[GatewayGroup, ...] = ()
    # The malformed parts of the local database that are left out.
    problems: tuple[str, ...] = ()
    forwards: port_forwards.Forwards | None = None  # None without a rules file
    # By UUID of the router, and address; unchanged ones stay the same.
    addresses: Mapping[str, Mapping[str, ServedAddress]] = dataclasses.field(
        default_factory=dict)
    # By UUID of the switch; unchanged ones stay the same.
    networks: Mapping[str, ProviderNetwork] = dataclasses.field(
        default_factory=dict)
    machines: Mapping[str, Mapping[str, PortAddress]] = dataclasses.field(
        default_factory=dict)
    # By UUID of the router, and prefix; unchanged ones stay the same.
    tenants: Mapping[str, Mapping[str, TenantPrefix]] = dataclasses.field(
        default_factory=dict)
    # By kind and name, each alone in a dict.
    subjects: Mapping[type, Mapping[str, Mapping[str, object]]] = (
        dataclasses.field(default_factory=dict))
    # Whether a source has not made a subject since the start of the agent.
    unmade: bool = False

    @property
    def translated_here(self) -> tuple[EgressHost, ...]:
        """The machines that this node translates to egress addresses."""
        return tuple(
            host for alone in self.subjects.get(EgressHost, {}).values()
            for host in alone.values() if isinstance(host, EgressHost) and
            host.chassis == self.node.chassis)

    def every_address(self) -> Iterator[ServedAddress | PortAddress]:
        """The addresses of routers, and those of machines."""
        for known in itertools.chain[Mapping[
                str, ServedAddress] | Mapping[str, PortAddress]](
                    self.addresses.values(), self.machines.values()):
            yield from known.values()
