# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The machines of the selection of an egress address, by row.  Pure."""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
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


class Selected(typing.NamedTuple):
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
        for lrp, router in find.ask(_routers_of, switch.uuid)
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


def _routers_of(find: source.Find,
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
        for port in find.ask(_ports_of_network, lrp))


def _ports_of_network(find: source.Find, lrp: str) -> frozenset[Uuid]:
    """The ports of the network that a port of a router is in."""
    return frozenset(
        port for leading in find(*MACHINE, 'leads to', lrp)
        for switch in find(*SWITCH, 'port', leading.uuid)
        for port in columns.referenced(switch, 'ports'))


def _meet_subnet(find: source.Find, limits: _Limits, uuid: str) -> None:
    """Let a subnet pass, which OVN knows by routers' ports and by DHCP."""
    ports = find(*routers.PORT, 'subnet', uuid)
    limits.meet([port for row in ports for port in find.ask(
        _ports_of_network, str(columns.atom(row, 'name')))])
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


def judged(find: source.Find, name: str) -> tuple[model.EgressMachine, ...]:
    """The machines of an object, with reasons why some do not count."""
    others = find.ask(_translated_for_others)
    return tuple(
        machine if machine.why else machine._replace(
            why=others.get((machine.router, machine.address), ''))
        for machine in find.ask(_by_router, name))


def _by_router(find: source.Find,
               name: str) -> tuple[model.EgressMachine, ...]:
    """As :func:`judged`, without the machines of other routers."""
    return tuple(
        _judged(find, entry, machine)
        for entry in find(*egress_file.TABLE, 'name', name)
        for machine in find.ask(selected, name).machines)


def _judged(find: source.Find, entry: egress_file.Entry,
            machine: model.EgressMachine) -> model.EgressMachine:
    winner = find.ask(contested).get(
        (machine.router, machine.address), entry.uuid)
    family = networks.family(machine.address)
    why = ''
    if winner != entry.uuid:
        why = f'egress address {winner} has it, too, and is first by its name'
    elif not any(networks.family(each) == family for each in entry.addresses):
        why = f'no address of IPv{family:d} is in the file'
    else:
        why = find.ask(routers.translated, machine.router, machine.address,
                       entry.addresses)
    if not why and entry.mode is model.EgressMode.HOST:
        why = find.ask(routers.outside, machine.address)
    return machine._replace(why=why) if why else machine


# -- machines of several routers with one address on one node -------------

def _translated_for_others(find: source.Find) -> dict[tuple[str, str], str]:
    """By router and address of machines that their node cannot translate, why.

    The kernel sees no router, so two machines with one address look alike.
    One with a row stays, at best of this node; else the first by object, UUID.
    """
    first: dict[tuple[str, str], tuple[bool, bool, str, str]] = {}
    claims = []
    for entry in find(*egress_file.TABLE, 'all', True):
        if entry.mode is not model.EgressMode.HOST:
            continue
        name = entry.uuid
        for machine in find.ask(_by_router, name):
            node = '' if machine.why else find.ask(
                usable, name, machine.router)
            if node:
                chassis = find.ask(_rows, name, machine.router).get(
                    machine.address, set())
                claim = (node not in chassis, not chassis, name,
                         machine.router)
                place = node, machine.address
                first[place] = min(first.get(place, claim), claim)
                claims.append((place, claim))
    return {
        (claim[3], place[1]):
        f'egress address {first[place][2]} has a machine with the same '
        f'address behind another router ({_called(find, first[place][3])}) '
        f'on the same node ({place[0]}), which can translate one of them; '
        'give the objects different nodes (gateways)'
        for place, claim in claims if claim != first[place]}


def _called(find: source.Find, router: str) -> str:
    found = find.ask(routers.read, router)
    return found.called if found else router


def usable(find: source.Find, name: str, router: str) -> str:
    """The chassis that may translate for a router, or ''."""
    found = find.ask(chassis_of, name, router)
    for entry in find(*egress_file.TABLE, 'name', name):
        if not entry.gateways or found and {
                found, find.ask(routers.hostname, found)} & {*entry.gateways}:
            return found
    return ''


def chassis_of(find: source.Find, name: str, router: str) -> str:
    """The chassis of a router's only gateway port, '' while it moves."""
    found = find.ask(routers.read, router)
    if found is None or len(found.gateways) != 1:
        return ''
    return find.ask(routers.chassis, found.gateways[0].name) or next(
        (chassis for _port, chassis, _address in find.ask(
            there, name, router) if chassis), '')


# -- rows -----------------------------------------------------------------

def there(find: source.Find, name: str,
          router: str) -> tuple[tuple[str, str, str], ...]:
    """Sorted (port or '', chassis or '', address) of an object's rows."""
    return tuple(sorted({(port, chassis, address) for
                         port, chassis, address, _machine
                         in _rows_of(find, name, router)}))


def _rows(find: source.Find, name: str, router: str) -> dict[str, set[str]]:
    """The chassis of an object's rows of a router, by machine."""
    found: dict[str, set[str]] = {}
    for _port, chassis, _address, machine in _rows_of(find, name, router):
        if chassis:
            found.setdefault(machine, set()).add(chassis)
    return found


def _rows_of(find: source.Find, name: str, router: str
             ) -> tuple[tuple[str, str, str, str], ...]:
    """(port or '', chassis or '', address, machine) of each row, sorted."""
    return find.ask(_everywhere, name).get(router, ())


def _everywhere(find: source.Find, name: str
                ) -> dict[str, tuple[tuple[str, str, str, str], ...]]:
    """As :func:`_rows_of`, by router."""
    found = collections.defaultdict(list)
    for row in find(*routers.NAT, 'egress', name):
        entries = columns.entries(row, 'external_ids')
        values = (
            next((str(columns.atom(each, 'name')) for each in
                  columns.rows(row, 'gateway_port')), ''),
            entries.get(ownership.EXT_ID_EGRESS_CHASSIS, ''),
            str(entries.get(ownership.EXT_ID_EGRESS_ADDRESS) or
                columns.atom(row, 'external_ip')),
            str(columns.atom(row, 'logical_ip')))
        for router in find(*routers.ROUTER, 'nat', row.uuid):
            found[str(router.uuid)].append(values)
    return {router: tuple(sorted(values)) for router, values in found.items()}
