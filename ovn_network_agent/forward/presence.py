# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses of the node that the agent did not make."""

from ovn_network_agent import ownership
from ovn_network_agent.netlink import addresses
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import links

# Prefix lengths of host routes.
_WHOLE = ('32', '128')


def read(vrf):
    """Addresses whose connected route is a host route in a VRF.

    :param vrf: name of the VRF, '' for none
    :returns: frozenset of str, canonical
    :raises OSError: when the kernel cannot be asked
    """
    with connection.Connection() as kernel:
        found = addresses.read(kernel)
    return host_addresses(found, links.read_all().values(), vrf)


def host_addresses(found, devices, vrf):
    """The result of :func:`read` for some addresses and devices.

    :param found: iterable of :class:`netlink.addresses.Address`
    :param devices: iterable of :class:`netlink.links.Link`
    :param vrf: name of the VRF, '' for none
    """
    devices = {link.index: link for link in devices}
    masters = {link.index for link in devices.values()
               if link.kind == 'vrf' and (link.name == vrf or not vrf)}
    return frozenset(
        address for entry in found
        if entry.protocol != ownership.ADDRESS_PROTOCOL and
        entry.index in devices and
        _inside(devices[entry.index], masters, vrf)
        for address, _slash, length in [entry.address.partition('/')]
        if length in _WHOLE)


def _inside(link, masters, vrf):
    """Whether a device is in the VRF, or in no VRF if none is given."""
    return ({link.index, link.master} & masters != set()) == bool(vrf)
