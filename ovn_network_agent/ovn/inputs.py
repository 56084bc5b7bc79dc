# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a view is built from beside rows."""

import dataclasses
import typing
from typing import Any

from ovn_network_agent.conf import plugins
from ovn_network_agent.model import selection
from ovn_network_agent.model.node import Wiring


class Machines(typing.NamedTuple):
    """Which machines on provider networks are announced."""

    # Names of networks and physical networks, empty for all.
    networks: frozenset[str] = frozenset()
    pairs: bool = False  # whether "allowed address pairs" count
    without_vni: bool = True  # whether networks without a VNI are announced
    # The VNIs of options by name of the network, None if VNIs do not count.
    vnis: frozenset[tuple[str, int]] | None = None


class Tenants(typing.NamedTuple):
    """Which networks of tenants are announced, see conf.tenant_network."""

    # Whether single addresses are announced, and not whole subnets.
    hosts: bool = False
    # UUIDs of address scopes, empty for all.
    scopes: frozenset[str] = frozenset()
    without_snat: bool = True
    ipv6: bool = False
    routes: bool = False
    # Whether virtual IPs are, too; and where a router translates.
    vips: bool = False
    vips_behind_snat: bool = False


class Choice(typing.NamedTuple):
    """What the options choose."""

    selected: selection.Selection = selection.Selection()
    machines: Machines | None = None  # None if no driver asks for machines
    tenants: Tenants | None = None  # likewise for networks of tenants
    # Whether virtual IPs without backends are withheld.
    checks_backends: bool = False
    # Hosts of the servers of OVN, addresses or names.
    servers: frozenset[str] = frozenset()


def choice(conf: Any) -> Choice:
    """The choice of the options."""
    machines = tenants = None
    if plugins.requested(conf, plugins.MACHINES):
        options = conf.provider_port
        machines = Machines(
            frozenset(options.networks), options.allowed_address_pairs,
            plugins.requested(conf, plugins.UNDERLAY), _vnis(conf))
    if plugins.requested(conf, plugins.TENANTS):
        options = conf.tenant_network
        tenants = Tenants(
            options.advertisement_method == 'host',
            frozenset(options.address_scopes),
            options.require_snat_disabled, options.expose_ipv6_gua,
            options.extra_routes, plugins.requested(conf, plugins.VIPS),
            conf.load_balancer.vips_behind_snat)
    return Choice(
        selection.read(conf.announce), machines, tenants,
        conf.load_balancer.withdraw_without_backends and
        plugins.requested(conf, plugins.BACKENDS_OF_VIPS), frozenset(
            remote.partition(':')[2].rpartition(':')[0].strip('[]')
            for remote in (*conf.ovn.ovn_nb_remote, *conf.ovn.ovn_sb_remote)))


def _vnis(conf: Any) -> frozenset[tuple[str, int]] | None:
    if not plugins.requested(conf, plugins.VNIS):
        return None
    return frozenset((name, int(number)) for name, _colon, number in (
        text.rpartition(':') for text in conf.evpn.vnis))


@dataclasses.dataclass(slots=True)
class Inputs:
    """Shared by a builder's parts; changes count once all is forgotten."""

    # Name of the only chassisredirect port to follow, '' for all.
    gateway_port: str = ''
    # With the name of this chassis.
    wiring: Wiring = dataclasses.field(default_factory=Wiring)
    chosen: Choice = Choice()
    # Whether SB and the replica have the table Advertised_Route.
    has_advertised: bool = False

    def follows(self, redirect_port: str) -> bool:
        """Whether this agent handles a chassisredirect port."""
        return self.gateway_port in ('', redirect_port)

    @property
    def leaves(self) -> bool:
        """Whether the routers that OVN routes are left to OVN."""
        return not (self.has_advertised and
                    self.chosen.selected.advertised_routes)
