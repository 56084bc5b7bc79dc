# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver veth_leak: a controlled way between the default VRF and FRR's.

BGP and the uplink live in the provider VRF, the provider bridge in the default
VRF.  A veth pair connects them: towards the floating IPs through FRR's routes,
and back through one policy rule for each provider network.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.conf import mode
from ovn_network_agent.conf.options import veth_leak as options
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import segments

# Source and target of packets, networks.
_Ends: typing.TypeAlias = tuple[str | None, str | None]


class VethLeakDriver(base.Driver):
    """Wants the veth pair, its addresses, its rules and routes."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = ('fip_route.standby_prepare', announcing.METHOD,
                     *mode.DECISIVE)
    SUBJECTS = (model.Node, model.Router, model.GatewayGroup,
                model.ProviderNetwork, model.TenantPrefix)

    @classmethod
    def runs_without_ovn(cls, settings: typing.Any) -> bool:
        """True with a VRF, which the pair connects."""
        return bool(settings.frr.vrf_name)

    def resources(self, subject: (
            model.Node | model.Router | model.GatewayGroup |
            model.ProviderNetwork | model.TenantPrefix),
            node: model.Node) -> base.Wanted:
        """The pair, the leaks of networks, and the way back of standbys."""
        match subject:
            case model.Node():
                return self._unless_off(self._node(node))
            case model.Router():
                return self._unless_off(self._router(subject, node))
            case model.ProviderNetwork():
                return () if subject.vni else self._unless_off(
                    self._network(subject, node))
            case model.TenantPrefix():
                return self._unless_off(self._tenant(subject, node))
        return self._group(subject, node)

    def _group(self, group: model.GatewayGroup,
               node: model.Node) -> base.Wanted:
        """The way back of a standby's networks; see fip_route.

        What comes out of OVN untranslated is dropped from the first packet on:
        OVN forwards here before the agent has heard of the move.

        Not the guard: the kernel's check of the way back to a source uses its
        rules, too, and would find nothing for an address before its route.
        """
        if not self.settings.fip_route.standby_prepare:
            return
        for port in group.ports:
            if port.chassis != node.chassis and not (port.routed_by_ovn or
                                                     port.vni):
                yield from self._unless_off(self._standby(port, node))

    def _unless_off(self, wanted: base.Wanted) -> base.Wanted:
        """The wanted resources; with the leak off, Keep in their place.

        Another program may then make one for the VRF, perhaps with the same
        names and numbers, and all traffic goes through it.
        """
        if not self.settings.frr.vrf_name:
            return
        if self.settings.veth_leak.veth_leak_enabled:
            yield from wanted
            return
        for resource in wanted:
            if not isinstance(resource, resources.Problem):
                yield resources.Keep(
                    resource.of if isinstance(resource, resources.Keep)
                    else resource.ref, foreign=True)

    def _node(self, node: model.Node) -> base.Wanted:
        yield resources.VethPair(*ownership.VETH_ENDS,
                                 self.settings.frr.vrf_name)
        yield from _sysctls()
        yield from self._way(4)
        # Without OVN, these networks are configured for port forwarding alone.
        nets = () if mode.forwards_only(self.settings) else tuple(map(
            ip_text.network, self.settings.network_cidr))
        yield from self._further_ways(nets)
        for network in nets:
            yield from self._leak(network, node)
            for bridge in bridges.served(self.settings):
                for ends in _ends(network):
                    yield self._stray(bridge, *ends)

    def _way(self, version: int) -> base.Wanted:
        yield from announcing.veth_addresses(self.settings, version)
        yield announcing.veth_route(
            self.settings, version, self.settings.veth_leak.veth_leak_table_id)
        # A packet out of the pair must never go back into it.  Its source may
        # be a provider address (a floating IP of another chassis), and the
        # leak rule would loop it until its TTL ends.
        yield resources.Rule(
            self.settings.veth_leak.veth_leak_rule_priority - 1,
            resources.MAIN_TABLE, iif=ownership.VETH_DEFAULT,
            ipv6=version == 6 or None)
        yield announcing.without_vrf(self.settings, version)

    def _further_ways(self, nets: Iterable[ip_text.Network]) -> base.Wanted:
        """The ways of the families that only some nodes have."""
        for version in {network.version for network in nets} - {4}:
            yield from self._way(version)

    def _router(self, router: model.Router, node: model.Node) -> base.Wanted:
        # A VNI has a VRF of its own.
        here = [port for port in (*router.local_ports, *router.hosting_ports)
                if not port.vni]
        if here:
            yield from announcing.no_way_out(
                self.settings, node, 'what floating IPs send, replies too, is '
                'dropped unless BGP knows its target', {
                    net.version for port in here
                    for net in announcing.provider_networks(
                        self.settings, port)})
        # A former owner still forwards for a moment.
        for port in router.used_ports:
            if port.vni:
                continue
            yield from self._place(port, map(str, sorted(router.tenants)),
                                   node)

    def _network(self, network: model.ProviderNetwork,
                 node: model.Node) -> base.Wanted:
        yield from announcing.no_way_out(
            self.settings, node, 'what machines on provider networks send, '
            'replies too, is dropped unless BGP knows its target',
            {net.version for net in announcing.provider_networks(
                self.settings, network)})
        yield from self._place(network, (), node)

    def _tenant(self, found: model.TenantPrefix,
                node: model.Node) -> base.Wanted:
        """The way back of a tenant's addresses, and their guard.

        The announcement is the way to them, as long as there is one.
        """
        if not found.announced or found.port.vni:
            return
        if found.port.handover is model.Handover.FORWARD:
            yield from self._last_way(found, node)
        wanted = [*self._ways_back(found.port, [found.subnet], node),
                  *self._guard(ip_text.network(found.subnet))]
        if found.claim is model.Claim.UNKNOWN:
            yield from (each if isinstance(each, resources.Keep) else
                        resources.Keep(each.ref) for each in wanted)
        else:
            yield from wanted

    def _last_way(self, found: model.TenantPrefix,
                  node: model.Node) -> base.Wanted:
        """The way to addresses that are announced here no longer.

        The fabric still sends packets.  BGP must not announce this way, so its
        routes are none that the prefix list permits: the halves of a subnet,
        or the subnet of single addresses.
        """
        network, vrf = (ip_text.network(found.subnet),
                        node.device(self.settings.frr.vrf_name))
        if vrf is None or not vrf.vrf_table:
            return
        whole = found.prefix != found.subnet
        for each in [network] if whole else network.subnets():
            if str(each) != found.prefix:
                yield resources.KernelRoute(
                    vrf.vrf_table, str(each), ownership.VETH_PROVIDER,
                    announcing.veth_ends(self.settings, network.version)[0])

    def _ways_back(self, port: model.GatewayPort | model.GroupPort,
                   subnets: Iterable[str], node: model.Node) -> base.Wanted:
        """The rules for what tenants send, before those that drop it.

        While the device is in doubt, the rules stay as they are.
        """
        served = bridges.served(self.settings)
        for subnet in subnets:
            network = ip_text.network(subnet)
            if segments.located(port.segment, served):
                yield self._way_back(network, port.segment.device)
                continue
            for dev in segments.in_doubt(node, served):
                yield resources.Keep(self._way_back(network, dev).ref)

    def _place(self, place: model.GatewayPort | model.ProviderNetwork,
               tenants: Iterable[str], node: model.Node) -> base.Wanted:
        if not self.settings.network_cidr:
            nets = announcing.provider_networks(self.settings, place)
            yield from self._further_ways(nets)
            for network in nets:
                yield from self._leak(network, node)
        yield from self._out_of_ovn(place, tenants, node)

    def _standby(self, port: model.GroupPort, node: model.Node) -> base.Wanted:
        if not self.settings.network_cidr:
            nets = announcing.provider_networks(self.settings, port)
            yield from self._further_ways(nets)
            yield from map(self._way_back, nets)
        yield from self._ways_back(port, (*port.routed, *port.balanced), node)
        yield from self._out_of_ovn(port, port.tenants, node)

    def _guard(self, network: ip_text.Network) -> base.Wanted:
        """Drop packets for addresses that are not on this node.

        While a gateway port moves, the fabric still sends to the former owner,
        and the default route of the main table would lead into the management
        network.  No answer: an ICMP error would end new connections.
        """
        first = self.settings.veth_leak.veth_leak_rule_priority - 3
        for priority, table, suppress in (
                (first, resources.MAIN_TABLE, 0),
                (first + 1, resources.BLACKHOLE, None)):
            yield resources.Rule(priority, table, dst=str(network),
                                 iif=ownership.VETH_DEFAULT,
                                 suppress=suppress)

    def _out_of_ovn(self, port: announcing.Place,
                    tenants: Iterable[str], node: model.Node) -> base.Wanted:
        """Rules for packets out of OVN that would take a wrong way.

        After a move, OVN here lacks the connections of the former owner, and
        passes some packets (ICMP replies) untranslated.  With the source of a
        tenant, the default route of the main table would match them; without a
        default route in the table of the leak, also those of the provider
        network, and those from anywhere to an address that OVN has just lost
        and sends back.

        Tenants' networks of IPv6 need no translation, and no row of the router
        names them, so the rule for IPv6 is about all sources.  While the
        device is in doubt, the rules stay as they are.
        """
        served = bridges.served(self.settings)
        segment = (port.segment if segments.located(port.segment, served)
                   else None)
        nets = announcing.provider_networks(self.settings, port)
        strays: list[_Ends] = [(tenant, None) for tenant in tenants]
        if any(network.version == 6 for network in nets):
            strays.append((None, None))
        # Configured networks have the rules of all bridges.
        if not (self.settings.network_cidr and segment and not segment.vlan):
            strays += [ends for net in nets if net.version == 4
                       for ends in _ends(net)]
        for ends in strays:
            if segment:
                yield self._stray(segment.device, *ends)
                continue
            for dev in segments.in_doubt(node, served):
                yield resources.Keep(self._stray(dev, *ends).ref)

    def _stray(self, dev: str, source: str | None,
               target: str | None) -> base.Resource:
        """The rule that drops packets out of a device; without ends, IPv6."""
        return resources.Rule(
            self.settings.veth_leak.veth_leak_rule_priority + 1,
            resources.BLACKHOLE, src=source, dst=target, iif=dev,
            ipv6=source is target is None or None)

    def _leak(self, network: ip_text.Network, node: model.Node) -> base.Wanted:
        yield from self._guard(network)
        yield self._way_back(network)
        vrf = node.device(self.settings.frr.vrf_name)
        if vrf is not None and vrf.vrf_table:
            yield resources.KernelRoute(
                vrf.vrf_table, str(network), ownership.VETH_PROVIDER,
                announcing.veth_ends(self.settings, network.version)[0])

    def _way_back(self, network: ip_text.Network,
                  dev: str | None = None) -> base.Resource:
        table = self.settings.veth_leak.veth_leak_table_id
        default = announcing.veth_route(self.settings, network.version, table)
        return resources.Rule(
            self.settings.veth_leak.veth_leak_rule_priority, table,
            src=str(network), iif=dev, requires=(default.ref,))


def _ends(network: ip_text.Network) -> Iterator[_Ends]:
    """The ends of packets of a provider network out of OVN.

    For IPv6, packets from elsewhere are dropped whatever their target.
    """
    yield str(network), None
    if network.version == 4:
        yield None, str(network)


def _sysctls() -> Iterator[resources.Sysctl]:
    def setting(dev: str, name: str) -> resources.Sysctl:
        return resources.Sysctl(f'net/ipv4/conf/{dev}/{name}', '1',
                                requires=(announcing.VETH_PAIR,))
    for dev in ownership.VETH_ENDS:
        yield setting(dev, 'forwarding')
        # A new address of the same network is secondary until the former one
        # goes, and must not go with it.
        yield setting(dev, 'promote_secondaries')
    # What arrives there has a source address of this host (the other end, or a
    # VIP), which is martian without this setting.
    yield setting(ownership.VETH_PROVIDER, 'accept_local')
