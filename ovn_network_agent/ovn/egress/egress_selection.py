# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From the selection of an egress address to machines, by row.  Pure."""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.drivers import source
from ovn_network_agent.model import selection
from ovn_network_agent.ovn.egress import egress_file
from ovn_network_agent.ovn.egress import egress_routers as routers
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Uuid

SWITCH = ('nb', 'Logical_Switch')
MACHINE = ('nb', 'Logical_Switch_Port')
GROUP = ('nb', 'Port_Group')
DHCP = ('nb', 'DHCP_Options')
#: The tables whose rows may name an object.
NAMING = (routers.ROUTER, SWITCH, GROUP)
_TYPES = ('', 'virtual', 'external')  # types of ports that machines have
_ROUTER_PORT = 'router-port'
_PORT_NAME = 'neutron:port_name'
_SUBNETS = 'neutron:subnet_ids'
_SUBNET = 'subnet_id'


@dataclasses.dataclass(frozen=True, slots=True)
class Selected:
    """The machines of an object, sorted, and what names nothing."""

    machines: tuple[model.EgressMachine, ...] = ()
    problems: tuple[str, ...] = ()


@dataclasses.dataclass(slots=True)
class _Limits:
    """What machines have to meet; None is no limit."""

    ports: frozenset[Uuid] | None = None
    router: str | None = None
    nets: list[tuple[ip_text.Network, ...]] = dataclasses.field(
        default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)

    def meet(self, ports: Iterable[Uuid]) -> None:
        """Let only some ports pass."""
        self.ports = frozenset(ports if self.ports is None
                               else self.ports.intersection(ports))

    def passes(self, machine: model.EgressMachine) -> bool:
        """Whether a machine meets all but the ports."""
        return self.router in (None, machine.router) and all(
            networks.inside(machine.address, nets) for nets in self.nets)


# -- keys of indexes ------------------------------------------------------

def port_names(row: Row) -> frozenset[str]:
    """All names of a port of a machine."""
    return selection.names(
        '', str(row.uuid), columns.atom(row, 'name'),
        columns.entry(row, 'external_ids', _PORT_NAME) or '')


def router_port(row: Row) -> list[str]:
    """The port of a router that a port of a network leads to."""
    found = columns.entry(row, 'options', _ROUTER_PORT)
    return [found] if found and columns.atom(row, 'type') == 'router' else []


def subnets(row: Row) -> list[str]:
    """The subnets of Neutron that a port of a router is in."""
    return (columns.entry(row, 'external_ids', _SUBNETS) or '').split()


def subnet(row: Row) -> list[str]:
    """The subnet of Neutron that options of DHCP are of."""
    found = columns.entry(row, 'external_ids', _SUBNET)
    return [found] if found else []


# -- machines -------------------------------------------------------------

def selected(find: source.Find, name: str) -> Selected:
    """The machines of an object, by the file and by rows of OVN."""
    found: dict[tuple[str, str], model.EgressMachine] = {}
    problems: list[str] = []
    for limits in _all_limits(find, name):
        problems += limits.problems
        for port in sorted(limits.ports or ()):
            for machine in find.ask(of_port, port):
                if limits.passes(machine):
                    found.setdefault((machine.router, machine.address),
                                     machine)
    return Selected(
        tuple(sorted(found.values(), key=lambda each: (
            each.router, networks.sort_key(each.address)))), tuple(problems))


def contested(find: source.Find) -> dict[tuple[str, str], str]:
    """By router and address, the first of several objects with a machine."""
    first: dict[tuple[str, str], str] = {}
    found = {}
    for entry in sorted(find(*egress_file.TABLE, 'all', True),
                        key=lambda each: each.uuid):
        families = set(map(networks.family, entry.addresses))
        for machine in find.ask(selected, entry.uuid).machines:
            key = machine.router, machine.address
            if networks.family_of_valid(machine.address) in families and (
                    first.setdefault(key, entry.uuid) != entry.uuid):
                found[key] = first[key]
    return found


def of_port(find: source.Find,
            port: Uuid) -> tuple[model.EgressMachine, ...]:
    """The addresses of a port, each at all routers with a gateway port."""
    return tuple(
        model.EgressMachine(columns.atom(row, 'name'), address, router.uuid)
        for row in find(*MACHINE, 'uuid', port)
        if columns.atom(row, 'type') in _TYPES
        for switch in find(*SWITCH, 'port', port)
        for lrp, router in find.ask(_around, switch.uuid)
        for address in _addresses(row)
        if networks.inside(address, dict(router.inner).get(lrp, ())))


def _addresses(row: Row) -> list[str]:
    texts = [each for text in columns.atoms(row, 'addresses')
             for each in (columns.atoms(row, 'dynamic_addresses')
                          if 'dynamic' in text.split() else [text])]
    found = {}
    for word in (word for text in texts for word in text.split()[1:]):
        interface = networks.parse_interface(word)
        if interface is not None and not interface.ip.is_link_local:
            found[str(interface.ip)] = True
    return list(found)


def _around(find: source.Find,
            switch: Uuid) -> tuple[tuple[str, routers.Router], ...]:
    """The routers of a network that have a gateway port, with their ports."""
    return tuple(
        (lrp, router) for row in find(*SWITCH, 'uuid', str(switch))
        for port in columns.referenced(row, 'ports')
        for lrp in find.ask(_leads_to, port)
        if (router := find.ask(routers.of_port, lrp)) and router.gateways)


def _leads_to(find: source.Find, port: Uuid) -> list[str]:
    return [lrp for row in find(*MACHINE, 'uuid', port)
            for lrp in router_port(row)]


# -- limits ---------------------------------------------------------------

def _all_limits(find: source.Find, name: str) -> Iterator[_Limits]:
    for entry in find(*egress_file.TABLE, 'name', name):
        if entry.select is not None:
            yield _by_file(find, entry.select)
    for place in NAMING:
        for row in find(*place, 'egress', name):
            if place == routers.ROUTER:
                yield _Limits(find.ask(_of_router, str(row.uuid)),
                              str(row.uuid))
            else:
                yield _Limits(frozenset(columns.referenced(row, 'ports')))


def _by_file(find: source.Find, select: egress_file.Select) -> _Limits:
    limits = _Limits()
    if select.cidrs:
        limits.nets.append(select.cidrs)
    if select.router:
        for row in _one(find, limits, routers.ROUTER, 'router',
                        select.router):
            limits.router = str(row.uuid)
            limits.meet(find.ask(_of_router, str(row.uuid)))
    if select.network:
        for row in _one(find, limits, SWITCH, 'network', select.network):
            limits.meet(columns.referenced(row, 'ports'))
    if select.subnet:
        _meet_subnet(find, limits, select.subnet)
    if select.ports:
        limits.meet([row.uuid for text in select.ports
                     for row in _one(find, limits, MACHINE, 'port', text)])
    for group in select.groups:
        for row in _one(find, limits, GROUP, 'port group', group):
            limits.meet(columns.referenced(row, 'ports'))
    return limits


def _one(find: source.Find, limits: _Limits, place: source.Place, kind: str,
         text: str) -> list[Row]:
    """The only row that a text names; without it, the limit lets none pass."""
    found = find(*place, 'called', text)
    if len(found) == 1:
        return found
    if kind != 'port':
        limits.meet(())
    limits.problems.append(
        f'{len(found):d} rows are called so: {kind} {text!r}; take the UUID'
        if found else f'OVN has no {kind} {text!r}; correct or remove it')
    return []


def _of_router(find: source.Find, uuid: str) -> frozenset[Uuid]:
    """The ports of all networks behind a router."""
    router = find.ask(routers.read, uuid)
    return frozenset(
        port for lrp, _nets in (router.inner if router else ())
        for port in find.ask(_beside, lrp))


def _beside(find: source.Find, lrp: str) -> frozenset[Uuid]:
    """The ports of the network that a port of a router is in."""
    return frozenset(
        port for leading in find(*MACHINE, 'leads to', lrp)
        for switch in find(*SWITCH, 'port', leading.uuid)
        for port in columns.referenced(switch, 'ports'))


def _meet_subnet(find: source.Find, limits: _Limits, uuid: str) -> None:
    """Let a subnet pass, which OVN knows by routers' ports and by DHCP."""
    ports = find(*routers.PORT, 'subnet', uuid)
    limits.meet([port for row in ports for port in find.ask(
        _beside, str(columns.atom(row, 'name')))])
    nets = {interface.network for text in (
        *(columns.atom(row, 'cidr') for row in find(*DHCP, 'subnet', uuid)),)
        if (interface := networks.parse_interface(text))}
    nets = nets or {interface.network for row in ports
                    for text in columns.atoms(row, 'networks')
                    if (interface := networks.parse_interface(text))}
    limits.nets.append(tuple(nets))
    if not ports:
        limits.problems.append(
            f'no router has a port in the subnet {uuid!r}; correct or remove '
            'it, or give the subnet a router')
