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

"""From rows of Load_Balancer to the addresses that a router answers for.

Pure.  Port forwarding of Neutron is a load balancer in OVN, and its floating
IP has no NAT row.  Nor does ovn-northd list it in nat_addresses, because
Neutron sets exclude-lb-vips-from-garp.
"""

from ovn_network_agent import iptext
from ovn_network_agent import model

# The neutron:device_owner that Neutron's OVN driver writes for port
# forwarding.  A load balancer of Octavia has another device_owner, or none.
_PORT_FORWARDING = 'port_forwarding_plugin'


def load_balancers(row):
    """The load balancers of a router, each once.

    :param row: Logical_Router
    :returns: (dict of UUID to Load_Balancer, list of the UUIDs of the
        groups that some of them come from)
    """
    found = {each.uuid: each for each in getattr(row, 'load_balancer', ())}
    groups = []
    for group in getattr(row, 'load_balancer_group', ()):
        groups.append(group.uuid)
        found.update((each.uuid, each) for each in group.load_balancer)
    return found, groups


def addresses(row):
    """The virtual IPs of a load balancer.

    :param row: Load_Balancer
    :returns: (tuple of :class:`model.BalancedAddress`; tuple of str, one for
        each VIP that is left out, with the reason)
    """
    floating = (row.external_ids.get('neutron:device_owner') ==
                _PORT_FORWARDING)
    unanswered = _unanswered(row.options)
    found, problems = set(), []
    for key in sorted(row.vips):
        address = _address(key)
        if address:
            found.add(model.BalancedAddress(address, floating, unanswered))
        else:
            problems.append(
                f'Load_Balancer {row.uuid}: the address of VIP {key!r} cannot '
                'be told, so it is not announced; give it one that is '
                'no template')
    return tuple(found), tuple(problems)


def merged(found):
    """Each address once: an address may have load balancers of TCP and UDP.

    :param found: iterable of :class:`model.BalancedAddress`
    :returns: tuple of :class:`model.BalancedAddress`, sorted
    """
    by_address = {}
    for each in found:
        by_address.setdefault(each.address, []).append(each)
    return tuple(
        model.BalancedAddress(
            address, any(each.floating for each in those),
            min(each.unanswered for each in those))
        for address, those in sorted(by_address.items()))


def keys(row):
    """The virtual IPs of a Load_Balancer row, a set of str, for an index."""
    return {address for key in row.vips if (address := _address(key))}


def _address(key):
    """The address in a key of the column vips, '' when there is none.

    A key is an address, or an address and a port.  With a port, an IPv6
    address is in brackets.
    """
    host, bracket, _port = key.removeprefix('[').partition(']')
    if not bracket:
        host = key if key.count(':') > 1 else key.partition(':')[0]
    try:
        return str(iptext.address(host))
    except ValueError:
        return ''


def _unanswered(options):
    """Why a gateway does not answer ARP for a VIP, '' when it answers."""
    if options.get('neighbor_responder') == 'none':
        return 'its option neighbor_responder is none'
    if options.get('distributed') == 'true':
        return 'it is distributed, and the chassis of its backends answer'
    return ''
