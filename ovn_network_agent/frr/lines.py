# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Configuration lines of checked values; ValueError for others.  Pure."""

import ipaddress
import re

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text

_NAME = re.compile(r'[A-Za-z0-9_.-]+')
_NETWORK = re.compile(r'[0-9a-f.:]+/[0-9]+')
# the host route of an IPv4 address in the usual notation
_HOST_4 = re.compile(ip_text.FOUR + '/32')
# IFNAMSIZ less the terminating zero, for VRFs and devices
_MAX_DEVICE = 15
# keywords that FRR accepts in the place of a device
_NO_DEVICES = {'blackhole', 'reject', 'Null0', 'null0', 'all', 'default',
               '.', '..'}
_ONLINK = ' onlink'
_MAX_SEQUENCE = 0xffffffff


def check_name(text: object, what: str = 'name') -> str:
    """Check a name in a command; errors call it ``what``."""
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise ValueError(f'{text!r} is not a {what}')
    return text


def check_device(text: object) -> str:
    """Check the name of a device or VRF."""
    name = check_name(text, 'device name')
    if len(name) > _MAX_DEVICE or name in _NO_DEVICES or name.isdigit():
        raise ValueError(f'{text!r} is not a device name')
    return name


def check_network(text: object) -> ip_text.Network:
    """Check a network in the usual notation."""
    # ipaddress allows any characters, even blanks, in the zone of an address
    if not isinstance(text, str) or not _NETWORK.fullmatch(text):
        raise ValueError(f'{text!r} is not a network')
    network = ip_text.network(text)
    if str(network) != text:
        raise ValueError(f'{text!r} is not the usual notation of {network}')
    return network


def check_host(text: object) -> ip_text.Address:
    """Check the route of one host, such as '198.51.100.10/32'."""
    network = check_network(text)
    if network.prefixlen != network.max_prefixlen:
        raise ValueError(f'{text} is not the route of one host')
    return network.network_address


def _version(prefix: object) -> int:
    """As :func:`check_network`, which takes six times as long for 10,000
    lines.
    """
    if isinstance(prefix, str) and _HOST_4.fullmatch(prefix):
        return 4
    network = check_network(prefix)
    if not network.prefixlen:
        raise ValueError(f'{prefix} is the default route')
    return network.version


def static_route(prefix: object, nexthop: object, tag: object = 0) -> str:
    """The line 'ip route ...' (or ipv6) of a prefix.

    :param nexthop: a device; or an IPv4 address; or, for IPv6,
        "link-local-address device"; or "address device onlink"
    :param tag: of :data:`ownership.TAGS`, :data:`ownership.NETWORK_TAG`, or 0
    """
    version = _version(prefix)
    words = 'ip' if version == 4 else 'ipv6'
    if tag and (type(tag) is not int or tag not in ownership.TAGS and
                tag != ownership.NETWORK_TAG):
        raise ValueError(f'{tag!r} is not a tag of the agent')
    return (f'{words} route {prefix} {_nexthop(nexthop, version)}' +
            (f' tag {tag}' if tag else ''))


def prefix_list_entry(name: object, network: object, ge: object, le: object,
                      sequence: object = None) -> str:
    """The line 'ip prefix-list ...' (or ipv6) that permits routes.

    :param ge: prefix length of host routes, or the network's own, as ``le``
    :param sequence: None for a removal, because FRR would remove any line that
        has the number by now
    """
    checked = check_network(network)
    for value in (ge, le):
        if type(value) is not int:
            raise ValueError(f'{value!r} is not a prefix length')
    if ge != le or le not in (checked.max_prefixlen, checked.prefixlen):
        raise ValueError(f'{network} ge {ge} le {le} is not for host routes')
    numbered = ''
    if sequence is not None:
        if type(sequence) is not int or not 0 < sequence <= _MAX_SEQUENCE:
            raise ValueError(f'sequence number {sequence!r} is out of range')
        numbered = f'seq {sequence} '
    family = 'ip' if checked.version == 4 else 'ipv6'
    lengths = f' ge {ge} le {le}' if le == checked.max_prefixlen else ''
    return (f'{family} prefix-list {check_name(name)} {numbered}permit '
            f'{network}{lengths}')


def _nexthop(text: object, version: int) -> str:
    if isinstance(text, str) and text.endswith(_ONLINK):
        address, _blank, device = text.removesuffix(_ONLINK).partition(' ')
        found = ip_text.address(address)
        if found.version != version:
            raise ValueError(f'{text!r} is no next hop of IPv{version:d}')
        return f'{found} {check_device(device)}{_ONLINK}'
    if isinstance(text, str) and text[:1].isdigit() and text.count('.') == 3:
        if version != 4:
            raise ValueError(f'{text!r} is no next hop of IPv6')
        return str(ipaddress.IPv4Address(text))
    if version == 6 and isinstance(text, str) and ' ' in text:
        address, _blank, device = text.partition(' ')
        return f'{_link_local(address)} {check_device(device)}'
    return check_device(text)


def _link_local(text: str) -> str:
    address = ip_text.address(text)
    if address.version != 6 or not address.is_link_local:
        raise ValueError(f'{text!r} is not a link-local address')
    return str(address)
