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

"""Addresses and provider networks of a router: pure functions."""

import functools

from ovn_network_agent import iptext

# An address is looked at several times for each of its resources, and parsing
# it would be a third of what a driver takes.
_REMEMBERED = 4096
_parsed = functools.lru_cache(_REMEMBERED)(iptext.address)


@functools.lru_cache(_REMEMBERED)
def parse_interface(text):
    """Parse 'address/len'.

    :returns: IPv4Interface or IPv6Interface, or None when malformed
    """
    try:
        return iptext.interface(text)
    except ValueError:
        return None


def host_prefix(address):
    """'198.51.100.10' to '198.51.100.10/32' (or /128)."""
    return '%s/%d' % (address, _parsed(address).max_prefixlen)


def family(address):
    """4 or 6."""
    return _parsed(address.partition('/')[0]).version


def virtual_gateway(networks):
    """The next hop that no device has: broadcast - 1 of the first network.

    The first IPv4 network that has room for it counts: a /32 or /31 has
    none.

    :param networks: iterable of 'address/len'
    :returns: IPv4 address as text, or None
    """
    for text in networks:
        interface = parse_interface(text)
        if (interface is not None and interface.version == 4 and
                interface.network.prefixlen <= 30):
            return str(interface.network.broadcast_address - 1)
    return None


def provider_networks(networks, manual=()):
    """IPv4 provider networks of a gateway port.

    :param networks: iterable of 'address/len', the column of the LRP
    :param manual: networks configured by hand; they replace discovery
    :returns: sorted tuple of IPv4Network
    """
    if manual:
        return tuple(sorted(iptext.network(n) for n in manual))
    return of_version(4, networks)


def of_version(version, networks):
    """The networks of one address family.

    :param version: 4 or 6
    :param networks: iterable of 'address/len'
    :returns: sorted tuple of IPv4Network or IPv6Network
    """
    found = set()
    for text in networks:
        interface = parse_interface(text)
        if interface is not None and interface.version == version:
            found.add(interface.network)
    return tuple(sorted(found))


def inside(address, networks):
    """Whether an address is in one of the networks of its family.

    IPv6 addresses count as inside: the networks are IPv4 only, and what is
    IPv6 never enters a system that they filter.
    """
    ip = _parsed(address)
    return ip.version == 6 or any(ip in network for network in networks)


def owner(address, ports):
    """The gateway port that answers for a NAT address.

    :param ports: :class:`model.GatewayPort`, not empty
    :returns: the first one with a network that contains the address, or
        the first one where none does
    """
    ip = _parsed(address)
    for port in ports:
        for text in port.networks:
            interface = parse_interface(text)
            if interface is not None and ip in interface.network:
                return port
    return ports[0]
