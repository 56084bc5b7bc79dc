# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From OVSDB rows to the values of :mod:`ovn_network_agent.model`.  Pure.

A malformed value is left out and named, so the others stay usable; a column
that the schema lacks reads as empty.

Neutron's port forwarding is a load balancer without a NAT row, and not in
nat_addresses: Neutron sets exclude-lb-vips-from-garp.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import ipaddress
import re

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks as parsing
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row

#: Gives the rows that a column of a row refers to.
Referred = Callable[[Row, str], list[Row]]

# The neutron:device_owner of port forwarding; Octavia has another or none.
_PORT_FORWARDING = 'port_forwarding_plugin'
_EVERYTHING = ('0.0.0.0/0', '::/0')
# More virtual IPs of one row are named: a change of it costs 0.1 ms for each.
MANY_VIPS = 1000
# Why no gateway answers ARP for the virtual IPs of a load balancer.
NO_RESPONDER = 'its option neighbor_responder is none'
# The types of Port_Binding rows that networks and gateways have.
OF_NETWORKS = ('chassisredirect', 'patch', 'l3gateway', 'localnet')
# Why an agent has lowered the priority of a candidate.
WHY = (model.SHUTDOWN, model.MAINTENANCE, model.UNFIT)
_PRIORITY = re.compile('[0-9]{1,5}')
_HIGHEST = 32767  # as the schema has it


def hosts(row: Row) -> bool:
    """Whether a chassis has the port of a machine, and passes its packets.

    "up": its flows are installed (ovn-sb(5), Port_Binding); since OVN 21.03.
    """
    return (columns.atom(row, 'type') not in OF_NETWORKS and
            bool(columns.rows(row, 'chassis')) and
            bool(columns.atom(row, 'up', True)))


def answers_itself(row: Row) -> bool:
    """Whether a port of a machine answers for its addresses where it is.

    Not so 'external', 'localport' and gateways (ovn-sb(5), Port_Binding).  A
    subport of a trunk has the type ''; a 'virtual' port may keep a chassis for
    a moment after its machine.
    """
    kind = columns.atom(row, 'type')
    return kind == '' or kind == 'virtual' and bool(
        columns.atom(row, 'virtual_parent'))


def machine_chassis(row: Row) -> Iterator[str]:
    """Names of a port's chassis, then of the target of a live migration."""
    if not answers_itself(row):
        return
    yield from filter(None, (chassis_name(row),))
    for chassis in columns.rows(row, 'additional_chassis'):
        yield str(columns.atom(chassis, 'name'))


def is_between(row: Row, chassis: str) -> bool:
    """Whether no chassis has a port that is requested on one.

    So at the end of a live migration, and while that machine is off.
    """
    return not columns.rows(row, 'chassis') and any(
        columns.atom(each, 'name') == chassis
        for each in columns.rows(row, 'requested_chassis'))


def runs_on(row: Row, chassis: str) -> bool:
    """Whether the machine of a port runs on a chassis that has the port.

    The target of a live migration is listed from its RARP on (ovn-nb(5),
    activation-strategy), or is the only chassis; OVN may say for a moment then
    that the port is not up.
    """
    activated = columns.entry(row, 'options',
                              'additional-chassis-activated') or ''
    bound = chassis_name(row)
    return chassis in activated.split(',') or not bound or (
        bound == chassis and bool(columns.atom(row, 'up', True)))


def machine(row: Row, pairs: bool
            ) -> tuple[dict[str, str], tuple[str, ...]]:
    """The addresses of a machine's port, each with its MAC, and problems.

    The column "mac" has texts of a MAC and addresses, or "unknown".

    :param pairs: whether the single addresses in port_security, Neutron's
        "allowed address pairs", count, too
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
    """The subnets in the row of a Neutron port, each once, and problems."""
    texts = (columns.entry(row, 'external_ids', 'neutron:cidrs') or '').split()
    valid, problems = _networks(
        f'port {columns.atom(row, "logical_port")}', texts)
    return tuple(sorted({str(each.network) for each in map(
        parsing.parse_interface, valid) if each})), problems


def networks(row: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The valid networks of a router port, and the problems of the others.

    Not :func:`networks.unusable`: length 0 would match all traffic of this
    node.
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

    An HA_Chassis_Group wins over Gateway_Chassis, as in ovn-northd.
    """
    for ha_group in referred(row, 'ha_chassis_group'):
        return ('HA_Chassis_Group', ha_group, referred(ha_group, 'ha_chassis'))
    return 'Gateway_Chassis', row, referred(row, 'gateway_chassis')


def default_route(row: Row) -> model.NbDefaultRoute | None:
    """A default route (main table, dst-ip), or another of the agents."""
    # Rows inserted in the same transaction have values only as attributes;
    # each use of an attribute converts the column again.
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
    """Neutron's route as prefix and next hop: main table, by destination."""
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
    """Sorted IPv4 nat_addresses of a patch port that Neutron made.

    The text is "MAC IP... [is_chassis_resident("PORT")]".  If PORT is no
    chassisredirect port, a distributed floating IP's machine's chassis answers
    (northd, get_nat_addresses).
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
    """Each address once, sorted; TCP and UDP may have a balancer each."""
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
    """The address in a key of vips, without port and brackets, or ''."""
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


def lowered(row: Row) -> tuple[str, int]:
    """Why an agent has lowered a candidate, and the earlier priority.

    ('', 0) without a readable mark in external_ids.
    """
    why = columns.entry(row, 'external_ids', ownership.EXT_ID_DRAINED)
    if why not in WHY:
        return '', 0
    earlier = columns.entry(row, 'external_ids',
                            ownership.EXT_ID_EARLIER) or ''
    if not _PRIORITY.fullmatch(earlier) or int(earlier) > _HIGHEST:
        return why, 0
    return why, int(earlier)


def marked_lowered(external_ids: Mapping[str, str], why: str,
                   earlier: int) -> dict[str, str]:
    """A candidate's external_ids, others' keys kept; see :data:`WHY`."""
    rest = {key: value for key, value in external_ids.items()
            if key not in (ownership.EXT_ID_DRAINED,
                           ownership.EXT_ID_EARLIER)}
    if not why:
        return rest
    return {**rest, ownership.EXT_ID_DRAINED: why,
            ownership.EXT_ID_EARLIER: str(earlier)}
