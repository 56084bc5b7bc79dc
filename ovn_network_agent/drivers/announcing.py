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

"""The announced addresses of a router: which, where, how, and the proof.

Pure.  The former owner of a gateway port announces its addresses until the
new owner has the proof.  So the proof is wanted only without any doubt, and
requires all resources of the router.
"""

import bisect
import dataclasses

from ovn_network_agent import iptext
from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.conf import veth_leak
from ovn_network_agent.drivers import veth

METHOD = 'fip_route.announce_method'
# The OTHER_OPTIONS of a driver that announces.
OPTIONS = (METHOD, *veth_leak.ENDS)

_EVERYTHING = frozenset(veth.DEFAULT.values())


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """One address to make reachable.

    :ivar address: IP address
    :ivar mac: MAC of the router port that answers for it, or external_mac of
        a distributed floating IP
    :ivar withheld: the reason why it is not announced on purpose, '' for an
        announced address
    :ivar foreign: whether an address of IPv6 is in no provider network of the
        port; such an address has a hairpin flow, and nothing else
    """

    address: str
    mac: str
    withheld: str = ''
    foreign: bool = False

    @property
    def announced(self):
        """Whether the address is to be announced, and to be reachable."""
        return not self.withheld and not self.foreign


def provider_networks(settings, port):
    """The provider networks of a port.

    Without IPv6 there, the agent makes nothing for IPv6 but flows.

    :param settings: :class:`conf.settings.Settings`, or the oslo.config
        ConfigOpts
    :param port: :class:`model.GatewayPort` or :class:`model.GroupPort`
    :returns: see :func:`networks.provider_networks`
    """
    return networks.provider_networks(port.networks, settings.network_cidr)


def port_targets(router, port, nets):
    """The addresses that a served port answers for.

    :param router: :class:`model.Router`
    :param port: a served :class:`model.GatewayPort` of the router
    :param nets: provider networks of the port; IPv4 addresses outside of them
        are left out, those of IPv6 are foreign
    :returns: tuple of :class:`Target`, sorted, each once
    """
    addresses = {a for a in _balanced(router, port)
                 if _owns(router, port, a)}
    addresses.update(
        nat.external_ip for nat in router.nats if not nat.distributed_mac and
        networks.same_port(networks.owner_of(nat, router.ports), port))
    addresses.update(port.nat_addresses)
    addresses.update(_own(port))
    withheld = dict(router.withheld)
    return tuple(target for address in sorted(addresses)
                 for target in _targets(port, address, nets,
                                        withheld.get(address, '')))


def nat_targets(router, port, nets, nat):
    """The address of a NAT row, if a served port answers for it.

    :param nat: :class:`model.Nat`; likewise :func:`port_targets`
    :returns: tuple of :class:`Target`, at most one
    """
    if nat.distributed_mac:
        return ()
    return _of_nat(router, port, nets, nat, port.mac)


def machine_targets(router, port, nets, nat):
    """The address of a distributed floating IP of a machine here.

    :param port: a hosting :class:`model.GatewayPort`; likewise
        :func:`nat_targets`
    :returns: tuple of :class:`Target`, at most one
    """
    if not nat.resident:
        return ()
    return _of_nat(router, port, nets, nat, nat.distributed_mac)


def _of_nat(router, port, nets, nat, mac):
    if len(router.ports) > 1 and (
            not networks.same_port(networks.owner_of(nat, router.ports),
                                   port)):
        return ()
    return _targets(port, nat.external_ip, nets,
                    _withheld(router, nat.external_ip), mac)


def _targets(port, address, nets, withheld, mac=''):
    """The target of an address, none for IPv4 outside of the networks."""
    foreign = not networks.inside(address, nets)
    if foreign and networks.family(address) == 4:
        return ()
    return (Target(address, mac or port.mac, withheld, foreign),)


def _withheld(router, address):
    """The reason why an address is not announced on purpose, or ''."""
    at = bisect.bisect_left(router.withheld, (address,))
    found = router.withheld[at:at + 1]
    return found[0][1] if found and found[0][0] == address else ''


def _owns(router, port, address):
    """Whether a port answers for an address that is not its own.

    Another port may be on another chassis, which then answers.
    """
    return (len(router.ports) == 1 or
            networks.same_port(networks.owner(address, router.ports), port))


def _balanced(router, port):
    """Virtual IPs of load balancers that the gateway answers for.

    These may be addresses of tenants.  For IPv4, the caller leaves out
    addresses outside of provider networks.  An address of a tenant has no
    flow, either.
    """
    nets = networks.of_version(6, port.networks)
    for each in router.balanced:
        address = iptext.address(each.address)
        if not each.unanswered and (
                address.version == 4 or any(address in n for n in nets)):
            yield each.address


def _own(port):
    for text in port.networks:
        # A manual network_cidr may leave it out.
        yield str(networks.parse_interface(text).ip)


def announcement(settings, node, prefix, dev, requires=(), tag=None):
    """The resource that announces a prefix, by the configured method.

    :param settings: :class:`conf.settings.Settings` with the options of
        :data:`OPTIONS`
    :param node: :class:`model.Node`
    :param prefix: text such as '198.51.100.10/32'
    :param dev: device of the route if there is no VRF
    :param requires: refs of the prerequisites
    :param tag: tag of the route in FRR, or None; FRR sees the metric of a
        kernel route in its place
    :returns: :class:`resources.AnnouncedRoute` or
        :class:`resources.Announcement`; None as long as the VRF is missing
    """
    kernel = settings.fip_route.announce_method == 'kernel'
    name = settings.frr.vrf_name
    if not name:
        return (resources.AnnouncedRoute(resources.MAIN_TABLE, prefix, dev,
                                         metric=tag, requires=requires)
                if kernel else resources.Announcement(
                    '', prefix, dev, tag, requires=requires))
    version = networks.family(prefix)
    nexthop, _provider = veth.ends(settings, version)
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


def no_way_out(settings, node, consequence, versions):
    """The problem of a VRF without a default route, which the agent needs.

    :param settings: :class:`conf.settings.Settings`
    :param consequence: the dropped packets, as the middle of a sentence
    :param versions: iterable of 4 and 6, the families of the packets
    :returns: iterable of :class:`resources.Problem`, at most one a family
    """
    vrf = node.device(settings.frr.vrf_name)
    for version in sorted(versions):
        if vrf is not None and vrf.has_default(version) is False:
            yield resources.Problem(
                f'the way out of VRF {vrf.name}: it has no default route'
                f'{" of IPv6" if version == 6 else ""}, so {consequence}; '
                'have a default route come in by BGP, which needs a filter '
                'of the neighbour that lets it in, or set one in FRR')


def proved(router, node):
    """Whether the default route that has the proof has one of this node.

    Then the addresses of the router do not matter to :func:`proofs`.

    :param router: :class:`model.Router`
    :param node: :class:`model.Node`
    """
    found = sorted((networks.family(route.prefix),
                    route.advertised == node.hostname and
                    route.owner in node.marks)
                   for route in router.default_routes
                   if route.managed and route.prefix in _EVERYTHING)
    return bool(found) and found[0][1]


def proofs(router, node, wanted):
    """The proof for a router that is active here, while the proof is missing.

    The proof is a key on the default route, so there is no proof without this
    route.  Nor is there one while a resource of the router is only kept as
    found, or while a reachable address is not announced.  An address that is
    not announced on purpose does not count.

    A proof on its route is retained, although it is no longer wanted, and says
    nothing about later addresses.  So a new address does not cost a look at
    all addresses of the router.

    The proof of a router with default routes of both families is about IPv4:
    the addresses of both are announced at the same time, and an address of
    IPv6 that the fabric refuses must not delay those of IPv4.

    :param router: :class:`model.Router`
    :param node: :class:`model.Node`
    :param wanted: iterable of all resources that are wanted for the router,
        which is not read while the proof is there
    :returns: iterable of :class:`resources.Advertised`, at most one
    """
    if not node.hostname or proved(router, node):
        return
    wanted = list(wanted)
    if any(resource.kind == resources.Keep.kind for resource in wanted):
        return
    version = min((networks.family(resource.prefix) for resource in wanted
                   if resource.kind == resources.DefaultRoute.kind),
                  default=4)
    routes = [resource.ref for resource in wanted
              if resource.kind == resources.DefaultRoute.kind and
              networks.family(resource.prefix) == version]
    addresses, announced, following = _about(version, wanted)
    withheld = {networks.host_prefix(address)
                for address, _reason in router.withheld}
    if routes and addresses - withheld <= announced.keys():
        prefixes = tuple(sorted(announced))
        yield resources.Advertised(
            router.uuid, node.owner, prefixes,
            requires=(*routes, *(announced[p] for p in prefixes),
                      *dict.fromkeys(following)))


def _about(version, wanted):
    """The resources of single addresses of a family.

    :returns: (set of the addresses with something else than flows, dict of
        announced address to the ref of its announcement, list of the refs
        that follow announcements); an address is text with its length
    """
    addresses, announced, following = set(), {}, []
    for resource in wanted:
        subject = resource.subject
        if (not subject or networks.family_of_valid(subject) != version or
                resource.kind == resources.DefaultRoute.kind):
            continue
        if resource.follows:
            following.append(resource.ref)
        if resource.stage is resources.Stage.ANNOUNCE:
            announced[subject] = resource.ref
        elif resource.kind != resources.Flow.kind:
            addresses.add(subject)
    return addresses, announced, following
