# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From OVSDB rows to the values of :mod:`ovn_network_agent.model`.

The functions are pure.  They leave out and name a malformed value, so that
the values beside it stay usable.  A column that the schema lacks reads as
empty.

Port forwarding of Neutron is a load balancer in OVN, and its floating IP has
no NAT row.  Nor does ovn-northd list the address in nat_addresses, because
Neutron sets exclude-lb-vips-from-garp.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import ipaddress

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks as parsing
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row

#: Gives the rows that a column of a row refers to.
Referred = Callable[[Row, str], list[Row]]

# The neutron:device_owner that Neutron's OVN driver writes for port
# forwarding.  A load balancer of Octavia has another device_owner, or none.
_PORT_FORWARDING = 'port_forwarding_plugin'
_EVERYTHING = ('0.0.0.0/0', '::/0')
# More virtual IPs of one row are named: a change of it costs 0.1 ms for each.
MANY_VIPS = 1000
# Why no gateway answers ARP for the virtual IPs of a load balancer.
NO_RESPONDER = 'its option neighbor_responder is none'
# The types of Port_Binding rows that networks and gateways have.
OF_NETWORKS = ('chassisredirect', 'patch', 'l3gateway', 'localnet')


def hosts(row: Row) -> bool:
    """Whether a chassis has the port of a machine, and passes its packets.

    ovn-controller sets "up" when the flows of the port are installed
    (ovn-sb(5), table Port_Binding).  OVN before 21.03 does not have that
    column.
    """
    return (columns.atom(row, 'type') not in OF_NETWORKS and
            bool(columns.rows(row, 'chassis')) and
            bool(columns.atom(row, 'up', True)))


def answers_itself(row: Row) -> bool:
    """Whether a port of a machine answers for its addresses where it is.

    Not so the types 'external' (another chassis passes the packets),
    'localport' (each chassis has it), and gateways to other networks
    (ovn-sb(5), table Port_Binding).  A subport of a trunk has the type ''.  A
    port of type 'virtual' may keep a chassis for a moment after its machine.
    """
    kind = columns.atom(row, 'type')
    return kind == '' or kind == 'virtual' and bool(
        columns.atom(row, 'virtual_parent'))


def machine_chassis(row: Row) -> Iterator[str]:
    """Names of the chassis that packets of a machine's port may leave from.

    The chassis of the port comes first, then the target of a live migration.
    """
    if not answers_itself(row):
        return
    yield from filter(None, (chassis_name(row),))
    for chassis in columns.rows(row, 'additional_chassis'):
        yield str(columns.atom(chassis, 'name'))


def is_between(row: Row, chassis: str) -> bool:
    """Whether no chassis has a port that is requested on one.

    So at the end of a live migration, until the target has the port; and
    while a machine that belongs there is off.
    """
    return not columns.rows(row, 'chassis') and any(
        columns.atom(each, 'name') == chassis
        for each in columns.rows(row, 'requested_chassis'))


def runs_on(row: Row, chassis: str) -> bool:
    """Whether the machine of a port runs on a chassis that has the port.

    At the target of a live migration it runs from its RARP on, which makes
    ovn-controller list the target (ovn-nb(5), activation-strategy), or when
    no other chassis has the port any more.  OVN says for a moment then that
    the port is not up, although its flows are there.
    """
    activated = columns.entry(row, 'options',
                              'additional-chassis-activated') or ''
    bound = chassis_name(row)
    return chassis in activated.split(',') or not bound or (
        bound == chassis and bool(columns.atom(row, 'up', True)))


def machine(row: Row, pairs: bool
            ) -> tuple[dict[str, str], tuple[str, ...]]:
    """The addresses of a machine's port, each with its MAC, and problems.

    Each text of the column "mac" is a MAC and addresses, or "unknown".

    :param pairs: whether the single addresses in port_security count, too,
        which has the "allowed address pairs" of Neutron
    """
    found: dict[str, str] = {}
    problems = []
    name = columns.atom(row, 'logical_port')
    texts = [*columns.atoms(row, 'mac'),
             *(columns.atoms(row, 'port_security') if pairs else ())]
    for text in texts:
        mac, *addresses = text.split() or ['']
        for address in addresses:
            try:
                ip = ip_text.host(address)
            except ValueError:
                problems.append(f'port {name}: address {address!r} is '
                                'malformed')
                continue
            if ip is None or ip.is_link_local:
                continue
            if ip.is_multicast or ip.is_unspecified or ip.is_loopback:
                problems.append(f'port {name}: address {address} is of no '
                                'machine')
                continue
            found.setdefault(str(ip), mac.lower())
    return found, tuple(problems)


def subnets(row: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The subnets that Neutron writes into the row of a port, and problems.

    :returns: likewise :func:`networks`; each subnet once, without the address
    """
    texts = (columns.entry(row, 'external_ids', 'neutron:cidrs') or '').split()
    valid, problems = _networks(
        f'port {columns.atom(row, "logical_port")}', texts)
    return tuple(sorted({str(each.network) for each in map(
        parsing.parse_interface, valid) if each})), problems


def networks(row: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The valid networks of a router port, and the problems of the others.

    Those of :func:`networks.unusable` are not valid.  The rules and routes of
    prefix length 0 would match all traffic of this node.
    """
    return _networks(f'Logical_Router_Port {columns.atom(row, "name")}',
                     sorted(columns.atoms(row, 'networks')))


def _networks(of: str, texts: Iterable[str]
              ) -> tuple[tuple[str, ...], tuple[str, ...]]:
    valid, problems = [], []
    for text in texts:
        interface = parsing.parse_interface(text)
        if interface is None:
            problems.append(f'{of}: network {text!r} is malformed')
        elif why := parsing.unusable(interface.network):
            problems.append(f'{of}: network {text!r} {why} and left out; give '
                            'it the prefix of its subnet')
        else:
            valid.append(text)
    return tuple(valid), tuple(problems)


def members(row: Row, referred: Referred = columns.rows
            ) -> tuple[str, Row, list[Row]]:
    """The candidates of a gateway port: table, row that has them, their rows.

    An HA_Chassis_Group wins over Gateway_Chassis rows, as it does in
    ovn-northd.
    """
    for ha_group in referred(row, 'ha_chassis_group'):
        return ('HA_Chassis_Group', ha_group, referred(ha_group, 'ha_chassis'))
    return 'Gateway_Chassis', row, referred(row, 'gateway_chassis')


def default_route(row: Row) -> model.NbDefaultRoute | None:
    """A default route, or None for a route of another kind.

    A default route has the prefix 0.0.0.0/0 or ::/0, matches by destination,
    and is in the main route table.  The agents' other routes count, too.
    """
    # A command of a transaction may ask about a row that an earlier command
    # has inserted, and only attributes have the values of such a row.  Each
    # use of an attribute converts the column again.
    marks, prefix = row.external_ids, row.ip_prefix
    managed = ownership.is_managed(marks)
    if prefix not in _EVERYTHING and not managed or (
            bool(getattr(row, 'route_table', ''))):
        return None
    if columns.optional(row, 'policy', 'dst-ip') != 'dst-ip':
        return None
    return model.NbDefaultRoute(
        row.nexthop, columns.optional(row, 'output_port'), managed,
        ownership.owner(marks) if managed else ownership.Owner(),
        marks.get(ownership.EXT_ID_ADVERTISED, '') if managed else '', prefix)


def extra_route(row: Row) -> tuple[ip_text.Network, str] | None:
    """The prefix and next hop of a route of Neutron, None for another one.

    Such a route is in the main table, matches by destination, and is neither
    a default route nor one of an agent.
    """
    if (columns.entry(row, 'external_ids', ownership.EXT_ID_MANAGED) or
            columns.atom(row, 'route_table') or
            columns.atom(row, 'policy', 'dst-ip') != 'dst-ip'):
        return None
    try:
        prefix = ip_text.network(columns.atom(row, 'ip_prefix'))
        nexthop = str(ip_text.address(columns.atom(row, 'nexthop')))
    except ValueError:
        return None
    return (prefix, nexthop) if prefix.prefixlen else None


def nat_addresses(row: Row) -> tuple[str, ...]:
    """Sorted IPv4 addresses in nat_addresses of a router's gateway patch port.

    The text is "MAC IP... [is_chassis_resident("PORT")]".  Only ports that
    Neutron made for a router gateway count.  An entry whose PORT is not a
    chassisredirect port is of a distributed floating IP, for which the
    chassis of the virtual machine answers (northd, get_nat_addresses).
    """
    owner = columns.entry(row, 'external_ids', 'neutron:device_owner')
    if owner != 'network:router_gateway':
        return ()
    found = set()
    for text in columns.atoms(row, 'nat_addresses'):
        addresses, bound, resident = text.partition('is_chassis_resident')
        if bound and not resident.startswith(f'("{model.REDIRECT}'):
            continue
        for word in addresses.split()[1:]:
            try:
                found.add(str(ipaddress.IPv4Address(word)))
            except ValueError:
                continue
    return tuple(sorted(found))


def chassis_name(row: Row, referred: Referred = columns.rows) -> str:
    """Name of the chassis that a Port_Binding is bound to, or ''."""
    for chassis in referred(row, 'chassis'):
        return str(columns.atom(chassis, 'name'))
    return ''


def order(row: Row, referred: Referred = columns.rows) -> dict[str, int]:
    """The priorities in OVN SB for a chassisredirect port, by chassis name."""
    return {columns.atom(chassis, 'name'): columns.atom(member, 'priority')
            for group in referred(row, 'ha_chassis_group')
            for member in referred(group, 'ha_chassis')
            for chassis in referred(member, 'chassis')}


def balanced(row: Row) -> tuple[
        tuple[model.BalancedAddress, ...], tuple[str, ...]]:
    """The virtual IPs of a load balancer, and what is wrong with the row."""
    floating = (row.external_ids.get('neutron:device_owner') ==
                _PORT_FORWARDING)
    unanswered = _unanswered(row.options)
    found, problems = set(), []
    for key in sorted(row.vips):
        address = vip_address(key)
        if address:
            found.add(model.BalancedAddress(address, floating, unanswered))
        else:
            problems.append(
                f'Load_Balancer {row.uuid}: VIP {key!r} is not announced, '
                f'because {_unreadable(row, key)}')
    if len(row.vips) > MANY_VIPS:
        problems.append(
            f'Load_Balancer {row.uuid}: it has {len(row.vips):d} VIPs, and '
            'each change of it has the agent look at all of them; divide it '
            'into several load balancers')
    return tuple(found), tuple(problems)


def merged(found: Iterable[model.BalancedAddress]
           ) -> tuple[model.BalancedAddress, ...]:
    """Each address once, sorted.

    An address may have load balancers of TCP and UDP.
    """
    by_address: dict[str, list[model.BalancedAddress]] = {}
    for each in found:
        by_address.setdefault(each.address, []).append(each)
    return tuple(
        model.BalancedAddress(
            address, any(each.floating for each in those),
            min(each.unanswered for each in those),
            all(each.without_backends for each in those))
        for address, those in sorted(by_address.items()))


def vip_keys(row: Row) -> set[str]:
    """The virtual IPs of a Load_Balancer row, for an index."""
    return {address for key in row.vips if (address := vip_address(key))}


def vip_address(key: str) -> str:
    """The address in a key of the column vips, '' when there is none.

    A key is an address, or an address and a port.  With a port, an IPv6
    address is in brackets.
    """
    host, bracket, _port = key.removeprefix('[').partition(']')
    if not bracket:
        host = key if key.count(':') > 1 else key.partition(':')[0]
    try:
        return str(ip_text.address(host))
    except ValueError:
        return ''


def _unreadable(row: Row, key: str) -> str:
    if key.startswith('^') and row.options.get('template') == 'true':
        return ('it is a template: each chassis has an address of its own for '
                'it (Chassis_Template_Var), and gateways answer for none; '
                'give it an address')
    return 'it is no IP address; correct or remove it'


def _unanswered(options: Mapping[str, str]) -> str:
    """Why a gateway does not answer ARP for a VIP, '' when it answers."""
    if options.get('neighbor_responder') == 'none':
        return NO_RESPONDER
    if options.get('distributed') == 'true':
        return 'it is distributed, and the chassis of its backends answer'
    return ''
