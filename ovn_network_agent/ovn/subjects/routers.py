# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers, and their addresses' sources but NAT rows, by row.  Pure.

The health of a load balancer's backends is in rows of Service_Monitor:
ovn-northd makes them, and the backend's chassis writes the status (ovn-sb(5)).
"""

from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.subjects import provider_networks
from ovn_network_agent.ovn.subjects import segments
from ovn_network_agent.ovn.subjects import vnis
from ovn_network_agent.ovn.subjects import withholding
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Uuid

_ONLINE = 'online'


def without(found: queries.Queries, balancer: Row) -> frozenset[str]:
    """The virtual IPs of a load balancer that have no backend, by rows.

    All ports are checked and none is online; no status yet counts as online.
    Neutron's driver adds the floating IP, perhaps without a check.
    """
    vips = dict(balancer.vips)
    checked = {vips.get(columns.atom(row, 'vip')) for row
               in found.referred(balancer, 'health_check')}
    served: set[str] = set()
    dead: set[str] = set()
    for vip, backends in vips.items():
        is_dead = backends in checked and not any(
            _is_online(found, balancer, *backend)
            for backend in _backends(backends))
        (dead if is_dead else served).add(rows.vip_address(vip))
    return frozenset(dead - served)


def _backends(text: str) -> Iterator[tuple[str, int]]:
    """Address and port of each, as in '10.0.0.5:80,[fd00::5]:80'."""
    for backend in text.split(','):
        host, _colon, port = backend.rpartition(':')
        try:
            yield str(ip_text.address(host.strip('[]'))), int(port)
        except ValueError:
            continue


def _is_online(found: queries.Queries, balancer: Row, address: str,
               port: int) -> bool:
    """Whether OVN sends connections to a backend.

    ip_port_mappings ('PORT:SOURCE') has its port: tenants' addresses meet.
    """
    mapping = (columns.entry(balancer, 'ip_port_mappings', address) or
               columns.entry(balancer, 'ip_port_mappings', f'[{address}]'))
    if mapping is None:
        return True
    key = (address, port, columns.atom(balancer, 'protocol', 'tcp'),
           mapping.partition(':')[0])
    monitors = found.rows('sb', 'Service_Monitor', found.find(
        'sb', 'Service_Monitor', 'backend').find(key))
    return not monitors or any(
        columns.atom(row, 'status', _ONLINE) == _ONLINE for row in monitors)


_ROUTER = 'Logical_Router'


class Frame(typing.NamedTuple):
    """A router without its default routes, and without what NAT rows say."""

    router: model.Router
    # Sorted, each address once.
    balanced: tuple[model.BalancedAddress, ...]
    judgement: withholding.Judgement


class Routers:
    """Builds routers."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 located: segments.Segments,
                 places: provider_networks.ProviderNetworks) -> None:
        self._rows = found
        self._inputs = known
        self._segments = located
        self._places = places
        self._withholding = withholding.Withholding(found, known, located)

    def frame(self, uuid: Uuid) -> Frame:
        """A router, and what its addresses have in common."""
        problems: list[str] = []
        ports = sorted(self._gateway_ports(uuid, problems),
                       key=lambda port: port.lrp)
        lrps = tuple(port.lrp for port in ports)
        balanced = tuple(self._rows.ask(self._claimed, each, lrps, uuid)
                         for each in self._balanced(uuid, problems))
        judgement = self._rows.ask(self._withholding.judge, uuid, lrps)
        (name, label), = self._rows.find('nb', _ROUTER, 'called').keys_of(uuid)
        tags = dict(judgement.tags)
        return Frame(model.Router(
            str(uuid), name,
            tuple(port._replace(tag=tags[port.lrp])
                  if port.lrp in tags else port
                  for port in self._in_vnis(uuid, ports)),
            problems=(*problems, *judgement.problems), label=label,
            routed_by_ovn=judgement.routed_by_ovn),
            balanced, judgement)

    def _in_vnis(self, uuid: Uuid, ports: list[model.GatewayPort]
                 ) -> list[model.GatewayPort]:
        """The ports with the VNI of their network, if the router agrees."""
        chosen = self._inputs.chosen.machines
        row = chosen and chosen.vnis is not None and self._rows.find(
            'nb', _ROUTER, 'vni').keys_of(uuid) and self._rows.row(
                'nb', _ROUTER, uuid)
        if not row:
            return ports
        wanted = vnis.asserted(row)
        return [port._replace(vni=vnis.checked(wanted, port.vni))
                for port in ports]

    def sent(self, uuid: Uuid) -> tuple[tuple[str, frozenset[str]], ...]:
        """The addresses in nat_addresses of each gateway port."""
        return tuple(
            (port.lrp, self._rows.ask(self._sent, port.lrp))
            for port in self._rows.ask(self.frame, uuid).router.ports)

    def _sent(self, lrp: str) -> frozenset[str]:
        patch = self._segments.patch(lrp)
        return frozenset(() if patch is None else rows.nat_addresses(patch))

    def default_routes(self, uuid: Uuid) -> tuple[model.NbDefaultRoute, ...]:
        """The default routes of a router, and other routes of agents."""
        references = self._rows.find('nb', _ROUTER, 'route').keys_of(uuid)
        found = {rows.default_route(row) for row in self._rows.rows(
            'nb', 'Logical_Router_Static_Route', references)}
        return tuple(sorted((route for route in found if route is not None),
                            key=lambda r: (r.nexthop, r.output_port)))

    def _balanced(self, router: Uuid, problems: list[str]
                  ) -> tuple[model.BalancedAddress, ...]:
        found: list[model.BalancedAddress] = []
        for uuid in withholding.balancers(self._rows, router):
            addresses, bad = self._rows.ask(self._of_balancer, uuid)
            found.extend(addresses)
            problems.extend(bad)
        return rows.merged(found)

    def _of_balancer(self, uuid: Uuid) -> tuple[
            tuple[model.BalancedAddress, ...], tuple[str, ...]]:
        row = self._rows.row('nb', 'Load_Balancer', uuid)
        if row is None:
            return (), ()
        found, problems = rows.balanced(row)
        if self._inputs.chosen.checks_backends:
            dead = without(self._rows, row)
            found = tuple(each._replace(without_backends=each.address in dead)
                for each in found)
        return found, problems

    def _claimed(self, balanced: model.BalancedAddress,
                 lrps: tuple[str, ...], router: Uuid
                 ) -> model.BalancedAddress:
        """A virtual IP that is in no other router's NAT rows (ADR 0039)."""
        other = self._segments.claimant(lrps, balanced.address, router)
        return balanced if other is None else balanced._replace(
            unanswered='it is the address of a NAT row of router '
            f'{other}')

    def _gateway_ports(self, router: Uuid, problems: list[str]
                       ) -> Iterator[model.GatewayPort]:
        for uuid in self._rows.find('nb', _ROUTER, 'port').keys_of(router):
            port, bad = self._rows.ask(self._port, uuid)
            if port is not None:
                problems.extend(bad)
                yield port

    def _port(self, uuid: Uuid) -> tuple[model.GatewayPort | None,
                                         tuple[str, ...]]:
        """A gateway port, or None without candidates, and network problems."""
        row = self._rows.row('nb', 'Logical_Router_Port', uuid)
        if row is None:
            return None, ()
        name = columns.atom(row, 'name')
        redirect = self._segments.redirect(name)
        if redirect is None and not rows.members(
                row, self._rows.referred)[2]:
            return None, ()
        wiring = self._inputs.wiring
        chassis = '' if redirect is None else rows.chassis_name(
            redirect, self._rows.referred)
        follows = redirect is not None and self._inputs.follows(
            columns.atom(redirect, 'logical_port'))
        nets, bad = rows.networks(row)
        gateway = networks.virtual_gateway(nets)
        vni, network = self._rows.ask(self._places.vni, self._rows.ask(
            self._segments.datapath, name))
        return model.GatewayPort(
            name, columns.atom(row, 'mac').lower(), nets, chassis,
            follows and (chassis == wiring.chassis or
                         not chassis and name in wiring.held),
            self._rows.ask(self._segments.segment, name),
            nexthop_used=gateway is not None and self._rows.ask(
                self._segments.is_used, name, gateway),
            vni=vni, network=network), bad
