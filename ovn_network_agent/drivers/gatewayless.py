# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The default routes of a gatewayless router, and their next hops.

Pure functions.  There is one route for each family.  The next hop is the
virtual gateway: for IPv4, an address that no device has; for IPv6, the
link-local address of the bridge's device.  It is bound to the MAC of this
device, or to a constant one (:func:`_binding`).
"""

from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.drivers import veth

# The families in which no device answers for the addresses of other chassis.
_ASKED = (6,)


def rows(router, node, usable, nets):
    """The rows that a local router needs in OVN.

    A default route without the agent's mark means a real gateway.  Then the
    router gets no row of the agent for this family.

    :param router: :class:`model.Router`
    :param node: :class:`model.Node`
    :param usable: function of a :class:`model.Segment` or None that returns
        whether packets can pass
    :param nets: function of a :class:`model.GatewayPort` that returns its
        provider networks
    :returns: iterable of :class:`resources.Resource`
    """
    # Without a network of IPv4, the lack of one may be a mistake.
    for version in sorted({4, *(net.version for port in router.local_ports
                                for net in nets(port))}):
        found = [route for route in router.default_routes
                 if networks.family(route.prefix) == version]
        # Two routes may need the same binding.
        yield from dict.fromkeys(_of_family(version, router, found, node,
                                            usable, nets))


def _of_family(version, router, found, node, usable, nets):
    """The rows for one family.

    :param found: list of the :class:`model.NbDefaultRoute` of the family
    """
    prefix = veth.DEFAULT[version]
    found = [route for route in found if route.prefix == prefix]
    if any(not route.managed for route in found):
        return
    yield from _on_link(version, router, node, usable, nets)
    if _through_another(router, found, node):
        yield from _left(router, found)
        return
    for port in router.local_ports:
        nexthop = networks.virtual_gateway(port.networks, version)
        if nexthop is None:
            continue
        user = _user(router, port, nexthop)
        if user:
            yield _refusal(router, port, nexthop, user)
        if user and not _in_use(router, nexthop):
            return
        if not usable(port.segment):
            # As for announcements, the rows stay in doubt, because the
            # router's replies need them.
            yield from _keep(router, prefix, port.lrp, nexthop)
            return
        yield _binding(router, port, nexthop)
        yield resources.DefaultRoute(router.uuid, port.lrp, nexthop,
                                     node.owner, prefix=prefix)
        return
    if any(networks.family(n) == version for port in router.local_ports
           for n in port.networks):
        yield resources.Problem(
            f'router {router.called}: no network of its gateway ports has '
            'room for a virtual gateway; the router gets no default route; '
            'make the subnet of the provider network /30 or larger',
            router=router.uuid)


def _on_link(version, router, node, usable, nets):
    """The routes to the provider networks that a router would ask in.

    For IPv4, the kernel answers for all addresses that are elsewhere (proxy
    ARP).  For IPv6, the kernel would need an entry for each address.

    :returns: iterable of :class:`resources.Resource`; each network has the
        routes of one port
    """
    done = set()
    for port in router.local_ports if version in _ASKED else ():
        nexthop = networks.virtual_gateway(port.networks, version)
        for network in nets(port):
            if (network.version != version or network in done or
                    network.prefixlen == network.max_prefixlen):
                continue
            done.add(network)
            halves = [str(half) for half in network.subnets()]
            if not usable(port.segment):
                for half in halves:
                    yield from _keep(router, half, port.lrp, nexthop)
                continue
            yield _binding(router, port, nexthop)
            for half in halves:
                yield resources.OnLinkRoute(
                    router.uuid, port.lrp, nexthop, node.owner,
                    prefix=half)


def _binding(router, port, nexthop):
    """The MAC of a next hop.

    The nodes of a router's distributed floating IPs use the binding at the
    same time, and the router's gateway may move without a change of it.
    """
    distributed = any(nat.distributed_mac for nat in router.nats)
    return resources.MacBinding(
        port.lrp, nexthop, ownership.VIRTUAL_GATEWAY_MAC if distributed
        else port.segment.mac)


def _through_another(router, found, node):
    """Whether the route goes through a port on another chassis.

    A router has one default route of each family.  Agents that each have one
    of its ports must not take the route from each other for ever.

    :returns: False when one goes through a port that is here, too
    """
    outputs = {route.output_port for route in found}
    return (not outputs & {port.lrp for port in router.local_ports} and
            any(port.lrp in outputs and
                port.chassis not in ('', node.chassis)
                for port in router.ports))


def handed_over(router):
    """Rows with this chassis' tag while the port is on another chassis.

    The new owner takes these rows over.  Their deletion would cut off the
    replies of a working router.

    :param router: :class:`model.Router`
    :returns: iterable of :class:`resources.Keep`
    """
    yield from _left(router, router.default_routes)


def _left(router, found):
    for route in found:
        if route.managed:
            yield from _keep(router, route.prefix, route.output_port,
                             route.nexthop, theirs=True)


def _user(router, port, nexthop):
    """The user of the virtual gateway's address, in words, or ''."""
    if networks.family(nexthop) == 6:
        # It is in no subnet, so nobody else gets it.
        return ''
    if nexthop in [nat.external_ip for nat in router.nats]:
        return 'a NAT row of this router'
    if any(each.address == nexthop for each in router.balanced):
        return 'a load balancer of this router'
    if any(str(networks.parse_interface(n).ip) == nexthop
           for p in router.ports for n in p.networks):
        return 'a port of this router'
    return port.nexthop_user


def _in_use(router, nexthop):
    """Whether the router's default route already has a next hop.

    Such a route stays, although another user has the address now: otherwise
    all traffic of the router would be lost for one address.
    """
    return any(route.managed and route.nexthop == nexthop
               for route in router.default_routes)


def _refusal(router, port, nexthop, user):
    outcome = ('It stays, since all of its traffic goes there'
               if _in_use(router, nexthop) else
               'The router gets no default route')
    return resources.Problem(
        f'router {router.called}, port {port.lrp}: its virtual gateway '
        f'{nexthop} is in use by {user}; end the allocation pool of the '
        f'subnet before that address. {outcome}', router=router.uuid,
        addresses=(nexthop,))


def _keep(router, prefix, lrp, nexthop, theirs=False):
    kind = (resources.DefaultRoute if prefix in veth.DEFAULT.values()
            else resources.OnLinkRoute)
    yield resources.Keep(resources.Ref(kind.kind, (router.uuid, prefix)),
                         theirs)
    yield resources.Keep(resources.Ref(
        resources.MacBinding.kind, (lrp, nexthop)), theirs)
