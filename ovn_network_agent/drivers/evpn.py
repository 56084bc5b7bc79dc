# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver evpn: provider networks with a VNI in VRFs of their own.

Each node with a machine of the network, or that may have a gateway port of it,
has the VRF.  FRR announces the routes in its table as type 5 routes of EVPN
(RFC 9136), so two tenants may have the same addresses.
"""

from collections.abc import Iterator

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import evpn as options
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers import tenant_network
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import segments
from ovn_network_agent.model import evpn_names
from ovn_network_agent.resources import evpn

# A route distinguisher with an IPv4 address has two bytes for it (RFC 4364,
# 4.2).
_LARGEST = (1 << 16) - 1


class EvpnDriver(base.Driver):
    """Wants the VRFs of VNIs, and the routes in these."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = ('provider_port.ipv6_gateways',
                     'provider_port.router_advertisements', 'frr.vrf_name')
    SUBJECTS = (model.ProviderNetwork, model.PortAddress, model.Router,
                model.ServedAddress, model.TenantPrefix)
    ASKS = (plugins.MACHINES, plugins.VNIS)

    def events(self) -> tuple[base.Watch, ...]:
        """Ports of machines, and the DHCP of their subnets."""
        return announcing.machine_watches()

    def resources(self, subject: (
            model.ProviderNetwork | model.PortAddress | model.Router |
            model.ServedAddress | model.TenantPrefix),
            node: model.Node) -> base.Wanted:
        """What brings a network, an address or a prefix into its VRF."""
        match subject:
            case model.ProviderNetwork(vni=model.Vni() as vni):
                return self._network(subject, vni, node)
            case model.PortAddress(network=model.ProviderNetwork(
                    vni=model.Vni(problem='') as vni)):
                return self._machine(subject, vni, node)
            case model.Router():
                return self._router(subject)
            case model.ServedAddress(port=model.GatewayPort(
                    vni=model.Vni(problem='') as vni)):
                return self._served(subject, vni, node)
            case model.TenantPrefix(port=model.GatewayPort(
                    vni=model.Vni(problem='') as vni)):
                return self._prefix(subject, vni, node)
        return ()

    # -- a network --------------------------------------------------------

    def _network(self, network: model.ProviderNetwork, vni: model.Vni,
                 node: model.Node) -> base.Wanted:
        segment = network.segment
        why = vni.problem or self._no_tunnel(node) or segments.objection(
            segment, bridges.served(self.settings))
        port = self._port(network.uuid, segment, vni, node)
        if segment is None or why:
            yield resources.Problem(
                f'network {network.called}: nothing on this chassis is in '
                f'EVPN, because {why}', router=network.uuid)
            if not vni.problem:
                yield from self._kept(network, vni, node)
                if segment is not None and segments.usable(
                        segment, bridges.served(self.settings)):
                    yield from segments.mac_tweak(segment, port.mac)
            return
        yield from self._of_vni(vni, node)
        yield port
        yield from self._device(network, port)
        yield from segments.mac_tweak(segment, port.mac)

    def _of_vni(self, vni: model.Vni, node: model.Node
                ) -> Iterator[base.Resource]:
        chosen, number = self.settings.evpn, vni.number
        local = self._local(node)
        vrf, bridge = evpn_names.vrf(number), evpn_names.bridge(number)
        rules = (*_guard(vrf), *_guard(bridge))
        devices = resources.VniDevices(
            number, self._table(vni), evpn_names.router_mac(node.chassis),
            local, chosen.udp_dstport, chosen.underlay_mtu -
            evpn_names.OVERHEAD, self.settings.frr.vrf_name,
            requires=tuple(rule.ref for rule in rules))
        yield from rules
        yield devices
        yield resources.Sysctl(f'net/ipv4/conf/{bridge}/forwarding', '1',
                               requires=(devices.ref,))
        # zebra of the other nodes forgets the router MAC of this node with the
        # last prefix of a family, and with the MAC the other family dies (FRR
        # issue 16340).  So each node announces one prefix of each, always.
        for anchor in evpn_names.anchors(local):
            yield resources.KernelRoute(self._table(vni), anchor, vrf,
                                        requires=(devices.ref,))
        if chosen.manage_frr:
            rd = vni.rd or (f'{local}:{number}'
                            if number <= _LARGEST else '')
            yield resources.EvpnInstance(
                number, chosen.bgp_as, local, rd, vni.imports, vni.exports)

    def _device(self, network: model.ProviderNetwork,
                port: evpn.VniPort) -> Iterator[base.Resource]:
        dev, requires = port.name, (port.ref,)
        yield from _guard(dev)
        # The kernel's ICMP errors have the first address of the device.
        yield from segments.attachment(
            dev, '' if network.gateways else self.settings.bridge_ip,
            requires)
        for gateway in network.gateways:
            yield resources.Address(dev, f'{gateway}/32', requires=requires)
        six = [net for net in self._nets(network) if net.version == 6]
        if six:
            link_local = resources.Address(
                dev, f'{ownership.SEGMENT_LINK_LOCAL}/64', requires=requires)
            yield link_local
            yield from segments.neighbour_proxies(
                dev, [*(gateway for net in six for gateway
                        in announcing.ipv6_gateways(self.settings, net)),
                      *network.elsewhere],
                requires)
            if self.settings.provider_port.router_advertisements:
                yield resources.RouterAdvertisement(
                    dev, tuple(map(str, six)), network.managed, network.other,
                    requires=(link_local.ref,))

    def _kept(self, network: model.ProviderNetwork, vni: model.Vni,
              node: model.Node) -> Iterator[base.Resource]:
        """What stays as it is while no packets can pass the segment."""
        port = self._port(network.uuid, network.segment, vni, node)
        for each in (*self._of_vni(vni, node), port,
                     *self._device(network, port)):
            yield resources.Keep(each.ref)

    # -- machines ---------------------------------------------------------

    def _machine(self, found: model.PortAddress, vni: model.Vni,
                 node: model.Node) -> base.Wanted:
        """The neighbour and the route, as found if the machine is in doubt."""
        network = found.network
        if found.withheld:
            return
        why = self._objection(found, network, node)
        if why:
            yield resources.Problem(
                f'network {network.called}: {found.address} of port '
                f'{found.port} is not announced, because {why}',
                router=network.uuid, addresses=(found.address,))
            return
        yield from self._reachable(
            self._port(network.uuid, network.segment, vni, node),
            networks.host_prefix(found.address), found.address, found.mac,
            found.announced and self._passes(network.segment, node))

    def _objection(self, found: model.PortAddress,
                   network: model.ProviderNetwork, node: model.Node) -> str:
        if found.claimed:
            return (f'{found.claimed} has it, too; give one of them another '
                    'address')
        return self._anchored(networks.host_prefix(found.address), node) or (
            '' if networks.inside(found.address, self._nets(network)) else
            'it is in no subnet that OVN has of the network')

    # -- routers ----------------------------------------------------------

    def _router(self, router: model.Router) -> base.Wanted:
        for why in sorted({port.vni.problem for port in router.used_ports
                           if port.vni and port.vni.problem}):
            yield resources.Problem(
                f'router {router.called}: none of its addresses is announced, '
                f'because {why}', router=router.uuid)

    def _served(self, served: model.ServedAddress, vni: model.Vni,
                node: model.Node) -> base.Wanted:
        """An address of a router.

        A port that has left has no route, so the VRF forwards what still comes
        by the route of the next owner.
        """
        port = served.port
        if not (served.answered and (port.local or served.resident)):
            return
        in_network = networks.inside(served.address, self._nets(port))
        why = self._anchored(networks.host_prefix(served.address), node) or (
            served.unanswered if in_network else '')
        # A virtual IP may be one of a tenant's.
        if not in_network and served.kinds != ('vip',):
            why = why or ('it is in no network of the gateway port '
                          f'{port.lrp}')
        if why:
            yield resources.Problem(
                f'router {served.called}: {served.address} is not announced '
                f'in VNI {vni.number:d}, because {why}', router=served.router,
                addresses=(served.address,))
        elif in_network and not served.withheld:
            yield from self._reachable(
                self._port(port.network, port.segment, vni, node),
                networks.host_prefix(served.address), served.address,
                served.mac, self._passes(port.segment, node))

    def _prefix(self, found: model.TenantPrefix, vni: model.Vni,
                node: model.Node) -> base.Wanted:
        port = found.port
        if found.withheld or not port.local:
            return
        anchored = self._anchored(found.prefix, node)
        fault = tenant_network.fault(found)
        wrong = '; '.join(fault) if fault else anchored and (
            f'is not announced, because {anchored}')
        if wrong:
            yield resources.Problem(
                f'router {found.called}: {found.prefix} of network '
                f'{found.network} in VNI {vni.number:d} {wrong}',
                router=found.router)
        if found.announced and not anchored:
            yield from self._reachable(
                self._port(port.network, port.segment, vni, node),
                found.prefix, found.via, port.mac,
                found.claim is not model.Claim.UNKNOWN and
                self._passes(port.segment, node), through=True)

    # -- what all have ----------------------------------------------------

    def _reachable(self, port: evpn.VniPort, dst: str, address: str,
                   mac: str, known: bool, through: bool = False
                   ) -> Iterator[base.Resource]:
        """The neighbour with an address, and the route, which FRR announces.

        :param known: False for what stays as it was found
        :param through: whether the route leads through that address
        """
        neighbour = resources.Neighbour(port.name, address, '', mac,
                                        requires=(port.ref,))
        instance = resources.Ref(resources.EvpnInstance.kind, (port.vni,))
        route = resources.VniRoute(
            evpn_names.table(self.settings.evpn.table_base, port.vni), dst,
            port.name, address if through else None, vni=port.vni, requires=(
                port.ref, neighbour.ref, *(
                    (instance,) if self.settings.evpn.manage_frr else ())))
        for each in (neighbour, route):
            yield each if known else resources.Keep(each.ref)

    def _passes(self, segment: model.Segment | None,
                node: model.Node) -> bool:
        return bool(self._local(node)) and segments.usable(
            segment, bridges.served(self.settings))

    def _anchored(self, prefix: str, node: model.Node) -> str:
        """Why a prefix that each node has cannot be announced, or ''."""
        return ('this node announces it as its own in each VNI; use another '
                'one') if prefix in evpn_names.anchors(
                    self._local(node)) else ''

    # -- the tunnels ------------------------------------------------------

    def _local(self, node: model.Node) -> str:
        return self.settings.evpn.local_ip or node.tunnel

    def _no_tunnel(self, node: model.Node) -> str:
        return '' if self._local(node) else (
            f'{self.settings.evpn.local_device} of [evpn] local_device has no '
            'IPv4 address; give it the one that the fabric has a route to')

    # -- names ------------------------------------------------------------

    def _port(self, network: str, segment: model.Segment | None,
              vni: model.Vni, node: model.Node) -> evpn.VniPort:
        # One that no device can have is an objection.
        tag = (segment.vlan if segment and segment.vlan in bridges.VLAN_TAGS
               else 0)
        name = evpn_names.vrf_end(network)
        return resources.VniPort(
            name, vni.number,
            evpn_names.anycast_mac(vni.number, tag)
            if self.settings.evpn.anycast_mac
            else evpn_names.own_mac(node.chassis),
            segment.bridge if segment else '', tag, requires=(
                resources.Ref(resources.VniDevices.kind, (vni.number,)),
                *(rule.ref for rule in _guard(name))))

    def _table(self, vni: model.Vni) -> int:
        return evpn_names.table(self.settings.evpn.table_base, vni.number)

    def _nets(self, place: announcing.Place) -> tuple[ip_text.Network, ...]:
        return announcing.provider_networks(self.settings, place)


def _guard(dev: str) -> Iterator[resources.Rule]:
    """Rules behind that of the VRF, in both families.

    The kernel sees the packets of IPv4 come from the device, and those of IPv6
    from the VRF (6.12); with both, its version makes no difference.  The
    device requires them, and the engine has them stay until all devices have
    gone.
    """
    for ipv6 in (None, True):
        yield resources.VniRule(ownership.EVPN_RULE_PRIORITY,
                                resources.BLACKHOLE, iif=dev, ipv6=ipv6)
