# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The machines that nodes translate to egress addresses, from rows of NB."""

from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import wording
from ovn_network_agent.drivers import source
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Uuid

_NAT = ('nb', 'NAT')
_ROUTER = ('nb', 'Logical_Router')
_PORT = ('nb', 'Logical_Router_Port')
_BINDING = ('sb', 'Port_Binding')


class Uplink(typing.NamedTuple):
    """A gateway port."""

    name: str
    mac: str
    networks: tuple[str, ...]  # 'address/length', sorted
    segments: tuple[tuple[str, int], ...]


def chassis_of(row: Row) -> str:
    """The chassis that translates for a NAT row, '' for another row."""
    if not columns.entry(row, 'external_ids', ownership.EXT_ID_EGRESS):
        return ''
    return columns.entry(row, 'external_ids',
                         ownership.EXT_ID_EGRESS_CHASSIS) or ''


def _names(row: Row) -> list[str]:
    return [str(row.uuid)] if chassis_of(row) else []


def _places(row: Row) -> list[tuple[str, str]]:
    chassis = chassis_of(row)
    return [(chassis, columns.atom(row, 'logical_ip'))] if chassis else []


def _is_gateway(row: Row) -> bool:
    return bool(columns.referenced(row, 'gateway_chassis') or
                columns.referenced(row, 'ha_chassis_group'))


def _of_type(kind: str, row: Row) -> bool:
    return bool(columns.atom(row, 'type') == kind)


class EgressHosts(source.Source):
    """Makes a subject of each NAT row that keeps a machine's address."""

    KIND = model.EgressHost
    INDEXES = {
        _NAT: {'egress': _names, 'place': _places},
        _ROUTER: {'nat': lambda row: columns.referenced(row, 'nat'),
                  'uuid': lambda row: [row.uuid]},
        _PORT: {'gateway': lambda row: [row.uuid] if _is_gateway(row) else []},
        _BINDING: {
            'peer': lambda row: filter(None, [
                columns.entry(row, 'options', 'peer')
                if _of_type('patch', row) else None]),
            'localnet': lambda row: (columns.referenced(row, 'datapath')
                                     if _of_type('localnet', row) else [])}}
    NAMES = (*_NAT, 'egress')

    def build(self, name: str, find: source.Find) -> model.EgressHost | None:
        """The machine of a row, None while no router has the row."""
        for row in find(*_NAT, 'egress', name):
            for router in find(*_ROUTER, 'nat', row.uuid):
                return _made(find, row, router)
        return None


def _made(find: source.Find, row: Row, router: Row) -> model.EgressHost:
    machine = columns.atom(row, 'logical_ip')
    family = ip_text.address(machine).version
    address = columns.entry(row, 'external_ids',
                            ownership.EXT_ID_EGRESS_ADDRESS) or ''
    if ip_text.address(address).version != family:
        raise ValueError(f'{address} and {machine} are of different families')
    host = model.EgressHost(
        _object(row), address, chassis_of(row), machine, str(router.uuid),
        wording.one_line(directory.neutron_name(router)),
        taken_by=_taken_by(find, row, machine))
    chosen = columns.referenced(row, 'gateway_port')
    for uplink in find.ask(uplinks, router.uuid):
        via = _via(uplink, family)
        if via and (not chosen or chosen == [uplink[0]]):
            port = uplink[1]
            return host._replace(
                port=port.name, mac=port.mac, via=via,
                segments=port.segments)
    return host


def _object(row: Row) -> str:
    return wording.one_line(columns.entry(
        row, 'external_ids', ownership.EXT_ID_EGRESS) or '')


def _via(uplink: tuple[Uuid, Uplink], family: int) -> str:
    return next((str(each.ip) for each in map(
        ip_text.interface, uplink[1].networks) if each.version == family), '')


def _taken_by(find: source.Find, row: Row, machine: str) -> str:
    """The object of another router's machine that comes first, or ''."""
    others = find(*_NAT, 'place', (chassis_of(row), machine))
    first = min(others, key=lambda each: (_object(each), str(each.uuid)))
    return '' if first.uuid == row.uuid else _object(first)


def uplinks(find: source.Find, router: Uuid
            ) -> tuple[tuple[Uuid, Uplink], ...]:
    """The gateway ports of a router, in the order of their names."""
    found = [(row.uuid, Uplink(
        columns.atom(row, 'name'), columns.atom(row, 'mac').lower(),
        rows.networks(row)[0], find.ask(
            segments, columns.atom(row, 'name'))))
        for each in find(*_ROUTER, 'uuid', router)
        for port in columns.referenced(each, 'ports')
        for row in find(*_PORT, 'gateway', port)]
    return tuple(sorted(found, key=lambda each: each[1].name))


def segments(find: source.Find, lrp: str) -> tuple[tuple[str, int], ...]:
    """(physical network, VLAN) of the network of a router port."""
    return tuple(sorted({place for row in find(*_BINDING, 'peer', lrp)
                         for datapath in columns.referenced(row, 'datapath')
                         for place in _localnets(find, datapath)}))


def _localnets(find: source.Find, datapath: Uuid
               ) -> Iterator[tuple[str, int]]:
    for row in find(*_BINDING, 'localnet', datapath):
        yield (columns.entry(row, 'options', 'network_name') or '',
               columns.atom(row, 'tag', 0))
