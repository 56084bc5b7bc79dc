# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Argument checks of the kernel entry points, on the privileged side.

The checks do not trust the caller.  Each raises OSError with EINVAL or ENODEV
and a text for the operator, which becomes the failure of one item.  Each
returns the checked value.
"""

import errno
import os
import re
import socket

from ovn_network_agent import ownership
from ovn_network_agent.netlink import texts

# linux/rtnetlink.h: 0 is "unspecified", 255 is the kernel's local table.
_MAX_TABLE = 0xffffffff
_LOCAL_TABLE = 255
# 0, 32766 and 32767 are the kernel's own rules, ip-rule(8).
_PRIORITIES = range(1, 32766)

_SYSCTLS = re.compile(
    r'net/(?:ipv4/conf/(?P<conf>[^/]+)'
    r'/(?:proxy_arp|forwarding|accept_local|promote_secondaries)'
    r'|ipv6/conf/(?P<conf6>[^/]+)/(?:proxy_ndp|ndisc_notify)'
    r'|ipv[46]/neigh/(?P<neigh>[^/]+)/proxy_delay'
    r'|ipv4/(?:tcp_l3mdev_accept|udp_l3mdev_accept))')
_REDIRECTS = re.compile(r'net/ipv4/conf/(?P<conf>[^/]+)/send_redirects')
_SYSCTL_VALUE = re.compile(r'[0-9]{1,10}')


def invalid(text):
    """The OSError (EINVAL) for a refused argument."""
    return OSError(errno.EINVAL, text)


def permit(fits, what, instead):
    """Refuse a request that is outside of the limits.

    :raises OSError: EPERM
    """
    if not fits:
        raise OSError(errno.EPERM, f'{what} is refused: it is not {instead}, '
                      'as the privileged side was started with')


def foreign(dev):
    """The error for a device of somebody else with the name of a VNI's."""
    return OSError(errno.EEXIST, f'a device {dev} is there which is not '
                   'ours; give the network another VNI, or rename the '
                   f'device, or remove it if nobody needs it (ip link delete '
                   f'{dev})')


def sequence(value, what='argument'):
    """Check a list of items, which arrives as a tuple."""
    if not isinstance(value, list | tuple):
        raise invalid(f'{what} {value!r} is no list')
    return value


def items(*lists):
    """Check the items of lists one by one.

    :param lists: (name, function that checks the parts of an item, list)
    :returns: list of [name, index, reason] of the items that are refused; and
        list of (name, index, what the function has returned) of the others
    """
    refused, fitting = [], []
    for name, check, listed in lists:
        for index, item in enumerate(sequence(listed, name)):
            try:
                fitting.append((name, index, check(*sequence(item, 'item'))))
            except (OSError, TypeError, ValueError) as error:
                refused.append([name, index, str(error)])
    return refused, fitting


def integer(value, what):
    """Check an int that is no bool."""
    if type(value) is not int:
        raise invalid(f'{what} {value!r} is no number')
    return value


def version(value):
    """Check an IP version."""
    if integer(value, 'IP version') not in (4, 6):
        raise invalid(f'{value} is no IP version')
    return value


def truth(value):
    """Check a bool."""
    if type(value) is not bool:
        raise invalid(f'{value!r} is neither true nor false')
    return value


def table(value):
    """Check the id of a routing table for the agent's routes."""
    if not 0 < integer(value, 'table') <= _MAX_TABLE or value == _LOCAL_TABLE:
        raise invalid(f'table {value} is not for routes of the agent')
    return value


def priority(value):
    """Check the priority of a rule, which is between the kernel's rules."""
    if integer(value, 'priority') not in _PRIORITIES:
        raise invalid(f'priority {value} is not between 1 and 32765')
    return value


def metric(value, dst):
    """Check the metric of a route: a tag, or 0 for the default.

    No default route has a tag.
    """
    if integer(value, 'metric') and (
            value not in ownership.TAGS or dst.endswith('/0')):
        raise invalid(f'metric {value} of {dst} is not one of the agent')
    return value


def suppress(value):
    """Check the prefix length that a rule suppresses."""
    if not 0 <= integer(value, 'suppress_prefixlength') <= 128:
        raise invalid(f'{value} is no prefix length')
    return value


def device(name):
    """Check the name of a device like dev_valid_name() of the kernel."""
    # A lone surrogate would have no bytes by itself.
    if (not isinstance(name, str) or name in ('', '.', '..')
            or len(name.encode(errors='surrogatepass')) >= texts.IFNAMSIZ
            or any(c in '/:\0' or c.isspace() for c in name)):
        raise invalid(f'{name!r} is no device name')
    return name


def index(name):
    """ifindex of an existing device.

    :raises OSError: ENODEV when the device does not exist
    """
    try:
        return socket.if_nametoindex(device(name))
    except UnicodeEncodeError as error:
        raise invalid(f'{name!r} is no device name') from error
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise
        raise OSError(errno.ENODEV,
                      f'device {name} does not exist') from error


def prefix(text):
    """Check a prefix, which has no host bits."""
    return _wire(texts.parse_prefix, text)


def selector(text):
    """Check the prefix of a rule, whose length is not 0."""
    if prefix(text).endswith('/0'):
        raise invalid(f'{text} matches everything')
    return text


def interface(text):
    """Check an 'address/length'."""
    return _wire(texts.parse_interface, text)


def address(text):
    """Check an IP address."""
    return _wire(texts.parse_address, text)


def address6(text):
    """Check an IPv6 address, in canonical notation."""
    family, packed = texts.parse_address(address(text))
    if family != socket.AF_INET6 or texts.address_text(packed) != text:
        raise invalid(f'{text} is no IPv6 address in canonical notation')
    return text


def mac(text):
    """Check a unicast MAC address, in lower case with colons."""
    if texts.mac_bytes(_wire(texts.mac_bytes, text))[0] & 1 or not any(
            texts.mac_bytes(text)):
        raise invalid(f'{text} is the MAC address of no interface')
    return text


def _wire(parse, text):
    if not isinstance(text, str):
        raise invalid(f'{text!r} is no text')
    try:
        parse(text)
    except ValueError as error:
        raise invalid(str(error)) from error
    return text


def fwmark(mark, mask):
    """Check a packet mark and its mask, 32 bits each, the mask not 0."""
    for value in (mark, mask):
        if not 0 <= integer(value, 'mark') <= 0xffffffff:
            raise invalid(f'mark {value} does not have 32 bits')
    if not mask:
        raise invalid('a mark without a mask matches every packet')
    return mark, mask


def sysctl(path, value):
    """Check a sysctl and its value; returns the name of its file."""
    match = isinstance(path, str) and (
        _SYSCTLS.fullmatch(path) or _REDIRECTS.fullmatch(path))
    if not match:
        raise invalid(f'sysctl {path!r} is not one that the agent sets')
    for name in match.groups():
        if name is not None:
            device(name)
    if not isinstance(value, str) or not _SYSCTL_VALUE.fullmatch(value):
        raise invalid(f'{value!r} is no value for sysctl {path}')
    if match.re is _REDIRECTS and value != '0':
        raise invalid(f'sysctl {path} may only be 0')
    return os.path.join('/proc/sys', path)
