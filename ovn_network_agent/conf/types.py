# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Types of option values that oslo.config does not have.

Each error names the value, the problem and the remedy: the operator sees
nothing else.
"""

import ipaddress
import math
import os
import re
import shlex
from typing import Any

from oslo_config import types

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text

# Safe in the input of vtysh, ovs-ofctl and nft.
_NAME = re.compile(r'[A-Za-z0-9_.-]+\Z')
_UUID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.IGNORECASE)
_INTERFACE_NAME_MAX = 15  # IFNAMSIZ is 16 with the terminating zero
_SOCKET_PATH_MAX = 107  # sun_path of unix(7) is 108 with the terminating zero
_REMOTE_SCHEMES = ('tcp', 'ssl', 'unix')


class Text(types.ConfigType):
    """Base of types for a text without blanks around it.

    :param empty: whether the empty string is allowed
    :param type_name: name in place of TYPE_NAME
    """

    TYPE_NAME = ''

    def __init__(self, empty: bool = False,
                 type_name: str | None = None) -> None:
        super().__init__(type_name=type_name or self.TYPE_NAME)
        self.empty = empty

    def __call__(self, value: object) -> str:
        text = str(value).strip()
        return text if self.empty and not text else self._checked(text)

    def _checked(self, value: str) -> Any:
        """The agent's value; ValueError with the value and the remedy."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return (self.__class__ is other.__class__ and
                self.empty == other.empty)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return self.__class__.__name__

    def _formatter(self, value: object) -> str:
        return str(value)


class Name(Text):
    """A name that becomes a part of other programs' commands."""

    TYPE_NAME = 'name'

    def _checked(self, value: str) -> str:
        if not _NAME.match(value):
            raise ValueError(f'{value!r} is not a name; use letters, digits, '
                             'and "_", "." or "-" only')
        return value


class PortName(Text):
    """The name of a port in OVN, or the empty string."""

    TYPE_NAME = 'port name'

    def _checked(self, value: str) -> str:
        if any(char.isspace() or not char.isprintable() for char in value):
            raise ValueError(f'{value!r} is not the name of a port; write it '
                             'as "ovn-sbctl list Port_Binding" shows it, '
                             'without blanks')
        return value


class ObjectName(Text):
    """A name or UUID of an object of OVN or Neutron."""

    TYPE_NAME = 'name or UUID'

    def _checked(self, value: str) -> str:
        if not value or not value.isprintable():
            raise ValueError(f'{value!r} is not a name; give the name or the '
                             'UUID that "openstack router list" or "openstack '
                             'network list" shows')
        return value


class Uuid(Text):
    """The UUID of an object of Neutron, as Neutron writes it."""

    TYPE_NAME = 'UUID'

    def _checked(self, value: str) -> str:
        if not _UUID.fullmatch(value):
            raise ValueError(f'{value!r} is not a UUID; give one as '
                             '"openstack address scope list" shows it, like '
                             '11111111-2222-4333-8444-555555555555')
        return value.lower()


class NamedTag(Text):
    """A name or UUID of an object of OVN or Neutron, a colon, and a tag."""

    TYPE_NAME = 'name and tag'

    def _checked(self, value: str) -> str:
        name, _colon, number = map(str.strip, value.rpartition(':'))
        if not name or not name.isprintable():
            raise ValueError(f'{value!r} is not a name with a tag; write it '
                             f'like public:{ownership.TAGS.start + 1}')
        if ownership.tag(number) is None:
            raise ValueError(f'{number!r} in {value!r} is not a tag; use a '
                             f'number from {ownership.TAGS.start} to '
                             f'{ownership.TAGS.stop - 1}')
        return f'{name}:{number}'


class InterfaceName(Name):
    """The name of a network device."""

    TYPE_NAME = 'interface name'

    def _checked(self, value: str) -> str:
        value = super()._checked(value)
        if len(value) > _INTERFACE_NAME_MAX:
            raise ValueError(f'{value!r} has {len(value)} bytes; the kernel '
                             'allows interface names of at most '
                             f'{_INTERFACE_NAME_MAX}')
        if value in ('.', '..', 'all', 'default'):
            raise ValueError(f'{value!r} cannot be the name of a device; give '
                             'the name that "ip link" shows')
        return value


class Command(Text):
    """A program with arguments, in the words of a shell."""

    TYPE_NAME = 'command'

    def _checked(self, value: str) -> str:
        try:
            argv = shlex.split(value)
        except ValueError as error:
            raise ValueError(f'{value!r} is no command ({error}); close its '
                             'quotation marks')
        if not argv:
            raise ValueError('the command is empty; name a program')
        return value


class SocketPath(Text):
    """The path of a Unix socket, or the empty string."""

    TYPE_NAME = 'path of a socket'

    def _checked(self, value: str) -> str:
        if value and not value.startswith('/'):
            raise ValueError(f'{value!r} is not an absolute path; begin '
                             'it with "/"')
        if value.endswith('/'):
            raise ValueError(f'{value!r} is a directory; name a file in it')
        if len(os.fsencode(value)) > _SOCKET_PATH_MAX:
            raise ValueError(f'{value!r} has {len(os.fsencode(value))} bytes; '
                             'the path of a socket has at most '
                             f'{_SOCKET_PATH_MAX}')
        return value


class FilePath(Text):
    """An absolute path of a file, or the empty string for none."""

    TYPE_NAME = 'path'

    def _checked(self, value: str) -> str:
        if value and not os.path.isabs(value):
            raise ValueError(f'{value!r} is not an absolute path; begin '
                             'it with /')
        return value


class IPv4Address(Text):
    """An IPv4 address of a host."""

    TYPE_NAME = 'IPv4 address'

    def _checked(self, value: str) -> str:
        try:
            address = ipaddress.IPv4Address(value)
        except ValueError:
            raise ValueError(f'{value!r} is not an IPv4 address; write it '
                             'like 169.254.0.1, without a prefix length')
        if address.is_multicast or address.is_unspecified:
            raise ValueError(f'{value!r} is not the address of a host')
        return str(address)


class IPv6Host(Text):
    """A global IPv6 address of a host, in canonical notation."""

    TYPE_NAME = 'IPv6 address'

    def _checked(self, value: str) -> str:
        try:
            address = ip_text.address(value)
            if address.version != 6 or (
                    address.is_multicast or address.is_link_local or
                    address.is_unspecified or address.is_loopback):
                raise ValueError
        except ValueError:
            raise ValueError(f'{value!r} is no IPv6 address of a host; write '
                             'it like 2001:db8::1, without a prefix length; '
                             'link-local addresses cannot be used here')
        return str(address)


class IPNetwork(Text):
    """An IP network; host bits are cut off, as in the Go program."""

    TYPE_NAME = 'IP network'

    def _checked(self, value: str) -> str:
        try:
            if '/' not in value:
                raise ValueError
            return str(ip_text.network(value, strict=False))
        except ValueError:
            raise ValueError(f'{value!r} is not an IP network; write it '
                             'like 198.51.100.0/24 or 2001:db8:100::/64')


class OvsdbRemote(Text):
    """The remote of an OVSDB server: tcp:host:port, ssl:..., unix:path."""

    TYPE_NAME = 'OVSDB remote'

    def _checked(self, value: str) -> str:
        scheme, colon, rest = value.partition(':')
        scheme = scheme.lower()
        if not colon or scheme not in _REMOTE_SCHEMES:
            raise ValueError(f'{value!r} is not an OVSDB remote; write it '
                             'like tcp:192.0.2.1:6641, ssl:[2001:db8::1]:6641 '
                             'or unix:/run/ovn/ovnnb_db.sock')
        if scheme == 'unix':
            if not rest.startswith('/'):
                raise ValueError(f'{value!r} does not name a socket; give its '
                                 'absolute path after "unix:"')
        else:
            self._check_host_and_port(value, rest)
        return f'{scheme}:{rest}'

    @staticmethod
    def _check_host_and_port(value: str, rest: str) -> None:
        host, colon, port = rest.rpartition(':')
        if not colon or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(f'{value!r} has no port between 1 and 65535 at '
                             'its end; write it like tcp:192.0.2.1:6641')
        if host.startswith('[') and host.endswith(']'):
            try:
                if ip_text.address(_without_device(host[1:-1])).version != 6:
                    raise ValueError(host)
            except ValueError:
                raise ValueError(f'{value!r} has no IPv6 address between its '
                                 'brackets')
        elif ':' in host:
            raise ValueError(f'{value!r}: write an IPv6 address in brackets, '
                             'like tcp:[2001:db8::1]:6641')
        elif not re.match(r'[A-Za-z0-9._-]+\Z', host):
            raise ValueError(f'{value!r} has no host name or address '
                             'before its port')


def _without_device(host: str) -> str:
    """The address 'fe80::1' of 'fe80::1%eth0', link-local alone.

    :raises ValueError: when no device could have this name
    """
    address, percent, device = host.partition('%')
    if percent and not _NAME.match(device):
        raise ValueError(f'{device!r} is no device')
    return address


class CommaList(types.List):
    """A comma-separated list; blanks are trimmed, empty parts dropped.

    The error names only the wrong part.  That of oslo.config names all
    following ones, too, as its items may contain commas.
    """

    def __init__(self, item_type: types.ConfigType,
                 type_name: str = 'list value') -> None:
        super().__init__(item_type=item_type, type_name=type_name)

    def __call__(self, value: Any) -> list[Any]:
        if isinstance(value, str):
            value = [part for part in value.split(',') if part.strip()]
        return [self.item_type(part) for part in value]


class Integer(types.Integer):
    """A whole number within bounds; an empty value is an error."""

    min: int
    max: int

    def __init__(self, min: int, max: int,
                 type_name: str = 'integer value') -> None:
        super().__init__(min=min, max=max, type_name=type_name)

    def __call__(self, value: object) -> int:
        try:
            number = int(str(value).strip())
        except ValueError:
            raise ValueError(f'{value!r} is not a whole number, without a '
                             f'unit, between {self.min:d} and {self.max:d}')
        if not self.min <= number <= self.max:
            raise ValueError(f'{number} is not between {self.min:d} and '
                             f'{self.max:d}')
        return number


class Seconds(types.Float):
    """A number of seconds, with fractions; never NaN or infinite."""

    min: float
    max: float

    def __init__(self, min: float = 0, max: float = 86400,
                 type_name: str = 'seconds') -> None:
        super().__init__(min=min, max=max, type_name=type_name)

    def __call__(self, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ValueError(f'{value!r} is not a number of seconds; write it '
                             'like 0.05, without a unit')
        if not math.isfinite(number) or not self.min <= number <= self.max:
            raise ValueError(f'{number} is not between {self.min:g} and '
                             f'{self.max:g} seconds')
        return number


class ListenAddress(Text):
    """An address and a port to listen on, or the empty string.

    A port alone is one of the loopback address.
    """

    TYPE_NAME = 'address and port'

    def _checked(self, value: str) -> str:
        if not value:
            return ''
        host, _colon, port = value.rpartition(':')
        if not port.isascii() or not port.isdigit() or not (
                0 < int(port) < 65536):
            raise ValueError(f'{value!r} has no port between 1 and 65535 at '
                             'its end; write it like 127.0.0.1:9132')
        if value == port:
            host = '127.0.0.1'
        bracketed = host.startswith('[') and host.endswith(']')
        try:
            address = ip_text.address(host[1:-1] if bracketed else host)
        except ValueError:
            raise ValueError(f'{value!r} has no IP address before its port; '
                             'write it like 127.0.0.1:9132 or [::1]:9132')
        if bracketed != (address.version == 6):
            raise ValueError(f'{value!r}: write an IPv6 address, and no '
                             'other, in brackets, like [::1]:9132')
        if address.is_multicast:
            raise ValueError(f'{value!r}: nobody can listen on a multicast '
                             'address; name an address of this node')
        return f'{f"[{address}]" if bracketed else address}:{int(port):d}'
