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

"""The default route of a gatewayless router, and its next hop.

Pure functions.  The next hop is the virtual gateway: an address that no
device has, bound to the MAC of the provider bridge.
"""

from ovn_network_agent import networks
from ovn_network_agent import resources


def rows(router, node, usable):
    """The rows that a local router needs in OVN.

    A default route without the agent's mark means a real gateway.  Then the
    router gets no row of the agent.

    :param router: :class:`model.Router`
    :param node: :class:`model.Node`
    :param usable: function of a :class:`model.Segment` or None that returns
        whether packets can pass
    :returns: iterable of :class:`resources.Resource`
    """
    if any(not route.managed for route in router.default_routes):
        return
    if _through_another(router, node):
        yield from handed_over(router)
        return
    for port in router.local_ports:
        nexthop = networks.virtual_gateway(port.networks)
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
            yield from _keep(router, port.lrp, nexthop)
            return
        yield resources.MacBinding(port.lrp, nexthop, port.segment.mac)
        yield resources.DefaultRoute(router.uuid, port.lrp, nexthop,
                                     node.hostname)
        return
    if any(networks.family(n) == 4 for port in router.local_ports
           for n in port.networks):
        yield resources.Problem(
            f'router {router.called}: no network of its gateway ports has '
            'room for a virtual gateway; the router gets no default route; '
            'make the subnet of the provider network /30 or larger',
            router=router.uuid)


def _through_another(router, node):
    """Whether the route goes through a port on another chassis.

    A router has one default route.  Agents that each have one of its ports
    must not take the route from each other for ever.

    :returns: False when one goes through a port that is here, too
    """
    outputs = {route.output_port for route in router.default_routes}
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
    for route in router.default_routes:
        if route.managed:
            yield from _keep(router, route.output_port, route.nexthop,
                             theirs=True)


def _user(router, port, nexthop):
    """The user of the virtual gateway's address, in words, or ''."""
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


def _keep(router, lrp, nexthop, theirs=False):
    yield resources.Keep(resources.Ref(
        resources.DefaultRoute.kind, (router.uuid,)), theirs)
    yield resources.Keep(resources.Ref(
        resources.MacBinding.kind, (lrp, nexthop)), theirs)
