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

"""Driver fip_route: floating IPs, SNAT and router addresses through BGP.

For every address of a router whose gateway is on this chassis: a host route
to the provider bridge, flows that let the kernel and OVN hand packets to
each other, what BGP announces, and, because the provider network has no
gateway, the default route of the router in OVN.
"""

import dataclasses
import itertools
import typing

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.conf import bridges
from ovn_network_agent.conf import fip_route as options
from ovn_network_agent.conf import plugins
from ovn_network_agent.drivers import announcing
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers import gatewayless
from ovn_network_agent.drivers import segments

# The most addresses that one message names.
_NAMED = 5


@dataclasses.dataclass(frozen=True, slots=True)
class _Service:
    """What all addresses have in common that a port answers for here.

    There is one for the port, and one for machines of distributed floating
    IPs.

    :ivar port: :class:`model.GatewayPort`
    :ivar nets: tuple of IPv4Network and IPv6Network, outside of which no
        address is announced
    :ivar announced: whether the addresses are announced; otherwise this
        chassis only forwards their last packets
    :ivar passable: whether packets to the addresses can pass
    :ivar targets: function of router, port, networks and NAT row, as
        :func:`announcing.nat_targets`
    :ivar hairpin: whether OVN here answers for the addresses
    :ivar mac_tweak: tuple of :class:`resources.Flow`
    :ivar requires: refs of the prerequisites of an announcement
    :ivar of_device: refs of the prerequisites of the device
    """

    port: model.GatewayPort
    nets: tuple
    announced: bool
    passable: bool
    targets: typing.Callable
    hairpin: bool
    mac_tweak: tuple = ()
    requires: tuple = ()
    of_device: tuple = ()


@dataclasses.dataclass(frozen=True, slots=True)
class _Common:
    """What all NAT rows of a router have in common.

    :ivar services: tuple of :class:`_Service`
    :ivar nets: tuple of IPv4Network and IPv6Network of the gateway ports
    :ivar proved: whether the router has its proof, which then says nothing
        about its NAT rows; matters for remarks alone, so no row is asked
        about again when the proof comes
    """

    services: tuple
    nets: tuple
    proved: bool = dataclasses.field(compare=False)


class FipRouteDriver(base.Driver):
    """Wants what makes the addresses of local routers reachable."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = announcing.OPTIONS
    ASKS = (plugins.ABSENCE,)

    def for_node(self, node):
        """Provider bridges are up, have bridge_ip and answer ARP requests.

        :param node: :class:`model.Node`
        :returns: iterator of :class:`resources.LinkUp`,
            :class:`resources.Address` and :class:`resources.Sysctl`
        """
        for bridge in self._bridges():
            yield resources.LinkUp(bridge)
            yield from segments.attachment(bridge, self.settings.bridge_ip)

    def for_group(self, group, node):
        """Resources that a standby prepares and that attract no packets.

        When the port comes, packets of virtual machines come out of OVN here
        at once, and need the flows.  vtysh is slow: in the lab, a port was
        announced after 1.1 to 1.9 s with an entry of the prefix list to
        write, and after 0.2 to 0.3 s without.
        """
        if not self.settings.fip_route.standby_prepare:
            return
        for port in group.ports:
            if port.routed_by_ovn:
                continue
            yield from self._device(port, node)
            if port.chassis != node.chassis and self._usable(port.segment):
                yield from self._mac_tweak(port.segment)
                yield from self._prefix_list(
                    announcing.provider_networks(self.settings, port))

    def common(self, router, node):
        """The services of the ports, judged once for all NAT rows.

        :param router: :class:`model.Router` without NAT rows
        :param node: :class:`model.Node`
        :returns: :class:`_Common`
        """
        return _Common(
            tuple(self._services(router)),
            tuple(net for port in router.ports
                  for net in networks.provider_networks(port.networks)),
            announcing.proved(router, node))

    def remark(self, nat, common):
        """The NAT row itself if :meth:`for_rest` says something about it.

        These are distributed floating IPs, addresses outside of the provider
        networks, and all rows while the proof is missing.
        """
        matters = (nat.distributed_mac or not common.proved or
                   not networks.inside(nat.external_ip, common.nets))
        return nat if matters else None

    def for_nats(self, router, nats, node, common):
        """The routes, flows and announcements of the addresses of NAT rows.

        A router that has left keeps what its handover still needs.  For a port
        whose segment is in doubt, the announcements stay as they are.

        :param router: :class:`model.Router` without NAT rows and default
            routes
        :param nats: sequence of :class:`model.Nat`
        :param node: :class:`model.Node`
        :param common: :class:`_Common` of the router
        :returns: iterator of (NAT row, list of :class:`resources.Resource`)
        """
        for nat in nats:
            yield nat, [
                resource for each in common.services
                for target in each.targets(router, each.port, each.nets, nat)
                for resource in self._of_target(each, target, node)]

    def for_rest(self, router, node, of_nats):
        """The resources of the router itself, and the proof.

        :param router: :class:`model.Router`
        :param node: :class:`model.Node`
        :param of_nats: see :meth:`drivers.base.Driver.for_rest`
        :returns: iterator of :class:`resources.Resource`, with a
            :class:`resources.Problem` for addresses that are left out; the
            proof that the router is announced comes last
        """
        wanted = list(self._rest(router, node))
        yield from wanted
        yield from announcing.proofs(router, node,
                                     itertools.chain(wanted, of_nats))

    def _rest(self, router, node):
        if router.routed_by_ovn:
            return
        if router.local_ports:
            yield from gatewayless.rows(router, node, self._usable,
                                        self._networks)
            yield from self._left_out(router)
        else:
            yield from gatewayless.handed_over(router)
        yield from self._undelivered(router)
        # Both services of a port need the same objects.
        services = self._services(router)
        yield from dict.fromkeys(resource for each in services
                                 for resource in self._common(each, node))
        bare = dataclasses.replace(router, nats=())
        # Those for machines come after those for served ports.
        for port, each in zip(router.served_ports, services, strict=False):
            for target in announcing.port_targets(bare, port, each.nets):
                yield from self._of_target(each, target, node)

    def _common(self, service, node):
        """The resources of all addresses of a service."""
        yield from self._device(service.port, node)
        if service.announced:
            yield from self._prefix_list(service.nets)
        yield from service.mac_tweak

    # -- one gateway port -------------------------------------------------

    def _services(self, router):
        """The services of all ports, a list of :class:`_Service`."""
        return [*map(self._service, router.served_ports),
                *map(self._hosting, router.hosting_ports)]

    def _service(self, port):
        """The service for what a served port itself answers for."""
        return self._with_flows(_Service(
            port, self._networks(port),
            port.handover is not model.Handover.FORWARD, self._passable(port),
            announcing.nat_targets, port.local))

    def _hosting(self, port):
        """The service for the machines of distributed floating IPs."""
        return self._with_flows(_Service(
            port, self._networks(port), True, self._usable(port.segment),
            announcing.machine_targets, True))

    def _with_flows(self, service):
        segment = service.port.segment
        if not service.passable:
            return service
        mac_tweak = (tuple(self._mac_tweak(segment))
                     if segment.patch_port else ())
        return dataclasses.replace(
            service, mac_tweak=mac_tweak,
            of_device=segments.prerequisites(segment),
            requires=segments.prerequisites(segment) + tuple(
                flow.ref for flow in mac_tweak))

    def _of_target(self, service, target, node):
        """The resources of one address of a port."""
        port = service.port
        # Routers of this chassis reach each other in any case; see decision
        # record 25.
        if service.passable and service.hairpin:
            yield self._hairpin(port.segment, target)
        if not target.announced:
            return
        if not service.passable:
            if service.announced:
                yield from self._keep(target, node)
        else:
            yield from self._reachable(target, service, node)

    def _passable(self, port):
        """Whether packets to a port can pass; a relay needs no OVN here."""
        if port.local or not port.relay:
            return self._usable(port.segment)
        return segments.located(port.segment, self._bridges())

    def _device(self, port, node):
        """The device of a segment, or those that are kept in doubt."""
        if not segments.located(port.segment, self._bridges()):
            yield from segments.kept(node, self._bridges(),
                                     self.settings.bridge_ip)
            return
        yield from segments.device(port.segment, self.settings.bridge_ip)
        if any(net.version == 6 for net in self._networks(port)):
            yield segments.link_local(port.segment)

    def _networks(self, port):
        return announcing.provider_networks(self.settings, port)

    def _usable(self, segment):
        return not segments.objection(segment, self._bridges())

    def _bridges(self):
        return bridges.served(self.settings)

    def _left_out(self, router):
        """Problems of a router's addresses that are not announced."""
        yield from self._unanswered(router)
        withheld = dict(router.withheld)
        if self.settings.network_cidr:
            # Then leaving out is what was asked for.
            return
        nets = [net for port in router.ports
                for net in networks.provider_networks(port.networks)]
        # The addresses of a family that has no provider network are not
        # meant to be announced; for IPv4, a network is missing.
        versions = {4, *(net.version for net in nets)}
        external = {nat.external_ip for nat in router.nats
                    if not nat.distributed_mac}
        # An address that is no floating IP may be a tenant's.
        external.update(each.address for each in router.balanced
                        if each.floating)
        outside = sorted(
            address for address in networks.outside(external, nets)
            if address not in withheld and
            networks.family(address) in versions)
        if outside and not any(not p.local for p in router.ports):
            some = ', '.join(outside[:_NAMED])
            yield resources.Problem(
                f'router {router.called}: {len(outside)} NAT addresses '
                f'({some}) are in no network of its gateway ports and not '
                'announced; if they should be, name all provider networks '
                'in [DEFAULT] network_cidr',
                router=router.uuid, addresses=tuple(outside))

    def _undelivered(self, router):
        """Distributed floating IPs of machines here that nothing can reach.
        """
        for port in router.hosting_ports:
            reason = segments.objection(port.segment, self._bridges())
            if not reason:
                continue
            addresses = tuple(sorted(
                nat.external_ip for nat in router.nats if nat.resident and
                networks.same_port(networks.owner_of(nat, router.ports),
                                   port)))
            yield resources.Problem(
                f'router {router.called}: {len(addresses):d} distributed '
                f'floating IPs ({", ".join(addresses[:_NAMED])}) of machines '
                f'on this chassis cannot be delivered, because {reason}; '
                f'{_remedy(port.segment)} clear external_mac in the NAT rows',
                router=router.uuid, addresses=addresses)

    def _unanswered(self, router):
        """Addresses of load balancers that OVN does not answer for here."""
        nets = [net for port in router.ports
                for net in self._networks(port)]
        withheld = dict(router.withheld)
        for each in router.balanced:
            if (each.unanswered and each.address not in withheld and
                    networks.inside(each.address, nets)):
                yield resources.Problem(
                    f'router {router.called}: {each.address} of a load '
                    f'balancer is not announced, because {each.unanswered}',
                    router=router.uuid, addresses=(each.address,))

    # -- flows ------------------------------------------------------------

    def _mac_tweak(self, segment):
        """Flows that give OVN's packets the MAC of the segment's device."""
        for family in (4, 6):
            yield resources.Flow(
                segment.bridge, ownership.COOKIE_MAC_TWEAK,
                ownership.PRIORITY_MAC_TWEAK, segment.patch_port, family,
                set_dst=segment.mac)

    def _hairpin(self, segment, target):
        """Reflect traffic between two routers of this chassis into OVN.

        Both MACs are written: with its own source MAC OVN would take the
        packet for a loop, and its destination may not be resolved yet.
        """
        return resources.Flow(
            segment.bridge, ownership.COOKIE_HAIRPIN,
            ownership.PRIORITY_HAIRPIN, segment.patch_port,
            networks.family(target.address),
            dst=networks.host_prefix(target.address),
            set_src=segment.mac, set_dst=target.mac, output='in_port')

    # -- kernel and BGP ---------------------------------------------------

    def _reachable(self, target, service, node):
        port, requires = service.port, service.requires
        dst, device = networks.host_prefix(target.address), port.segment.device
        if not self._announced_by_its_route(node):
            route = resources.KernelRoute(self._table(), dst, device,
                                          requires=service.of_device)
            yield route
            requires += (route.ref,)
        if self.settings.fip_route.route_table_id:
            yield self._rule(dst)
        announcement = announcing.announcement(
            self.settings, node, dst, device, requires, port.tag)
        if service.announced and announcement is not None:
            yield announcement

    def _rule(self, dst):
        return resources.Rule(self.settings.fip_route.route_rule_priority,
                              self._table(), dst=dst)

    def _table(self):
        return self.settings.fip_route.route_table_id or resources.MAIN_TABLE

    def _announced_by_its_route(self, node):
        """Whether the announcement itself carries the traffic.

        In default VRF mode the route that FRR redistributes (kernel) or
        installs (static) is the one to the bridge; a second one beside it
        would win over FRR's and stop the announcement.
        """
        return (not self.settings.frr.vrf_name and
                not self.settings.fip_route.route_table_id)

    def _prefix_list(self, nets):
        name = self.settings.frr.frr_prefix_list
        if name:
            for network in nets:
                length = network.max_prefixlen
                yield resources.PrefixListEntry(name, str(network), length,
                                                length)

    def _keep(self, target, node):
        """Keep the announcement of an address in doubt as it is."""
        vrf = node.device(self.settings.frr.vrf_name)
        tables = {self._table(), resources.MAIN_TABLE,
                  vrf.vrf_table if vrf else 0}
        dst = networks.host_prefix(target.address)
        for table in sorted(tables - {0}):
            for kind in (resources.KernelRoute, resources.AnnouncedRoute):
                yield resources.Keep(resources.Ref(kind.kind, (table, dst)))
        if self.settings.fip_route.route_table_id:
            yield resources.Keep(self._rule(dst).ref)
        yield resources.Keep(resources.Ref(
            resources.Announcement.kind,
            (self.settings.frr.vrf_name, dst)))


def _remedy(segment):
    """What helps where a segment cannot be used: the begin of a sentence."""
    return ('set ovn-bridge-mappings, or' if segment and not segment.bridge
            else 'if that is to stay so,')
