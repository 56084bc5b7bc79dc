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

"""Driver veth_leak: a controlled way between the default VRF and FRR's.

BGP and the uplink live in the provider VRF, the provider bridge in the
default VRF.  A veth pair connects them: towards the floating IPs through
FRR's routes, and back through one policy rule for each provider network.
"""

from ovn_network_agent import iptext
from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.conf import bridges
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import veth_leak as options
from ovn_network_agent.drivers import announcing
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers import segments

DEFAULT = '0.0.0.0/0'


class VethLeakDriver(base.Driver):
    """Wants the veth pair, its addresses, its rules and routes."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = ('fip_route.standby_prepare', *mode.DECISIVE)

    @classmethod
    def runs_without_ovn(cls, settings):
        """True with a VRF, which the pair connects."""
        return bool(settings.frr.vrf_name)

    def for_node(self, node):
        """The veth pair, and the leak of the configured provider networks.

        :param node: :class:`model.Node`
        :returns: iterator of :class:`resources.Resource`; with the leak off,
            of :class:`resources.Keep` for the same objects; empty without a
            VRF
        """
        yield from self._unless_off(self._node(node))

    def for_group(self, group, node):
        """The way back of a standby's networks; see fip_route.

        What comes out of OVN untranslated is dropped from the first packet
        on: OVN forwards here before the agent has heard of the move.

        Not the guard: the kernel's check of the way back to a source uses
        its rules, too, and would find nothing for an address until the agent
        has written its route.
        """
        if not self.settings.fip_route.standby_prepare:
            return
        for port in group.ports:
            if port.chassis != node.chassis and not port.routed_by_ovn:
                yield from self._unless_off(self._standby(port, node))

    def for_router(self, router, node):
        """The leak of the networks of a router that packets still pass.

        :param router: :class:`model.Router`
        :param node: :class:`model.Node`
        :returns: as of :meth:`for_node`, with a :class:`resources.Problem` if
            the VRF has no way out
        """
        yield from self._unless_off(self._router(router, node))

    def _unless_off(self, wanted):
        """The wanted resources; with the leak off, Keep in their place.

        With the leak off, another program may make one for the VRF, perhaps
        with the same names and numbers, and all traffic goes through it.
        """
        if not self.settings.frr.vrf_name:
            return
        if self.settings.veth_leak.veth_leak_enabled:
            yield from wanted
            return
        for resource in wanted:
            if resource.kind == resources.Keep.kind:
                yield resources.Keep(resource.of, theirs=True)
            elif resource.kind != resources.Problem.kind:
                yield resources.Keep(resource.ref, theirs=True)

    def _node(self, node):
        nexthop, provider = self._ends()
        pair = resources.VethPair(ownership.VETH_DEFAULT,
                                  ownership.VETH_PROVIDER,
                                  self.settings.frr.vrf_name)
        yield pair
        yield from self._sysctls(pair.ref)
        yield from self._addresses(nexthop, provider, pair.ref)
        yield resources.KernelRoute(
            self.settings.veth_leak.veth_leak_table_id, DEFAULT,
            ownership.VETH_DEFAULT, provider, requires=(pair.ref,))
        # A packet out of the pair must never go back into it.  Its source may
        # be a provider address (a floating IP of another chassis), and the
        # leak rule would loop it until its TTL ends.
        yield resources.Rule(
            self.settings.veth_leak.veth_leak_rule_priority - 1,
            resources.MAIN_TABLE, iif=ownership.VETH_DEFAULT)
        yield self._without_vrf()
        for network in self._own_networks():
            yield from self._leak(iptext.network(network), node)
            for bridge in self._bridges():
                yield self._stray(network, bridge)

    def _without_vrf(self):
        """Drop packets from the pair that the VRF does not take.

        The kernel asks the table of the VRF first.  When the VRF is gone, its
        end of the pair belongs to the default VRF.  Answers of VIPs would then
        leave by the default route of the main table, and packets of floating
        IPs would go round in the pair.
        """
        return resources.Rule(
            self.settings.veth_leak.veth_leak_rule_priority - 1,
            resources.BLACKHOLE, iif=ownership.VETH_PROVIDER)

    def _own_networks(self):
        """Configured networks whose addresses may be on this node.

        Without OVN, no such address is here: the networks are configured for
        port forwarding alone.
        """
        return (() if mode.forwards_only(self.settings)
                else self.settings.network_cidr)

    def _router(self, router, node):
        if router.local_ports:
            yield from announcing.no_way_out(
                self.settings, node, 'what floating IPs send, replies too, is '
                'dropped unless BGP knows its target')
        # A former owner still forwards for a moment.
        tenants = {networks.translated(nat.logical_ip)
                   for nat in router.nats if nat.type == 'snat'} - {None}
        for port in router.served_ports:
            if not self.settings.network_cidr:
                for network in networks.provider_networks(port.networks):
                    yield from self._leak(network, node)
            yield from self._out_of_ovn(port, tenants, node)

    def _standby(self, port, node):
        """The rules for packets from OVN, for a port that may come here."""
        if not self.settings.network_cidr:
            yield from map(self._way_back, networks.provider_networks(
                port.networks))
        yield from self._out_of_ovn(port, port.tenants, node)

    def _ends(self):
        """(address of veth-default, address of veth-provider) as text."""
        return (self.settings.veth_leak.veth_nexthop,
                options.provider_ip(self.settings))

    def _sysctls(self, pair):
        for dev in (ownership.VETH_DEFAULT, ownership.VETH_PROVIDER):
            yield resources.Sysctl(f'net/ipv4/conf/{dev}/forwarding', '1',
                                   requires=(pair,))
            # A new address of the same network is secondary until the former
            # address goes, and must not go with it.
            yield resources.Sysctl(
                f'net/ipv4/conf/{dev}/promote_secondaries', '1',
                requires=(pair,))
        # Packets that arrive there have a source address of this host (the
        # other end, or a VIP); without this setting, they are martians.
        yield resources.Sysctl(
            f'net/ipv4/conf/{ownership.VETH_PROVIDER}/accept_local', '1',
            requires=(pair,))

    def _addresses(self, nexthop, provider, pair):
        ends = ((ownership.VETH_DEFAULT, nexthop,
                 ownership.VETH_PROVIDER, provider),
                (ownership.VETH_PROVIDER, provider,
                 ownership.VETH_DEFAULT, nexthop))
        for dev, address, peer, peer_address in ends:
            yield resources.Address(dev, address + '/30', requires=(pair,))
            # Permanent, because ARP between the ends is answered only as
            # long as traffic from outside keeps it alive.
            yield resources.Neighbour(dev, peer_address, peer,
                                      requires=(pair,))

    def _guard(self, network):
        """Drop packets for addresses that are not on this node.

        While a gateway port moves, the fabric still sends packets to the
        former owner for a moment.  The default route of the main table would
        send them into the management network.  They are dropped without an
        answer, because an ICMP error would end new connections.
        """
        first = self.settings.veth_leak.veth_leak_rule_priority - 3
        for priority, table, suppress in (
                (first, resources.MAIN_TABLE, 0),
                (first + 1, resources.BLACKHOLE, None)):
            yield resources.Rule(priority, table, dst=str(network),
                                 iif=ownership.VETH_DEFAULT,
                                 suppress=suppress)

    def _bridges(self):
        return bridges.served(self.settings)

    def _out_of_ovn(self, port, tenants, node):
        """Rules for packets out of OVN that would take a wrong way.

        After a move, OVN here lacks the connections of the former owner, and
        passes some of their packets (ICMP replies) without a translation.
        Their source is a tenant's, so the default route of the main table
        would match them.

        A packet with a source in the provider network gets there, too, if
        the table of the leak lacks its default route.

        While the device is in doubt, the rules stay as they are.

        :param port: :class:`model.GatewayPort` or :class:`model.GroupPort`
        :param tenants: networks of tenants
        :param node: :class:`model.Node`
        """
        known = segments.located(port.segment, self._bridges())
        sources = list(tenants)
        # Configured networks have the rules of all bridges.
        if not (self.settings.network_cidr and known and
                not port.segment.vlan):
            sources += networks.provider_networks(
                port.networks, self.settings.network_cidr)
        for source in sources:
            if known:
                yield self._stray(source, port.segment.device)
                continue
            for dev in segments.in_doubt(node, self._bridges()):
                yield resources.Keep(self._stray(source, dev).ref)

    def _stray(self, source, dev):
        """The rule that drops packets of a network out of one device."""
        return resources.Rule(
            self.settings.veth_leak.veth_leak_rule_priority + 1,
            resources.BLACKHOLE, src=str(source), iif=dev)

    def _leak(self, network, node):
        """The resources of one provider network, in both directions."""
        yield from self._guard(network)
        yield self._way_back(network)
        vrf = node.device(self.settings.frr.vrf_name)
        if vrf is not None and vrf.vrf_table:
            yield resources.KernelRoute(
                vrf.vrf_table, str(network), ownership.VETH_PROVIDER,
                self.settings.veth_leak.veth_nexthop)

    def _way_back(self, network):
        """The rule for packets from OVN to the fabric."""
        table = self.settings.veth_leak.veth_leak_table_id
        default = resources.Ref(resources.KernelRoute.kind, (table, DEFAULT))
        return resources.Rule(
            self.settings.veth_leak.veth_leak_rule_priority, table,
            src=str(network), requires=(default,))
