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

"""From OVSDB rows to the values of :mod:`ovn_network_agent.model`.

The functions are pure.  They leave out and name a malformed value, so that
the values beside it stay usable.  A column that the schema lacks reads as
empty.
"""

import ipaddress

from ovn_network_agent import iptext
from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovsdb import columns


def nat(row):
    """:class:`model.Nat` of a NAT row.

    :raises ValueError: when external_ip is no IP address; the text names
        the row and the value
    """
    try:
        external = str(iptext.address(row.external_ip))
    except ValueError:
        raise ValueError(f'NAT row {row.uuid}: external_ip '
                         f'{row.external_ip!r} is not an IP address') from None
    distributed = ''
    if columns.optional(row, 'logical_port'):
        distributed = columns.optional(row, 'external_mac')
    return model.Nat(row.type, external, row.logical_ip, distributed)


def networks(row):
    """The valid networks of a router port, and the problems of the others.

    A network of prefix length 0 is not valid: its rules and routes would
    match all traffic of this node.

    :param row: Logical_Router_Port
    :returns: (tuple of 'address/length', tuple of texts)
    """
    valid, problems = [], []
    for text in sorted(row.networks):
        try:
            everything = not iptext.interface(text).network.prefixlen
        except ValueError:
            problems.append(f'Logical_Router_Port {row.name}: network '
                            f'{text!r} is malformed')
            continue
        if everything:
            problems.append(f'Logical_Router_Port {row.name}: network '
                            f'{text!r} is everything and left out; give it '
                            'the prefix length of its subnet')
        else:
            valid.append(text)
    return tuple(valid), tuple(problems)


def members(row):
    """The rows of the candidates of a gateway port.

    An HA_Chassis_Group wins over Gateway_Chassis rows, as it does in
    ovn-northd.

    :param row: Logical_Router_Port
    :returns: (table, the row that has the candidates, list of their rows)
    """
    for ha_group in getattr(row, 'ha_chassis_group', []):
        return 'HA_Chassis_Group', ha_group, ha_group.ha_chassis
    return 'Gateway_Chassis', row, getattr(row, 'gateway_chassis', [])


def default_route(row):
    """:class:`model.NbDefaultRoute`, or None for a route of another kind.

    A default route has the prefix 0.0.0.0/0, matches by destination, and is
    in the main route table.

    :param row: Logical_Router_Static_Route
    """
    if row.ip_prefix != '0.0.0.0/0' or getattr(row, 'route_table', ''):
        return None
    if columns.optional(row, 'policy', 'dst-ip') != 'dst-ip':
        return None
    managed = ownership.is_managed(row.external_ids)
    return model.NbDefaultRoute(
        row.nexthop, columns.optional(row, 'output_port'), managed,
        row.external_ids.get(ownership.EXT_ID_CHASSIS, '') if managed
        else '',
        row.external_ids.get(ownership.EXT_ID_ADVERTISED, '') if managed
        else '')


def nat_addresses(row):
    """IPv4 addresses in nat_addresses of a router's gateway patch port.

    The text is "MAC IP... [is_chassis_resident("PORT")]".  Only ports that
    Neutron made for a router gateway count.  An entry whose PORT is not a
    chassisredirect port is of a distributed floating IP, for which the
    chassis of the virtual machine answers (northd, get_nat_addresses).

    :returns: sorted tuple of str
    """
    owner = row.external_ids.get('neutron:device_owner')
    if owner != 'network:router_gateway':
        return ()
    found = set()
    for text in row.nat_addresses:
        addresses, bound, resident = text.partition('is_chassis_resident')
        if bound and not resident.startswith(f'("{model.REDIRECT}'):
            continue
        for word in addresses.split()[1:]:
            try:
                found.add(str(ipaddress.IPv4Address(word)))
            except ValueError:
                continue
    return tuple(sorted(found))


def chassis_name(row):
    """Name of the chassis that a Port_Binding is bound to, or ''."""
    for chassis in row.chassis:
        return chassis.name
    return ''
