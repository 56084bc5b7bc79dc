# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The provider networks with machines: subnets, routers, VNI.  Pure."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import typing

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovn.subjects import segments
from ovn_network_agent.ovn.subjects import vnis
from ovn_network_agent.ovn.subjects import withholding
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_BINDING, _LRP = 'Port_Binding', 'Logical_Router_Port'
_DHCP, _SWITCH = 'DHCP_Options', 'Logical_Switch'


class Network(typing.NamedTuple):
    """A provider network, and what decides about its announcements."""

    network: model.ProviderNetwork
    row: withholding.Network


class ProviderNetworks:
    """Finds provider networks; a function of rows, see :mod:`ovn.queries`."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 located: segments.Segments) -> None:
        self._rows = found
        self._inputs = known
        self._segments = located
        self._withholding = withholding.Withholding(found, known, located)

    def network(self, datapath: Uuid) -> Network | None:
        """The provider network of machines, None for another one."""
        found = self._rows.ask(self.every, datapath)
        chosen = self._inputs.chosen.machines
        if found is None or chosen is None or (
                chosen.networks and not found.network.named or
                not (found.network.vni or chosen.without_vni)):
            return None
        return found

    def vni(self, datapath: Uuid | None) -> tuple[model.Vni | None, str]:
        """The VNI of the provider network of a datapath, and its UUID."""
        chosen = self._inputs.chosen.machines
        localnet = self._segments.localnet(datapath)
        if localnet is None or chosen is None or chosen.vnis is None:
            return None, ''
        row = self._withholding.network(localnet)
        return self._vni(row, chosen.vnis), row.uuid or str(datapath)

    def every(self, datapath: Uuid) -> Network | None:
        """The provider network of a datapath, None for another one."""
        localnet = self._segments.localnet(datapath)
        chosen = self._inputs.chosen.machines
        if localnet is None or chosen is None:
            return None
        row = self._withholding.network(localnet)
        segment = self._segments.of_localnet(datapath, localnet)
        named = bool(chosen.networks &
                     {*row.names, segment.physical_network})
        vni = None if chosen.vnis is None else self._vni(row, chosen.vnis)
        routers = tuple(sorted(self._routers(datapath)))
        subnets = {subnet for of, subnet in self._rows.find(
            'sb', _BINDING, 'subnet').keys() if of == datapath}
        subnets.update(str(each.network) for each in map(
            networks.parse_interface, routers) if each)
        nets = tuple(sorted(subnets))
        taken = tuple(sorted({str(each.ip) for each in map(
            networks.parse_interface, routers) if each}))
        stateless = {
            columns.entry(dhcp, 'options', 'dhcpv6_stateless') == 'true'
            for subnet in subnets if ':' in subnet
            for dhcp in self._dhcp(subnet)}
        return Network(model.ProviderNetwork(
            row.uuid or str(datapath), row.called or row.uuid, nets, segment,
            taken,
            tuple(sorted(self._elsewhere(datapath))),
            any(self._advertises(lrp) for lrp in self._attached(datapath)),
            False in stateless, True in stateless, named, vni,
            self._gateways(datapath, nets, taken) if vni else ()), row)

    def _dhcp(self, subnet: str) -> list[columns.Row]:
        return self._rows.rows('nb', _DHCP, self._rows.find(
            'nb', _DHCP, 'subnet').find(subnet))

    def _vni(self, of: withholding.Network,
             chosen: Iterable[tuple[str, int]]) -> model.Vni | None:
        """The VNI of a network, see :mod:`ovn.subjects.vnis`."""
        found = self._configured(self._rows.find(
            'nb', _SWITCH, 'uuid').first(of.uuid), chosen)
        if found is None or found.problem:
            return found
        return vnis.agreed(found, self._with(found.number, chosen))

    def _configured(self, switch: Uuid, chosen: Iterable[tuple[str, int]]
                    ) -> model.Vni | None:
        """The VNI that options or the row of a switch say."""
        found = next(iter(self._rows.find('nb', _SWITCH, 'vni').keys_of(
            switch)), None)
        names = self._rows.find('nb', _SWITCH, 'names').keys_of(switch)
        named = min((number for name, number in chosen if name in names),
                    default=0)
        if not named or (found and found.number == named):
            return found
        # The lists of another VNI are not for this one.
        return model.Vni(named) if found else next(
            (vnis.named(row, named) for row in self._rows.rows(
                'nb', _SWITCH, [switch])), model.Vni(named))

    def _with(self, number: int, chosen: Iterable[tuple[str, int]]
              ) -> Iterator[tuple[str, model.Vni]]:
        """(name, VNI) of all provider networks with a VNI, the first first."""
        named = self._rows.find('nb', _SWITCH, 'names')
        switches = set(self._rows.find('nb', _SWITCH, 'number').find(number))
        switches.update(switch for name, of in chosen if of == number
                        for switch in named.find(name))
        provider = self._rows.ask(self._provider)
        for row in self._rows.rows('nb', _SWITCH, sorted(switches)):
            vni = self._configured(row.uuid, chosen)
            if vni and vni.number == number and str(row.uuid) in provider:
                yield directory.network_name(row), vni

    def _provider(self) -> frozenset[str]:
        """UUIDs of the logical switches with a localnet port."""
        found = (self._segments.localnet(datapath) for datapath
                 in self._rows.find('sb', _BINDING, 'localnet').keys())
        return frozenset(self._withholding.network(row).uuid
                         for row in found if row is not None)

    def _gateways(self, datapath: Uuid, nets: Collection[str],
                  routers: Collection[str]) -> tuple[str, ...]:
        """The IPv4 gateways of subnets that neither router nor port has.

        Without one of its own, Neutron gives the first address.
        """
        found = {address for net in map(ip_text.network, nets)
                 if net.version == 4 and net.num_addresses > 2
                 for address in {
                     gateway for row in self._dhcp(str(net))
                     for gateway in vnis.gateway(row)} or {str(net[1])}}
        machines = self._rows.find('sb', _BINDING, 'ip')
        return tuple(sorted(
            address for address in found.difference(routers) if not any(
                datapath in columns.referenced(row, 'datapath')
                for row in self._rows.rows('sb', _BINDING,
                                           machines.find(address)))))

    def _advertises(self, lrp: str) -> bool:
        """Whether OVN answers router solicitations for a router port."""
        return any(columns.entry(row, 'ipv6_ra_configs', 'address_mode')
                   for row in self._rows.rows('nb', _LRP, self._rows.find(
                       'nb', _LRP, 'name').find(lrp)))

    def _elsewhere(self, datapath: Uuid) -> Iterator[str]:
        """See :attr:`model.ProviderNetwork.elsewhere`."""
        for lrp in self._attached(datapath):
            if self._is_elsewhere(lrp):
                for uuid in self._rows.find('nb', _LRP, 'name').find(lrp):
                    yield from (each for each in self._rows.find(
                        'nb', _LRP, 'address').keys_of(uuid) if ':' in each)
        for nat in self._rows.find('nb', 'NAT', 'ipv6').find(True):
            if self._rows.ask(self._is_nat_elsewhere, datapath, nat):
                yield from self._rows.find('nb', 'NAT', 'address').keys_of(nat)

    def _is_nat_elsewhere(self, datapath: Uuid, nat: Uuid) -> bool:
        return any(
            self._rows.ask(self._segments.datapath, lrp) == datapath and
            self._is_elsewhere(lrp)
            for router in self._rows.find('nb', 'Logical_Router',
                                          'nat').find(nat)
            for port in self._rows.find('nb', 'Logical_Router',
                                        'port').keys_of(router)
            for lrp in self._rows.find('nb', _LRP, 'name').keys_of(port))

    def _is_elsewhere(self, lrp: str) -> bool:
        redirect = self._segments.redirect(lrp)
        return redirect is not None and rows.chassis_name(
            redirect, self._rows.referred) != self._inputs.wiring.chassis

    def _routers(self, datapath: Uuid) -> Iterator[str]:
        """'address/len' of the router ports on a network."""
        for name in self._attached(datapath):
            for uuid in self._rows.find('nb', _LRP, 'name').find(name):
                row = self._rows.row('nb', _LRP, uuid)
                yield from () if row is None else rows.networks(row)[0]

    def _attached(self, datapath: Uuid) -> Iterator[str]:
        """Names of the router ports on a network."""
        peers = self._rows.find('sb', _BINDING, 'peer')
        for patch in self._rows.find('sb', _BINDING,
                                     'attached').find(datapath):
            yield from peers.keys_of(patch)


_Networks = Mapping[str, model.ProviderNetwork]


class VniNetworks:
    """Finds the networks of VNIs with gateway ports of this chassis."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 located: segments.Segments,
                 places: ProviderNetworks) -> None:
        self._rows = found
        self._inputs = known
        self._segments = located
        self._places = places
        # Of the last view, and their ports in VNIs.
        self._of: tuple[object, object] = (), ()
        self._ports: set[str] = set()
        #: these and those of machines; the same mapping while they are equal
        self.joined: _Networks = {}
        # What they were made of.
        self._parts: tuple[_Networks, _Networks] = {}, {}

    def update(self, of_machines: _Networks,
               routers: tuple[model.Router, ...],
               groups: tuple[model.GatewayGroup, ...]) -> None:
        """Look at routers here or to come: the devices come first."""
        if self._of[0] is not routers or self._of[1] is not groups:
            self._of = routers, groups
            ports = {port.lrp for router in routers
                     for port in router.used_ports if port.vni}
            ports.update(port.lrp for group in groups
                         for port in group.ports if port.vni)
            if ports != self._ports:
                self._ports = ports
                self._rows.outdate('VNI ports')
        parts = of_machines, self._rows.ask(self._found)
        if any(new is not old for new, old
               in zip(parts, self._parts, strict=True)):
            self.joined, self._parts = {**parts[1], **parts[0]}, parts

    def domain(self, lrp: str) -> int:
        """The VNI of the network of a gateway port, 0 for the underlay."""
        found, _uuid = self._places.vni(self._segments.datapath(lrp))
        return found.number if found else 0

    # -- a function of rows -----------------------------------------------

    def _found(self) -> dict[str, model.ProviderNetwork]:
        self._rows.note('VNI ports')
        found = {}
        for lrp in sorted(self._ports):
            datapath = self._rows.ask(self._segments.datapath, lrp)
            each = datapath and self._rows.ask(self._places.every, datapath)
            if each:
                found[each.network.uuid] = each.network
        return found
