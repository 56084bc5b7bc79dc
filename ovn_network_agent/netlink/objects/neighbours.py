# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Neighbours: struct ndmsg, linux/neighbour.h."""

from collections.abc import Callable
import errno
import socket
import struct
import typing

from pyroute2.netlink import rtnl
from pyroute2.netlink.rtnl import ndmsg

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import texts

RTM_NEWNEIGH = rtnl.RTM_NEWNEIGH
RTM_DELNEIGH = rtnl.RTM_DELNEIGH
RTM_GETNEIGH = rtnl.RTM_GETNEIGH

# pyroute2 0.8 does not know NDA_PROTOCOL, the agent's mark, and would log each
# link layer address that is no MAC address, hence 'binary'.
MESSAGE = messages.narrow(
    ndmsg.ndmsg, 'NDA_DST', (2, 'NDA_LLADDR', 'binary'), 'NDA_IFINDEX',
    (12, 'NDA_PROTOCOL', 'uint8'))
# The state in struct ndmsg, after family, padding and ifindex.
_STATE = struct.Struct('=8xH')
_STATES = {getattr(ndmsg, 'NUD_' + name): name for name in (
    'NONE', 'INCOMPLETE', 'REACHABLE', 'STALE', 'DELAY', 'PROBE', 'FAILED',
    'NOARP', 'PERMANENT')}


class Neighbour(typing.NamedTuple):
    """A neighbour entry."""

    # The ifindex; nothing here uses the method of tuples with this name.
    index: int  # type: ignore[assignment]
    dst: str  # IP address
    mac: str  # MAC address, '' while unknown
    permanent: bool  # whether the state is NUD_PERMANENT
    # NDA_PROTOCOL, the program that made the entry; 0 without.
    protocol: int = 0


def encode(index: int, dst: str, mac: str = '', protocol: int = 0) -> bytes:
    """Body of RTM_NEWNEIGH (permanent), or without a MAC of RTM_DELNEIGH."""
    family, _packed = texts.parse_address(dst)
    attributes: list[tuple[str, str | bytes | int]] = [('NDA_DST', dst)]
    if mac:
        attributes.append(('NDA_LLADDR', texts.mac_bytes(mac)))
    if protocol:
        attributes.append(('NDA_PROTOCOL', protocol))
    return messages.encode(
        MESSAGE, attributes, family=family, ifindex=index,
        state=ndmsg.NUD_PERMANENT if mac else 0)


def encode_proxy(index: int, dst: str, protocol: int = 0) -> bytes:
    """Body of RTM_NEWNEIGH or RTM_DELNEIGH of a proxy entry."""
    family, _packed = texts.parse_address(dst)
    attributes: list[tuple[str, str | bytes | int]] = [('NDA_DST', dst)]
    if protocol:
        attributes.append(('NDA_PROTOCOL', protocol))
    return messages.encode(MESSAGE, attributes, family=family, ifindex=index,
                           flags=ndmsg.NTF_PROXY)


def read(kernel: connection.Connection, index: int = 0,
         permanent: bool = False) -> list[Neighbour]:
    """Neighbours of one device (ifindex), or of all with 0."""
    body = messages.encode(MESSAGE,
                           [('NDA_IFINDEX', index)] if index else ())
    return _read(kernel, body, _is_permanent if permanent else None)


def read_proxies(kernel: connection.Connection,
                 family: int) -> list[Neighbour]:
    """Proxy entries of all devices, in a table without MAC and state."""
    body = messages.encode(MESSAGE, family=family, flags=ndmsg.NTF_PROXY)
    return _read(kernel, body)


def read_tunnels(kernel: connection.Connection) -> list[Neighbour]:
    """Entries of VXLAN devices; the address is the tunnel's other end."""
    body = messages.encode(MESSAGE, family=socket.AF_BRIDGE)
    return _read(kernel, body)


def _read(kernel: connection.Connection, body: bytes,
          wanted: Callable[[bytes, int, int], bool] | None = None
          ) -> list[Neighbour]:
    found = (_decode(*message) for message in kernel.dump(
        RTM_GETNEIGH, body, wanted))
    return [entry for entry in found if entry is not None]


def look_up(kernel: connection.Connection, index: int,
            dst: str) -> tuple[Neighbour, str] | None:
    """One neighbour entry, and the name of its state, such as 'REACHABLE'."""
    family, _packed = texts.parse_address(dst)
    try:
        data, start, end = kernel.ask(RTM_GETNEIGH, messages.encode(
            MESSAGE, [('NDA_DST', dst)], family=family, ifindex=index))
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        return None
    found = _decode(data, start, end)
    if found is None:
        return None
    state = _STATE.unpack_from(data, start)[0]
    return found, _STATES.get(state, f'{state:#x}')


def _is_permanent(data: bytes, start: int, end: int) -> bool:
    """Decodes nothing: BGP EVPN may make very many other entries."""
    if end - start < _STATE.size:
        raise ValueError(f'netlink neighbour of {end - start} bytes')
    return bool(_STATE.unpack_from(data, start)[0] & ndmsg.NUD_PERMANENT)


def _decode(data: bytes, start: int, end: int) -> Neighbour | None:
    """A :class:`Neighbour`, None for one without an IP address."""
    message = messages.decode(MESSAGE, data, start, end)
    found = messages.attributes(message)
    if 'NDA_DST' not in found:
        return None
    return Neighbour(
        message['ifindex'], texts.canonical(found['NDA_DST']),
        texts.mac_text(found.get('NDA_LLADDR')),
        bool(message['state'] & ndmsg.NUD_PERMANENT),
        found.get('NDA_PROTOCOL', 0))


def read_all_proxies(family: int) -> list[Neighbour]:
    """As :func:`read_proxies`, on a new connection."""
    with connection.Connection() as kernel:
        return read_proxies(kernel, family)


def read_permanent() -> list[Neighbour]:
    """Permanent neighbours of all devices, read on a new connection."""
    with connection.Connection() as kernel:
        return read(kernel, permanent=True)
