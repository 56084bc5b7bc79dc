# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses of the node that the agent did not make."""

from collections.abc import Iterable

from ovn_network_agent import ownership
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links

# Prefix lengths of host routes.
_WHOLE = ('32', '128')


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
        _inside(by_index[entry.index], masters, vrf)
        for address, _slash, length in [entry.address.partition('/')]
        if length in _WHOLE)


def _inside(link: links.Link, masters: set[int], vrf: str) -> bool:
    return ({link.index, link.master} & masters != set()) == bool(vrf)
