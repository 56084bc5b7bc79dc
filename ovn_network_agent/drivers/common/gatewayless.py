# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The default routes of a gatewayless router, and their next hops.  Pure.

One route for each family, to the virtual gateway (:func:`_virtual_gateway`),
which is bound to the MAC of the bridge's device or a constant one
(:func:`_binding`).
"""

from collections.abc import Iterable
from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import segments


def rows(settings: typing.Any, router: model.Router,
         node: model.Node) -> Iterator[resources.Resource]:
    """The rows that a local router needs in OVN.

    A default route without the agent's mark means a real gateway: no row then
    for this family.
    """
    # The networks of network_cidr may be of IPv6 alone.
    for version in sorted({
            4, *(net.version for port in _ports(router)
                 for net in announcing.provider_networks(settings, port))}):
        # Two routes may need the same binding.
        yield from dict.fromkeys(_of_family(settings, router, node, version))


def _ports(router: model.Router) -> list[model.GatewayPort]:
    """The ports that are here, but for those that nobody announces.

    Without the flows of its VNI, what a port sends would be in the underlay.
    """
    return [port for port in router.local_ports if port.announced]


def _of_family(settings: typing.Any, router: model.Router, node: model.Node,
               version: int) -> Iterator[resources.Resource]:
    prefix = announcing.DEFAULT_PREFIX[version]
    found = [route for route in router.default_routes
             if route.prefix == prefix]
    if any(not route.managed for route in found):
        return
    if version == 6:
        yield from _on_link(settings, router, node)
    if _through_another(router, found, node):
        yield from handed_over(router, found)
        return
    gateways = ((port, nexthop) for port in _ports(router)
                if (nexthop := _virtual_gateway(port, version)))
    # An address of a subnet is what the Go program uses, too.
    for port, nexthop in sorted(gateways, key=lambda each: each[1] ==
                                ownership.LINK_LOCAL_GATEWAY):
        if not segments.usable(port.segment, bridges.served(settings)):
            # As for announcements, the rows stay in doubt, because the
            # router's replies need them.  Whether the address of the subnet is
            # in use may not be known, either.
            for each in {nexthop, networks.virtual_gateway(
                    port.networks, version) or nexthop,
                         *(route.nexthop for route in found)}:
                yield from _keep(router, prefix, port.lrp, each)
            return
        yield _binding(router, port, nexthop, port.segment)
        yield resources.DefaultRoute(router.uuid, port.lrp, nexthop,
                                     node.owner, prefix=prefix)
        return


def _virtual_gateway(port: model.GatewayPort, version: int) -> str | None:
    """The virtual gateway of a port, None without a network of the family.

    For IPv4, the last host address of the subnet, as in the Go program, or a
    link-local address if another user has that one, or in a /31 or /32.  OVN
    then sends from the first address of the port (northd,
    find_static_route_outport).  All agents find the same one, in OVN.
    """
    subnet = networks.virtual_gateway(port.networks, version)
    if version == 6 or (subnet is not None and not port.nexthop_used):
        return subnet
    return (ownership.LINK_LOCAL_GATEWAY
            if networks.of_version(4, port.networks) else None)


def _on_link(settings: typing.Any, router: model.Router,
             node: model.Node) -> Iterator[resources.Resource]:
    """The routes to the provider networks of IPv6 that a router would ask in.

    For IPv4, the kernel answers for all addresses that are elsewhere (proxy
    ARP); for IPv6, it would need an entry for each.  Each network has the
    routes of one port.
    """
    done: set[ip_text.Network] = set()
    for port in _ports(router):
        nexthop = _virtual_gateway(port, 6)
        if nexthop is None:
            continue
        for network in announcing.provider_networks(settings, port):
            if network.version == 4 or network in done or (
                    network.prefixlen == network.max_prefixlen):
                continue
            done.add(network)
            halves = [str(half) for half in network.subnets()]
            if not segments.usable(port.segment, bridges.served(settings)):
                for half in halves:
                    yield from _keep(router, half, port.lrp, nexthop)
                continue
            yield _binding(router, port, nexthop, port.segment)
            for half in halves:
                yield resources.OnLinkRoute(
                    router.uuid, port.lrp, nexthop, node.owner,
                    prefix=half)


def _binding(router: model.Router, port: model.GatewayPort, nexthop: str,
             segment: model.Segment) -> resources.MacBinding:
    """The MAC of a next hop.

    The nodes of a router's distributed floating IPs use it at the same time,
    and it outlasts a move of the gateway.  The underlay must not take packets
    of a VNI for its own.
    """
    return resources.MacBinding(
        port.lrp, nexthop, ownership.VIRTUAL_GATEWAY_MAC
        if router.distributed or port.vni else segment.mac)


def _through_another(router: model.Router,
                     found: Iterable[model.NbDefaultRoute],
                     node: model.Node) -> bool:
    """Whether the route goes through a port on another chassis, and none here.

    A router has one default route of each family.  Agents that each have one
    of its ports must not take the route from each other for ever.
    """
    outputs = {route.output_port for route in found}
    return (not outputs & {port.lrp for port in _ports(router)} and
            any(port.lrp in outputs and
                port.chassis not in ('', node.chassis)
                for port in router.ports))


def handed_over(router: model.Router, found: Iterable[model.NbDefaultRoute]
                ) -> Iterator[resources.Keep]:
    """Rows with this chassis' tag while the port is on another chassis.

    The new owner takes them over.  Their deletion would cut off the replies of
    a working router.
    """
    for route in found:
        if route.managed:
            yield from _keep(router, route.prefix, route.output_port,
                             route.nexthop, foreign=True)


def _keep(router: model.Router, prefix: str, lrp: str, nexthop: str,
          foreign: bool = False) -> Iterator[resources.Keep]:
    kind = (resources.DefaultRoute
            if prefix in announcing.DEFAULT_PREFIX.values()
            else resources.OnLinkRoute)
    yield resources.Keep(resources.Ref(kind.kind, (router.uuid, prefix)),
                         foreign)
    yield resources.Keep(resources.Ref(
        resources.MacBinding.kind, (lrp, nexthop)), foreign)
