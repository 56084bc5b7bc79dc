# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rows of OVN NB that concern one address."""

from collections.abc import Iterable
import contextlib
import typing

from oslo_config import cfg

from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.conf import plugins
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.subjects import vnis
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import query

# Types of ports with hosts behind them that OVN does not know.
_OPEN = ('localnet', 'l2gateway', 'vtep')
_CIDRS = 'neutron:cidrs'

#: the rows by table and UUID
Tables: typing.TypeAlias = dict[str, dict[columns.Uuid, columns.Row]]


def read(conf: cfg.ConfigOpts, address: str) -> Tables:
    """Select the rows of the routers that have an address.

    Only its NAT rows are selected, out of thousands that a router may have.
    Logical_Router is empty when no router has the address.
    """
    with readers.Session(conf, 'nb') as session:
        _select(session, address, inputs.choice(conf).checks_backends)
        return session.tables


def read_tenants(conf: cfg.ConfigOpts, prefix: str) -> Tables:
    """Select the routers with a network that overlaps with a prefix.

    OVSDB has no question for prefixes, so all ports of routers are looked at,
    with few columns.
    """
    with readers.Session(conf, 'nb') as session:
        routers = _behind(session, ip_text.network(prefix),
                          conf.tenant_network.extra_routes)
        session.by_uuid('NAT', {
            key for router in routers
            for key in columns.referenced(router, 'nat')})
        tenants = inputs.choice(conf).tenants
        if tenants and tenants.vips:
            address = str(ip_text.network(prefix).network_address)
            routers = _unique([routers, _balanced(session, address)])
            _checks(session, address)
        _select_routers(session, routers)
        return session.tables


def _behind(session: query.Session, wanted: ip_text.Network,
            routes: bool) -> list[columns.Row]:
    """The routers with a network, or an extra route, that overlaps."""
    found = []
    for table, column, reference in (
            ('Logical_Router_Port', 'networks', 'ports'),
            ('Logical_Router_Static_Route', 'ip_prefix', 'static_routes'),
            )[:1 + routes]:
        rows_, = session.select((table,), columns=[column])
        # A row with few columns is no row for other readers.
        session.tables[table].clear()
        found += session.select(*(
            ('Logical_Router', [reference, 'includes', _reference(row)])
            for row in rows_ if any(
                _overlaps(text, wanted)
                for text in columns.atoms(row, column))))
    return _unique(found)


def _overlaps(text: str, wanted: ip_text.Network) -> bool:
    with contextlib.suppress(ValueError):
        return networks.overlap(ip_text.interface(text).network, wanted)
    return False


def read_networks(conf: cfg.ConfigOpts, sb: columns.Tables) -> Tables:
    """Select the networks of some ports of SB, and their router ports."""
    with readers.Session(conf, 'nb') as session:
        keys: list[columns.Uuid] = [
            columns.entry(row, 'external_ids', 'logical-switch')
            for row in sb['Datapath_Binding'].values()]
        session.by_uuid('Logical_Switch', filter(None, keys))
        session.select(*(
            ('Logical_Router_Port', ['name', '==', peer])
            for row in sb['Port_Binding'].values()
            if (peer := columns.entry(row, 'options', 'peer'))))
        if plugins.requested(conf, plugins.VNIS):
            _select_vnis(session, sb)
        return session.tables


def _select_vnis(session: query.Session, sb: columns.Tables) -> None:
    """Select the other networks of the same VNIs, and the gateways."""
    numbers = sorted({vni.number
                      for row in session.tables['Logical_Switch'].values()
                      for vni in vnis.read(row)} - {0})
    subnets = sorted({subnet for row in sb['Port_Binding'].values()
                      for subnet in rows.subnets(row)[0]})
    session.select(
        *(('Logical_Switch', ['external_ids', 'includes',
                              ['map', [[key, str(number)]]]])
          for number in numbers for key in vnis.KEYS),
        *(('DHCP_Options', ['cidr', '==', subnet]) for subnet in subnets))


class InnerAddress(typing.NamedTuple):
    """What has the inner address of a NAT row."""

    # Network of the router port that the address is behind, or prefix of the
    # static route to the address; '' without one.
    network: str = ''
    port: str = ''  # name of the logical port with the address, '' for none
    # Whether a port of the network would have the address: not behind a static
    # route, and not where a port has unknown addresses.
    judged: bool = True


def read_inner_address(conf: cfg.ConfigOpts, router: str, address: str
                       ) -> InnerAddress:
    """Find the logical port that has an inner address of a router.

    Neutron's port of the address of a load balancer has its address only in
    external_ids.
    """
    with readers.Session(conf, 'nb') as session:
        return _inner_address(session, router, ip_text.address(address))


def _inner_address(session: query.Session, router: columns.Uuid,
                   address: ip_text.Address) -> InnerAddress:
    found = session.by_uuid('Logical_Router', [router])
    by_port = {port: network for row in found for port in session.by_uuid(
        'Logical_Router_Port', columns.referenced(row, 'ports'))
        for network in port.networks
        if covers(network, address)}
    if not by_port:
        routed = next((route.ip_prefix for row in found
                       for route in session.by_uuid(
            'Logical_Router_Static_Route',
            columns.referenced(row, 'static_routes'))
            if not route.ip_prefix.endswith('/0') and
            covers(route.ip_prefix, address)), '')
        return InnerAddress(routed, judged=not routed)
    _switches(session, by_port)
    judged = bool(session.tables['Logical_Switch'])
    for switch in list(session.tables['Logical_Switch'].values()):
        # A load balancer of the network may answer for the address.
        judged &= not any(columns.referenced(switch, column) for column in (
            'load_balancer', 'load_balancer_group'))
        for port in session.by_uuid('Logical_Switch_Port',
                                    columns.referenced(switch, 'ports')):
            if address in addresses(port):
                return InnerAddress(next(iter(by_port.values())), port.name)
            judged &= port.type not in _OPEN and not any(
                'unknown' in text for text in port.addresses)
    return InnerAddress(next(iter(by_port.values())), judged=judged)


def covers(network: str, address: ip_text.Address) -> bool:
    """Whether a network, any text, has an address of ipaddress."""
    with contextlib.suppress(ValueError):
        return address in ip_text.interface(network).network
    return False


def addresses(port: columns.Row) -> set[ip_text.Address]:
    """All addresses of a row of Logical_Switch_Port."""
    texts = [*port.addresses, columns.optional(port, 'dynamic_addresses'),
             port.external_ids.get(_CIDRS, ''),
             port.options.get('virtual-ip', '')]
    found = set()
    for word in ' '.join(texts).split():
        # The other words are MAC addresses, "dynamic", "router".
        with contextlib.suppress(ValueError):
            found.add(ip_text.address(word.partition('/')[0]))
    return found


def _select(session: query.Session, address: str, checks: bool) -> None:
    """Select the rows; ``checks`` adds health checks, also beside NAT."""
    routers = _routers(session, address)
    if checks or not routers:
        routers = _unique([routers, _balanced(session, address)])
    if checks:
        _checks(session, address)
    _select_routers(session, routers)


def _checks(session: query.Session, address: str) -> None:
    session.by_uuid('Load_Balancer_Health_Check', {
        key for row in session.tables.get('Load_Balancer', {}).values()
        if address in rows.vip_keys(row)
        for key in columns.referenced(row, 'health_check')})


def _select_routers(session: query.Session,
                    routers: Iterable[columns.Row]) -> None:
    """Select what a view has of routers, but for their addresses."""
    ports = session.by_uuid('Logical_Router_Port', {
        key for router in routers
        for key in columns.referenced(router, 'ports')})
    session.by_uuid('Logical_Router_Static_Route', {
        key for router in routers
        for key in columns.referenced(router, 'static_routes')})
    session.by_uuid('Gateway_Chassis', {
        key for port in ports
        for key in columns.referenced(port, 'gateway_chassis')})
    groups = session.by_uuid('HA_Chassis_Group', {
        key for port in ports
        for key in columns.referenced(port, 'ha_chassis_group')})
    session.by_uuid('HA_Chassis', {
        key for group in groups
        for key in columns.referenced(group, 'ha_chassis')})
    _switches(session, ports)
    if session.has('Static_MAC_Binding'):
        session.select(*(
            ('Static_MAC_Binding', ['logical_port', '==', port.name])
            for port in ports if port.gateway_chassis or
            columns.referenced(port, 'ha_chassis_group')))


def _switches(session: query.Session,
              ports: Iterable[columns.Row]) -> None:
    """Select the networks on the other side of router ports."""
    found = session.select(*(
        ('Logical_Switch_Port', ['options', 'includes', [
            'map', [['router-port', port.name]]]]) for port in ports))
    session.select(*(
        ('Logical_Switch', ['ports', 'includes', _reference(row)])
        for rows_of_port in found for row in rows_of_port))


def _routers(session: query.Session, address: str) -> list[columns.Row]:
    lengths = range(1, ip_text.address(address).max_prefixlen + 1)
    nats, *ports = session.select(
        ('NAT', ['external_ip', '==', address]),
        *(('Logical_Router_Port', ['networks', 'includes',
                                   f'{address}/{length:d}'])
          for length in lengths))
    return _unique(session.select(
        *(('Logical_Router', ['nat', 'includes', _reference(row)])
          for row in nats),
        *(('Logical_Router', ['ports', 'includes', _reference(row)])
          for answer in ports for row in answer)))


def _balanced(session: query.Session,
              address: str) -> list[columns.Row]:
    """The routers with a load balancer of the address.

    OVSDB has no question for the address in a key "address:port", so the
    table is read as a whole; this is only done for an address without NAT.
    """
    if not session.has('Load_Balancer'):
        return []
    found, = session.select(('Load_Balancer',))
    used = [row for row in found if address in rows.vip_keys(row)]
    groups = session.select(*(
        ('Load_Balancer_Group', ['load_balancer', 'includes',
                                 _reference(row)])
        for row in used if session.has('Load_Balancer_Group')))
    return _unique(session.select(
        *(('Logical_Router', ['load_balancer', 'includes', _reference(row)])
          for row in used),
        *(('Logical_Router', ['load_balancer_group', 'includes',
                              _reference(row)])
          for answer in groups for row in answer)))


def _reference(row: columns.Row) -> list[str]:
    return ['uuid', str(row.uuid)]


def _unique(answers: Iterable[Iterable[columns.Row]]) -> list[columns.Row]:
    return sorted({row for rows in answers for row in rows})
