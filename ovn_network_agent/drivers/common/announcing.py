# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How an address is made reachable and announced, whose ever it is.  Pure."""

from collections.abc import Iterable
from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.conf.options import fip_route
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import segments

DEFAULT_PREFIX = {4: '0.0.0.0/0', 6: '::/0'}
METHOD = 'fip_route.announce_method'
# The OTHER_OPTIONS of a driver that announces.
OPTIONS = (METHOD, 'veth_leak.veth_leak_table_id',
           'veth_leak.veth_leak_rule_priority', *veth_leak.ENDS)
# Further ones of a driver that makes addresses reachable, but for fip_route.
ROUTE_OPTIONS = ('fip_route.route_table_id', 'fip_route.route_rule_priority')

_EVERYTHING = frozenset(DEFAULT_PREFIX.values())

Place: typing.TypeAlias = (model.GatewayPort | model.GroupPort |
                            model.ProviderNetwork)


def provider_networks(settings: typing.Any,
                      port: Place) -> tuple[ip_text.Network, ...]:
    """The provider networks of a port, as :func:`networks.provider_networks`.

    Without IPv6 there, the agent makes nothing for IPv6 but flows.

    :param settings: or the ConfigOpts of oslo.config
    """
    # The networks of a VNI may be any.
    return networks.provider_networks(
        port.networks, () if port.vni else settings.network_cidr)


def machine_watches() -> tuple[base.Watch, ...]:
    """What the view has of ports for a driver that asks for MACHINES."""
    return (base.Watch('nb', 'Logical_Router_Port', ('ipv6_ra_configs',)),
            base.Watch('nb', 'DHCP_Options', ('cidr', 'options')),
            *(base.Watch(
                'sb', 'Port_Binding',
                ('type', 'mac', 'port_security', 'virtual_parent',
                 'additional_chassis', 'requested_chassis', 'options',
                 'external_ids'),
                conditions=(('type', '=', kind),), urgent=True)
              for kind in ('', 'virtual')))


def of_machines(settings: typing.Any, view: model.Snapshot
                ) -> Iterator[model.PortAddress]:
    """The addresses of machines announced here; settings may be ConfigOpts."""
    for uuid, known in view.machines.items():
        network = view.networks[uuid]
        nets = provider_networks(settings, network)
        if segments.usable(network.segment, bridges.served(settings)) and (
                not (network.vni and network.vni.problem)):
            for each in known.values():
                if (each.announced and not each.withheld and
                        not each.claimed and
                        networks.inside(each.address, nets)):
                    yield each


def ipv6_gateways(settings: typing.Any, net: ip_text.Network) -> list[str]:
    """The gateways of an IPv6 subnet; Neutron's default without one."""
    found = [gateway for gateway in settings.provider_port.ipv6_gateways
             if networks.inside(gateway, (net,))]
    return found or ([str(net[1])] if net.num_addresses > 2 else [])


def device(settings: typing.Any, place: Place, node: model.Node
           ) -> Iterator[resources.Resource]:
    """The device of a segment, or those that are kept in doubt."""
    served, bridge_ip = bridges.served(settings), settings.bridge_ip
    if not segments.located(place.segment, served):
        yield from segments.kept(node, served, bridge_ip)
        return
    yield from segments.device(place.segment, bridge_ip)
    if any(net.version == 6 for net in provider_networks(settings, place)):
        yield segments.link_local(place.segment)


def prefix_list(settings: typing.Any, nets: Iterable[ip_text.Network]
                ) -> Iterator[resources.PrefixListEntry]:
    """The entries that permit host routes of networks."""
    for network in nets:
        yield from permitted(settings, str(network), network.max_prefixlen)


def permitted(settings: typing.Any, subnet: str,
              length: int) -> Iterator[resources.PrefixListEntry]:
    """The entry that permits routes of a prefix length in a network."""
    name = settings.frr.frr_prefix_list
    if name:
        yield resources.PrefixListEntry(name, subnet, length, length)


def reachable(settings: typing.Any, node: model.Node, address: str,
              segment: model.Segment, tag: int | None,
              of_device: tuple[resources.Ref, ...],
              requires: tuple[resources.Ref, ...], announced: bool = True,
              via: str | None = None) -> Iterator[resources.Resource]:
    """The route of an address on a segment, and its announcement.

    :param address: or a prefix
    :param of_device: prerequisites of the route; requires: of the announcement
    :param announced: False when the last packets are only forwarded
    :param via: address on the segment; None for the address itself
    """
    dst = _prefix(address)
    # In default VRF mode the route that FRR redistributes (kernel) or installs
    # (static) is the one to the bridge; a second one beside it would win over
    # FRR's and stop the announcement.  The withdrawal takes that route, so the
    # last packets have one that FRR does not see.
    if (settings.frr.vrf_name or settings.fip_route.route_table_id or
            not announced):
        table, priority = fip_route.own_table(settings)
        route = resources.KernelRoute(
            table or resources.MAIN_TABLE, dst, segment.device, via,
            requires=of_device)
        yield route
        requires += (route.ref,)
        if table:
            yield resources.Rule(priority, table, dst=dst)
    found = announcement(settings, node, dst, segment.device, requires, tag,
                         via)
    if announced and found is not None:
        yield found


def kept(settings: typing.Any, node: model.Node,
         address: str) -> Iterator[resources.Keep]:
    """Keep the announcement of an address or prefix in doubt as it is."""
    vrf = node.device(settings.frr.vrf_name)
    own_table, priority = fip_route.own_table(settings)
    tables = {own_table, resources.MAIN_TABLE, vrf.vrf_table if vrf else 0}
    dst = _prefix(address)
    for table in sorted(tables - {0}):
        for kind in (resources.KernelRoute, resources.AnnouncedRoute):
            yield resources.Keep(resources.Ref(kind.kind, (table, dst)))
    if own_table:
        yield resources.Keep(
            resources.Rule(priority, own_table, dst=dst).ref)
    yield resources.Keep(resources.Ref(
        resources.Announcement.kind, (settings.frr.vrf_name, dst)))


def _prefix(address: str) -> str:
    return address if '/' in address else networks.host_prefix(address)


def announcement(settings: typing.Any, node: model.Node, prefix: str, dev: str,
                 requires: tuple[resources.Ref, ...] = (),
                 tag: int | None = None, via: str | None = None
                 ) -> resources.AnnouncedRoute | resources.Announcement | None:
    """The resource that announces a prefix, by the configured method.

    :param settings: with the options of :data:`OPTIONS`
    :param dev: device of the route if there is no VRF; likewise via
    :param tag: in FRR, which sees the metric of a kernel route in its place
    :returns: None as long as the VRF is missing
    """
    kernel = settings.fip_route.announce_method == 'kernel'
    name = settings.frr.vrf_name
    if not name:
        return (resources.AnnouncedRoute(resources.MAIN_TABLE, prefix, dev,
                                         via, tag, requires=requires)
                if kernel else resources.Announcement(
                    '', prefix, f'{via} {dev} onlink' if via else dev, tag,
                    requires=requires))
    version = networks.family(prefix)
    nexthop, _provider = veth_ends(settings, version)
    if not kernel:
        return resources.Announcement(
            name, prefix, nexthop if version == 4 else ownership.NEXT_HOP_6,
            tag, requires=requires)
    vrf = node.device(name)
    if vrf is None or not vrf.vrf_table:
        return None
    return resources.AnnouncedRoute(
        vrf.vrf_table, prefix, ownership.VETH_PROVIDER, nexthop, tag,
        requires=requires)


def no_way_out(settings: typing.Any, node: model.Node, consequence: str,
               versions: Iterable[int]) -> Iterator[resources.Problem]:
    """The problem of a VRF without a default route, at most one a family.

    :param consequence: the dropped packets, as the middle of a sentence
    """
    vrf = node.device(settings.frr.vrf_name)
    for version in sorted(versions):
        if vrf is not None and vrf.has_default(version) is False:
            yield resources.Problem(
                f'the way out of VRF {vrf.name}: it has no default route'
                f'{" of IPv6" if version == 6 else ""}, so {consequence}; '
                'have a default route come in by BGP, which needs a filter '
                'of the neighbour that lets it in, or set one in FRR')


def proved(router: model.Router, node: model.Node) -> bool:
    """Whether the default route that has the proof has one of this node."""
    found = sorted((networks.family(route.prefix),
                    route.advertised == node.hostname and
                    route.owner in node.marks)
                   for route in router.default_routes
                   if route.managed and route.prefix in _EVERYTHING)
    return bool(found) and found[0][1]


# -- the veth pair between the default VRF and FRR's --------------------------

VETH_PAIR = resources.Ref(resources.VethPair.kind, (ownership.VETH_DEFAULT,))

_VETH_LENGTH = {4: 30, 6: 64}


def veth_ends(settings: typing.Any, version: int) -> tuple[str, str]:
    """Addresses of veth-default and veth-provider, by conf.veth_leak.ENDS."""
    return {4: (settings.veth_leak.veth_nexthop,
                veth_leak.provider_ip(settings)),
            6: ownership.VETH_LINK_LOCAL}[version]


def veth_addresses(settings: typing.Any, version: int
                   ) -> Iterator[resources.Address | resources.Neighbour]:
    """The addresses of both ends, and a permanent neighbour at each end.

    For IPv4, only traffic from outside would keep ARP between the ends alive.
    """
    own = dict(zip(ownership.VETH_ENDS, veth_ends(settings, version),
                   strict=True))
    for dev, peer in (ownership.VETH_ENDS, ownership.VETH_ENDS[::-1]):
        yield resources.Address(dev, f'{own[dev]}/{_VETH_LENGTH[version]:d}',
                                requires=(VETH_PAIR,))
        yield resources.Neighbour(dev, own[peer], peer, requires=(VETH_PAIR,))


def without_vrf(settings: typing.Any, version: int) -> resources.Rule:
    """The rule that drops packets from the pair that the VRF does not take.

    When the VRF is gone, its end of the pair belongs to the default VRF.
    Answers of VIPs would leave by the default route of the main table, and
    packets of floating IPs would go round in the pair.
    """
    return resources.Rule(
        settings.veth_leak.veth_leak_rule_priority - 1, resources.BLACKHOLE,
        iif=ownership.VETH_PROVIDER, ipv6=version == 6 or None)


def veth_route(settings: typing.Any, version: int,
               table: int) -> resources.KernelRoute:
    """The default route of a table, through the pair into the VRF."""
    _nexthop, provider = veth_ends(settings, version)
    return resources.KernelRoute(
        table, DEFAULT_PREFIX[version], ownership.VETH_DEFAULT, provider,
        requires=(VETH_PAIR,))
