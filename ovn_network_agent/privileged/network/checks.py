# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Argument checks of the kernel entry points, which do not trust the caller.

Each returns the checked value, or raises OSError (EINVAL, ENODEV) with a text
for the operator, the failure of one item.
"""

from collections.abc import Callable
from collections.abc import Sequence
import errno
import os
import re
import socket
import typing

from ovn_network_agent import ownership
from ovn_network_agent.netlink import texts

# What an entry point is called with; each item is checked.
Items = Sequence[Sequence[typing.Any]]
_T = typing.TypeVar('_T')

# linux/rtnetlink.h: 0 is "unspecified", 255 the kernel's local table
_MAX_TABLE = 0xffffffff
_LOCAL_TABLE = 255
# 0, 32766 and 32767 are the kernel's own rules, ip-rule(8)
_PRIORITIES = range(1, 32766)

_SYSCTLS = re.compile(
    r'net/(?:ipv4/conf/(?P<conf>[^/]+)'
    r'/(?:proxy_arp|forwarding|accept_local|promote_secondaries)'
    r'|ipv6/conf/(?P<conf6>[^/]+)/(?:proxy_ndp|ndisc_notify)'
    r'|ipv[46]/neigh/(?P<neigh>[^/]+)/proxy_delay'
    r'|ipv4/(?:tcp_l3mdev_accept|udp_l3mdev_accept))')
_REDIRECTS = re.compile(r'net/ipv4/conf/(?P<conf>[^/]+)/send_redirects')
_SYSCTL_VALUE = re.compile(r'[0-9]{1,10}')


def invalid(text: str) -> OSError:
    """The OSError (EINVAL) for a refused argument."""
    return OSError(errno.EINVAL, text)


def permit(fits: object, what: str, expected: str) -> None:
    """Refuse, with EPERM, a request that is outside of the limits."""
    if not fits:
        raise OSError(errno.EPERM, f'{what} is refused: it is not {expected}, '
                      'as the privileged side was started with')


def foreign(dev: str) -> OSError:
    """The error for a device of somebody else with the name of a VNI's."""
    return OSError(errno.EEXIST, f'a device {dev} exists which is not ours; '
                   'give the network another VNI, or rename the device, or '
                   f'remove it if nobody needs it (ip link delete {dev})')


def sequence(value: object, what: str = 'argument') -> Sequence[typing.Any]:
    """Check a list of items, which arrives as a tuple."""
    if not isinstance(value, list | tuple):
        raise invalid(f'{what} {value!r} is no list')
    return value


def items(*lists: tuple[str, Callable[..., _T], object]
          ) -> tuple[list[list[typing.Any]], list[tuple[str, int, _T]]]:
    """Check (name, function of the parts of an item, list) item by item.

    :returns: [name, index, reason] of the refused items; (name, index, result)
        of the others
    """
    refused: list[list[typing.Any]] = []
    fitting = []
    for name, check, listed in lists:
        for index, item in enumerate(sequence(listed, name)):
            try:
                fitting.append((name, index, check(*sequence(item, 'item'))))
            except (OSError, TypeError, ValueError) as error:
                refused.append([name, index, str(error)])
    return refused, fitting


def integer(value: object, what: str) -> int:
    """Check an int that is no bool."""
    if type(value) is not int:
        raise invalid(f'{what} {value!r} is no number')
    return value


def version(value: object) -> int:
    """Check an IP version."""
    number = integer(value, 'IP version')
    if number not in (4, 6):
        raise invalid(f'{number} is no IP version')
    return number


def boolean(value: object) -> bool:
    """Check a bool."""
    if type(value) is not bool:
        raise invalid(f'{value!r} is neither true nor false')
    return value


def table(value: object) -> int:
    """Check the id of a routing table for the agent's routes."""
    number = integer(value, 'table')
    if not 0 < number <= _MAX_TABLE or number == _LOCAL_TABLE:
        raise invalid(f'table {number} is not for routes of the agent')
    return number


def priority(value: object) -> int:
    """Check the priority of a rule, which is between the kernel's rules."""
    number = integer(value, 'priority')
    if number not in _PRIORITIES:
        raise invalid(f'priority {number} is not between 1 and 32765')
    return number


def metric(value: object, dst: str) -> int:
    """Check the metric of a route: a tag, or 0 for the default."""
    number = integer(value, 'metric')
    if number and (number not in ownership.TAGS or dst.endswith('/0')):
        raise invalid(f'metric {number} of {dst} is not one of the agent')
    return number


def suppress(value: object) -> int:
    """Check the prefix length that a rule suppresses."""
    number = integer(value, 'suppress_prefixlength')
    if not 0 <= number <= 128:
        raise invalid(f'{number} is no prefix length')
    return number


def device(name: object) -> str:
    """Check the name of a device like dev_valid_name() of the kernel."""
    # a lone surrogate would have no bytes by itself
    if (not isinstance(name, str) or name in ('', '.', '..')
            or len(name.encode(errors='surrogatepass')) >= texts.IFNAMSIZ
            or any(c in '/:\0' or c.isspace() for c in name)):
        raise invalid(f'{name!r} is no device name')
    return name


def index(name: object) -> int:
    """ifindex of an existing device, else ENODEV."""
    try:
        return socket.if_nametoindex(device(name))
    except UnicodeEncodeError as error:
        raise invalid(f'{name!r} is no device name') from error
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise
        raise OSError(errno.ENODEV,
                      f'device {name} does not exist') from error


def prefix(text: object) -> str:
    """Check a prefix, which has no host bits."""
    return _wire(texts.parse_prefix, text)


def selector(text: object) -> str:
    """Check the prefix of a rule, whose length is not 0."""
    checked = prefix(text)
    if checked.endswith('/0'):
        raise invalid(f'{text} matches everything')
    return checked


def interface(text: object) -> str:
    """Check an 'address/length'."""
    return _wire(texts.parse_interface, text)


def address(text: object) -> str:
    """Check an IP address."""
    return _wire(texts.parse_address, text)


def address6(text: object) -> str:
    """Check an IPv6 address, in canonical notation."""
    checked = address(text)
    family, packed = texts.parse_address(checked)
    if family != socket.AF_INET6 or texts.address_text(packed) != text:
        raise invalid(f'{text} is no IPv6 address in canonical notation')
    return checked


def mac(text: object) -> str:
    """Check a unicast MAC address, in lower case with colons."""
    checked = _wire(texts.mac_bytes, text)
    octets = texts.mac_bytes(checked)
    if octets[0] & 1 or not any(octets):
        raise invalid(f'{text} is the MAC address of no interface')
    return checked


def _wire(parse: Callable[[str], object], text: object) -> str:
    if not isinstance(text, str):
        raise invalid(f'{text!r} is no text')
    try:
        parse(text)
    except ValueError as error:
        raise invalid(str(error)) from error
    return text


def fwmark(mark: object, mask: object) -> tuple[int, int]:
    """Check a packet mark and its mask, 32 bits each, the mask not 0."""
    numbers = integer(mark, 'mark'), integer(mask, 'mark')
    for number in numbers:
        if not 0 <= number <= 0xffffffff:
            raise invalid(f'mark {number} does not have 32 bits')
    if not numbers[1]:
        raise invalid('a mark without a mask matches every packet')
    return numbers


def sysctl(path: object, value: object) -> str:
    """Check a sysctl and its value; returns the name of its file."""
    match = (_SYSCTLS.fullmatch(path) or _REDIRECTS.fullmatch(path)
             ) if isinstance(path, str) else None
    if not match:
        raise invalid(f'sysctl {path!r} is not one that the agent sets')
    for name in match.groups():
        if name is not None:
            device(name)
    if not isinstance(value, str) or not _SYSCTL_VALUE.fullmatch(value):
        raise invalid(f'{value!r} is no value for sysctl {path}')
    if match.re is _REDIRECTS and value != '0':
        raise invalid(f'sysctl {path} may only be 0')
    return os.path.join('/proc/sys', match[0])
