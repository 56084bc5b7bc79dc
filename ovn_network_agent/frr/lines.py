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

"""Configuration lines for vtysh, from checked values only.  Pure."""

import ipaddress
import re

from ovn_network_agent import iptext

_NAME = re.compile(r'[A-Za-z0-9_.-]+')
_NETWORK = re.compile(r'[0-9a-f.:]+/[0-9]+')
# IFNAMSIZ less the terminating zero, for VRFs and devices.
_MAX_DEVICE = 15
# FRR's XFRR_... and keywords that could stand where a device stands.
_NO_DEVICES = {'blackhole', 'reject', 'Null0', 'null0', 'all', 'default',
               '.', '..'}
_MAX_SEQUENCE = 0xffffffff


def check_name(text, what='name'):
    """A name that is pasted into a command.

    :raises ValueError: when it has any other character than names have
    """
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise ValueError(f'{text!r} is not a {what}')
    return text


def check_device(text):
    """The name of a device or VRF.

    :raises ValueError: when it is not one
    """
    check_name(text, 'device name')
    if len(text) > _MAX_DEVICE or text in _NO_DEVICES or text.isdigit():
        raise ValueError(f'{text!r} is not a device name')
    return text


def check_network(text):
    """A network in the usual notation.

    :returns: IPv4Network or IPv6Network
    :raises ValueError: when it is not one
    """
    # ipaddress takes anything for the zone of an IPv6 address, blanks, too.
    if not isinstance(text, str) or not _NETWORK.fullmatch(text):
        raise ValueError(f'{text!r} is not a network')
    network = iptext.network(text)
    if str(network) != text:
        raise ValueError(f'{text!r} is not the usual notation of {network}')
    return network


def static_route(prefix, nexthop):
    """'ip route ...' of a host route.

    :param prefix: '198.51.100.10/32'
    :param nexthop: IPv4 address or name of a device
    :raises ValueError: when they are something else
    """
    network = check_network(prefix)
    if network.version != 4 or network.prefixlen != 32:
        raise ValueError(f'{prefix} is not the route of one host')
    return f'ip route {prefix} {_nexthop(nexthop)}'


def prefix_list_entry(name, network, ge, le, sequence=None):
    """'ip prefix-list ...' (or ipv6) of an entry that permits host routes.

    :param sequence: its number; None is for removing it: with a number FRR
        would remove whatever has that number by now
    :raises ValueError: when a value is out of range
    """
    checked = check_network(network)
    for value in (ge, le):
        if type(value) is not int:
            raise ValueError(f'{value!r} is not a prefix length')
    if (ge, le) != (checked.max_prefixlen,) * 2:
        raise ValueError(f'{network} ge {ge} le {le} is not for host routes')
    numbered = ''
    if sequence is not None:
        if type(sequence) is not int or not 0 < sequence <= _MAX_SEQUENCE:
            raise ValueError(f'sequence number {sequence!r} is out of range')
        numbered = f'seq {sequence} '
    family = 'ip' if checked.version == 4 else 'ipv6'
    return (f'{family} prefix-list {check_name(name)} {numbered}permit '
            f'{network} ge {ge} le {le}')


def _nexthop(text):
    if isinstance(text, str) and text[:1].isdigit() and text.count('.') == 3:
        return str(ipaddress.IPv4Address(text))
    return check_device(text)
