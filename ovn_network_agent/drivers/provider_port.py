# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver provider_port: machines on provider networks through BGP.

For every address of a machine whose port is here and up: a host route to the
device of the segment, and what BGP announces.  For their networks: what lets
the kernel answer for the gateway of the subnet, and takes over the packets to
machines on other nodes.
"""

from collections.abc import Iterable
import functools
import typing

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import tenants as options
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import segments

_NETWORKS = 1024


class _Service(typing.NamedTuple):
    # No address outside of these is announced.
    nets: tuple[ip_text.Network, ...]
    # None while no packets can pass.
    segment: model.Segment | None
    of_device: tuple[resources.Ref, ...] = ()
    requires: tuple[resources.Ref, ...] = ()


class ProviderPortDriver(base.Driver):
    """Wants what makes machines on provider networks reachable."""

    CONFIG_OPTS = options.PORT_OPTS
    OTHER_OPTIONS = (*announcing.OPTIONS, *announcing.ROUTE_OPTIONS)
    SUBJECTS = (model.Node, model.ProviderNetwork, model.PortAddress)
    ASKS = (plugins.MACHINES, plugins.UNDERLAY)

    def __init__(self, name: str, settings: typing.Any) -> None:
        super().__init__(name, settings)
        # Thousands of addresses share a network.
        self._service = functools.lru_cache(_NETWORKS)(self._new_service)

    def events(self) -> tuple[base.Watch, ...]:
        """What the view has of ports for this driver alone."""
        return announcing.machine_watches()

    def resources(self, subject: (model.Node | model.ProviderNetwork |
                                  model.PortAddress),
                  node: model.Node) -> base.Wanted:
        """What makes machines reachable."""
        match subject:
            case model.Node():
                return segments.bridges_up(bridges.served(self.settings),
                                           self.settings.bridge_ip)
            case model.ProviderNetwork():
                # The driver evpn has the networks with a VNI.
                return () if subject.vni else self._network(subject, node)
        return () if subject.network.vni else self._address(subject, node)

    def _network(self, network: model.ProviderNetwork,
                 node: model.Node) -> base.Wanted:
        yield from announcing.device(self.settings, network, node)
        why = segments.objection(network.segment, self._bridges())
        if network.segment is None or why:
            if network.named:
                yield resources.Problem(
                    f'network {network.called}: machines on this chassis '
                    f'cannot be reached, because {why}; set '
                    'ovn-bridge-mappings, or take the network out of '
                    '[provider_port] networks', router=network.uuid)
            return
        yield from segments.mac_tweak(network.segment)
        nets = self._service(network).nets
        yield from announcing.prefix_list(self.settings, nets)
        six = [net for net in nets if net.version == 6]
        if six:
            yield from self._neighbour_proxies(network, network.segment, six)
            if self.settings.provider_port.router_advertisements and (
                    not network.advertised):
                yield resources.RouterAdvertisement(
                    network.segment.device, tuple(map(str, six)),
                    network.managed, network.other, requires=(
                        segments.link_local(network.segment).ref,))

    def _neighbour_proxies(self, network: model.ProviderNetwork,
                           segment: model.Segment,
                           six: Iterable[ip_text.Network]) -> base.Wanted:
        """The gateways of IPv6 subnets, and routers on other chassis.

        For IPv4, proxy ARP answers for each address that is elsewhere.
        """
        answered = [gateway for net in six for gateway
                    in announcing.ipv6_gateways(self.settings, net)
                    if gateway not in network.routers]
        answered += [address for address in network.elsewhere
                     if networks.inside(address, six)]
        return segments.neighbour_proxies(
            segment.device, answered, segments.prerequisites(segment))

    def _address(self, found: model.PortAddress,
                 node: model.Node) -> base.Wanted:
        """The route and the announcement of an address.

        The announcement stays as it is while the segment is in doubt, or the
        port is not up: a start of ovn-controller may say so for a moment, also
        at the target of a live migration, and a port that has lost its machine
        has no chassis.
        """
        service = self._service(found.network)
        if found.withheld:
            return
        if found.claimed:
            yield _problem(
                found, f'{found.address} of port {found.port} is not '
                f'announced, because {found.claimed} has it, too; give one '
                'of them another address')
            return
        if not networks.inside(found.address, service.nets):
            if not self.settings.network_cidr:
                yield _problem(
                    found, '{count} of the addresses of machines ({some}) '
                    'in no subnet that OVN has of the network, and not '
                    'announced; name all provider networks in [DEFAULT] '
                    'network_cidr')
            return
        kept = announcing.kept(self.settings, node, found.address)
        if service.segment is None or not (found.bound or found.announced):
            yield from kept
            return
        wanted = [each for each in announcing.reachable(
            self.settings, node, found.address, service.segment, found.tag,
            service.of_device, service.requires)
            if found.announced or each.stage < resources.Stage.ANNOUNCE]
        yield from wanted
        if not found.announced:
            refs = {each.ref for each in wanted}
            yield from (keep for keep in kept if keep.of not in refs)

    def _new_service(self, network: model.ProviderNetwork) -> _Service:
        nets = announcing.provider_networks(self.settings, network)
        if not segments.usable(network.segment, self._bridges()):
            return _Service(nets, None)
        of_device = segments.prerequisites(network.segment)
        return _Service(nets, network.segment, of_device, of_device + tuple(
            flow.ref for flow in segments.mac_tweak(network.segment)))

    def _bridges(self) -> tuple[str, ...]:
        return bridges.served(self.settings)


def _problem(found: model.PortAddress, text: str) -> resources.Problem:
    return resources.Problem(
        f'network {found.network.called}: {text}', router=found.network.uuid,
        addresses=(found.address,))
