# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the addresses of VIPs and destinations.

Pure.  An unusable address raises ValueError, whose text has the remedy.
"""

from ovn_network_agent import iptext

# RFC 1122: "this network", and the networks that were never assigned.
_NOBODY = [iptext.network(text) for text in ('0.0.0.0/8', '240.0.0.0/4')]


def parse(text: str) -> iptext.Address:
    """An IP address as a value.

    :raises ValueError: when the text is no IP address
    """
    if '/' in text:
        raise ValueError('is no IP address; write it without "/" and what '
                         'follows')
    if '%' in text:
        raise ValueError('has a zone ("%" and what follows), which cannot be '
                         'given here; leave it out, the node finds the '
                         'device by its routes')
    try:
        address = iptext.address(text.strip())
    except ValueError:
        raise ValueError('is no IP address; write it like 192.0.2.53 or '
                         '2001:db8::53, a name is not looked up') from None
    if address.version == 6 and address.ipv4_mapped:
        raise ValueError('is an IPv4 address in IPv6 notation; write '
                         f'{address.ipv4_mapped}')
    return address


def as_vip(address: iptext.Address) -> None:
    """Raise ValueError unless an address can be announced."""
    _anywhere(address)
    if address.is_link_local:
        raise ValueError('is a link-local address, which no router forwards '
                         'to; name an address that can be announced')
    if address.is_loopback:
        raise ValueError('is a loopback address, which no other host can '
                         'reach; name an address that can be announced')


def as_destination(address: iptext.Address) -> None:
    """Raise ValueError unless an address can be a destination."""
    _anywhere(address)
    if address.version == 6 and address.is_link_local:
        raise ValueError('is a link-local address, which is nothing without '
                         'the name of a device, and that cannot be given '
                         'here; name a global or unique local one')
    if address.is_loopback:
        raise ValueError('is a loopback address, where the kernel takes '
                         'nothing that came from outside; name another '
                         'address that the service listens on')


def _anywhere(address: iptext.Address) -> None:
    if address.is_multicast:
        raise ValueError('is a multicast address; name the address of one '
                         'host')
    if address.is_unspecified or any(
            address in network for network in _NOBODY
            if network.version == address.version):
        raise ValueError('is not the address of a host; name one')
