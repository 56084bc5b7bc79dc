# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The devices of the node on whose link destinations are.

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

_BITS = 32


def read(destinations: Iterable[str]) -> tuple[str, ...]:
    """The devices that share a link with IPv4 destinations, sorted.

    :raises OSError: when the kernel cannot be asked
    """
    with connection.Connection() as kernel:
        found = addresses.read(kernel)
    return devices(destinations, found, links.read_all().values())


def devices(destinations: Iterable[str], found: Iterable[addresses.Address],
            present: Iterable[links.Link]) -> tuple[str, ...]:
    """The result of :func:`read` for some addresses and devices.

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
