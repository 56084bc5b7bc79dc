# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses of the node, and the links that it shares with destinations.

A destination whose answer is not translated sends it to this node.  If this
node sends it on by the same link, the kernel also sends an ICMP redirect to
the destination (RFC 1812, section 5.2.7.2; ip_route_input_slow() of the
kernel).
"""

import bisect
from collections.abc import Iterable
from collections.abc import Sequence

from ovn_network_agent import ownership
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links

# Prefix lengths of host routes.
_WHOLE = ('32', '128')
_BITS = 32  # of an IPv4 address


def read(vrf: str) -> frozenset[str]:
    """Addresses whose connected route is a host route in a VRF, canonical.

    :param vrf: name of the VRF, '' for none
    :raises OSError: when the kernel cannot be asked
    """
    with connection.Connection() as kernel:
        found = addresses.read(kernel)
    return host_addresses(found, links.read_all().values(), vrf)


def host_addresses(found: Iterable[addresses.Address],
                   devices: Iterable[links.Link], vrf: str) -> frozenset[str]:
    """The result of :func:`read` for some addresses and devices."""
    by_index = {link.index: link for link in devices}
    masters = {link.index for link in by_index.values()
               if link.kind == 'vrf' and (link.name == vrf or not vrf)}
    return frozenset(
        address for entry in found
        if entry.protocol != ownership.ADDRESS_PROTOCOL and
        entry.index in by_index and
        _is_in_vrf(by_index[entry.index], masters, vrf)
        for address, _slash, length in [entry.address.partition('/')]
        if length in _WHOLE)


def _is_in_vrf(link: links.Link, masters: set[int], vrf: str) -> bool:
    return ({link.index, link.master} & masters != set()) == bool(vrf)


def read_shared_links(destinations: Iterable[str]) -> tuple[str, ...]:
    """The devices that share a link with IPv4 destinations, sorted.

    :raises OSError: when the kernel cannot be asked
    """
    with connection.Connection() as kernel:
        found = addresses.read(kernel)
    return devices(destinations, found, links.read_all().values())


def devices(destinations: Iterable[str], found: Iterable[addresses.Address],
            present: Iterable[links.Link]) -> tuple[str, ...]:
    """The result of :func:`read_shared_links` for some addresses and devices.

    A destination that is an address of the node itself counts nowhere.
    """
    names = {link.index: link.name for link in present}
    own: set[int] = set()
    networks: list[tuple[int, int, int]] = []
    for entry in found:
        if ':' not in entry.address:
            _family, packed, length = texts.parse_interface(entry.address)
            number = int.from_bytes(packed)
            own.add(number)
            if length < _BITS and entry.index in names:
                networks.append((number, _BITS - length, entry.index))
    numbers = sorted({int.from_bytes(texts.parse_address(address)[1])
                      for address in destinations} - own)
    return tuple(sorted({
        names[index] for number, host, index in networks
        if names[index] not in ownership.VETH_ENDS and
        _any_between(numbers, number >> host << host,
                     (number >> host) + 1 << host)}))


def _any_between(numbers: Sequence[int], first: int, end: int) -> bool:
    position = bisect.bisect_left(numbers, first)
    return position < len(numbers) and numbers[position] < end
