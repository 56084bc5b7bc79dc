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

"""Driver evpn: machines on provider networks in VRFs of their own.

A network with a VNI has a VRF on each node with a machine of it.  Host routes
of the machines are in the table of this VRF, and FRR announces them as type 5
routes of EVPN (RFC 9136), so two tenants may have the same addresses.
"""

from collections.abc import Iterator

from ovn_network_agent import evpn_names
from ovn_network_agent import iptext
from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent import vlans
from ovn_network_agent.conf import bridges
from ovn_network_agent.conf import evpn as options
from ovn_network_agent.conf import plugins
from ovn_network_agent.drivers import announcing
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers import segments
from ovn_network_agent.resources import evpn

# A route distinguisher with an IPv4 address has a number of two bytes
# (RFC 4364, 4.2).
_LARGEST = (1 << 16) - 1


class EvpnDriver(base.Driver):
    """Wants the VRFs of VNIs, and the routes of machines in these."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = ('provider_port.ipv6_gateways',
                     'provider_port.router_advertisements', 'frr.vrf_name')
    SUBJECTS = (model.ProviderNetwork, model.PortAddress)
    ASKS = (plugins.MACHINES, plugins.VNIS)

    def events(self) -> tuple[base.Watch, ...]:
        """Ports of machines, and the DHCP of their subnets."""
        return announcing.machine_watches()

    def resources(self, subject: model.ProviderNetwork | model.PortAddress,
                  node: model.Node) -> base.Wanted:
        """What brings a network or an address into its VRF."""
        match subject:
            case model.ProviderNetwork(vni=model.Vni() as vni):
                return self._network(subject, vni, node)
            case model.PortAddress(network=model.ProviderNetwork(
                    vni=model.Vni(problem='') as vni)):
                return self._address(subject, vni, node)
        return ()

    # -- a network --------------------------------------------------------

    def _network(self, network: model.ProviderNetwork, vni: model.Vni,
                 node: model.Node) -> base.Wanted:
        segment = network.segment
        why = vni.problem or self._no_tunnel(node) or segments.objection(
            segment, bridges.served(self.settings))
        port = self._port(network, vni, node)
        if segment is None or why:
            yield resources.Problem(
                f'network {network.called}: machines on this chassis are not '
                f'in EVPN, because {why}', router=network.uuid)
            if not vni.problem:
                yield from self._kept(network, vni, node)
            return
        yield from self._of_vni(vni, node)
        yield port
        yield from self._device(network, port)
        yield from segments.mac_tweak(segment, port.mac)

    def _of_vni(self, vni: model.Vni, node: model.Node
                ) -> Iterator[base.Resource]:
        """What all networks of a VNI have in common."""
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
        """What the segment's device in the VRF has."""
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
                dev, [gateway for net in six for gateway
                      in announcing.ipv6_gateways(self.settings, net)],
                requires)
            if self.settings.provider_port.router_advertisements:
                yield resources.RouterAdvertisement(
                    dev, tuple(map(str, six)), network.managed, network.other,
                    requires=(link_local.ref,))

    def _kept(self, network: model.ProviderNetwork, vni: model.Vni,
              node: model.Node) -> Iterator[base.Resource]:
        """What stays as it is while no packets can pass the segment."""
        port = self._port(network, vni, node)
        for each in (*self._of_vni(vni, node), port,
                     *self._device(network, port)):
            yield resources.Keep(each.ref)

    # -- an address -------------------------------------------------------

    def _address(self, found: model.PortAddress, vni: model.Vni,
                 node: model.Node) -> base.Wanted:
        """The neighbour and the route, which FRR announces.

        While nobody knows whether the machine is there, both stay as found.
        """
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
        port = self._port(network, vni, node)
        neighbour = resources.Neighbour(
            port.name, found.address, '', found.mac, requires=(port.ref,))
        instance = resources.Ref(resources.EvpnInstance.kind, (vni.number,))
        route = resources.VniRoute(
            self._table(vni), networks.host_prefix(found.address), port.name,
            vni=vni.number, requires=(port.ref, neighbour.ref, *(
                (instance,) if self.settings.evpn.manage_frr else ())))
        if (found.announced and not self._no_tunnel(node) and
                segments.usable(network.segment,
                                bridges.served(self.settings))):
            yield neighbour
            yield route
        else:
            yield resources.Keep(neighbour.ref)
            yield resources.Keep(route.ref)

    def _objection(self, found: model.PortAddress,
                   network: model.ProviderNetwork, node: model.Node) -> str:
        if found.claimed:
            return (f'{found.claimed} has it, too; give one of them another '
                    'address')
        if networks.host_prefix(found.address) in evpn_names.anchors(
                self._local(node)):
            return ('this node announces it as its own in each VNI; give the '
                    'machine another address')
        return '' if networks.inside(
            found.address, self._nets(network)) else (
            'it is in no subnet that OVN has of the network')

    # -- the tunnels ------------------------------------------------------

    def _local(self, node: model.Node) -> str:
        """The address that the tunnels come from, '' without one."""
        return self.settings.evpn.local_ip or node.tunnel

    def _no_tunnel(self, node: model.Node) -> str:
        return '' if self._local(node) else (
            f'{self.settings.evpn.local_device} of [evpn] local_device has no '
            'IPv4 address; give it the one that the fabric has a route to')

    # -- names ------------------------------------------------------------

    def _port(self, network: model.ProviderNetwork, vni: model.Vni,
              node: model.Node) -> evpn.VniPort:
        segment = network.segment
        # One that no device can have is an objection.
        tag = (segment.vlan if segment and segment.vlan in vlans.TAGS
               else 0)
        name = evpn_names.vrf_end(network.uuid)
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

    def _nets(self, network: model.ProviderNetwork
              ) -> tuple[iptext.Network, ...]:
        return announcing.provider_networks(self.settings, network)


def _guard(dev: str) -> Iterator[resources.Rule]:
    """Rules behind that of the VRF, in both families.

    The kernel sees the packets of IPv4 come from the device, and those of IPv6
    from the VRF (6.12); with both, its version makes no difference.  The
    device requires them, so it is not there without them; the engine has them
    stay until all devices have gone.
    """
    for ipv6 in (None, True):
        yield resources.VniRule(ownership.EVPN_RULE_PRIORITY,
                                resources.BLACKHOLE, iif=dev, ipv6=ipv6)
