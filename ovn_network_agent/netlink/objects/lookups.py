# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The kernel's own look-up of one route: what ``ip route get`` asks.

With an incoming device the kernel treats the question as a packet that arrives
there, so the answer includes policy rules, rp_filter and forwarding
(inet_rtm_getroute() of the kernel).

Routes of IPv6 with the same nexthop object, as zebra makes them, share one
cached answer: the next hop of all of them, and the rest of the route that was
used first (rt6_get_pcpu_route() of the kernel).
"""

import errno
import socket
import typing

from pyroute2.netlink.rtnl import rtmsg

from ovn_network_agent.common import ip_text
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink.objects import routes

_MESSAGE = messages.narrow(
    rtmsg.rtmsg, 'RTA_DST', 'RTA_SRC', 'RTA_IIF', 'RTA_OIF', 'RTA_GATEWAY',
    'RTA_PRIORITY', (route_codec.RTA_MULTIPATH, 'RTA_MULTIPATH', 'binary'),
    'RTA_TABLE', 'RTA_MARK', route_codec.VIA)
# RTN_UNICAST and RTN_LOCAL of linux/rtnetlink.h.
_UNICAST = 1
_LOCAL = 2
_MEANINGS = {
    errno.EXDEV: 'the source is refused (rp_filter, or a martian address)',
    # Since Linux 6.14 also in the place of EXDEV.
    errno.EINVAL: 'dropped by a rule or route of type blackhole, or the '
                  'source is refused (rp_filter)',
    errno.ENETUNREACH: 'there is no route',
    errno.EHOSTUNREACH: 'there is no route, or the incoming device does not '
                        'forward',
    errno.EACCES: 'prohibited by a rule or route'}
_MISSING = (errno.ENETUNREACH, errno.EHOSTUNREACH)


class Lookup(typing.NamedTuple):
    """The answer of the kernel."""

    error: str = ''  # why the kernel drops the packet, '' when it forwards it
    table: int = 0  # routing table of the route, 0 for an unknown one
    # Prefix of the route, '0.0.0.0/0' for a default route; '' when the kernel
    # names another route with the same next hop.
    dst: str = ''
    dev: str = ''  # name of the output device, '' for several
    # Gateway, or None; that of an IPv4 route may be of IPv6.
    via: str | None = None
    protocol: int = 0  # rtm_protocol of the route, 0 for an unknown one
    local: bool = False  # whether the packet would be for this host itself
    # Whether the kernel refuses the source of the packet, and says so; newer
    # kernels do not.
    refused: bool = False
    missing: bool = False  # whether the kernel knows no way to the destination

    def text(self) -> str:
        """The answer in the manner of ip-route(8)."""
        if self.error:
            return self.error
        inet6 = ('inet6 ' if self.via and ':' in self.via and
                 ':' not in self.dst else '')
        via = f' via {inet6}{self.via}' if self.via else ''
        dev = f' dev {self.dev}' if self.dev else ' over several next hops'
        if not self.dst:
            return f'a route{via}{dev}, one of several with this next hop'
        return (f'{"local " if self.local else ""}{self.dst}{via}{dev} '
                f'table {self.table} proto {self.protocol}')


def look_up(kernel: connection.Connection, dst: str, src: str = '',
            incoming: int = 0, outgoing: int = 0, mark: int = 0) -> Lookup:
    """Ask for the route of a packet.

    :param incoming: ifindex, 0 for a packet of this host
    :param outgoing: ifindex of a VRF to look in, 0 for none
    :raises OSError: for an error that says nothing about the route
    """
    try:
        data, start, end = kernel.ask(
            routes.RTM_GETROUTE, _question(dst, src, incoming, outgoing,
                                           mark))
    except OSError as error:
        if error.errno in _MEANINGS:
            return Lookup(_MEANINGS[error.errno],
                          refused=error.errno == errno.EXDEV,
                          missing=error.errno in _MISSING)
        # A socket's own time limit has no number.
        raise OSError(error.errno or errno.ETIMEDOUT, f'route to {dst}: '
                      f'{error.strerror or error}') from error
    found = _decode(messages.decode(_MESSAGE, data, start, end))
    if found.dst and ip_text.address(dst) not in ip_text.network(found.dst):
        return found._replace(table=0, dst='', protocol=0)
    return found


def _question(dst: str, src: str, incoming: int, outgoing: int,
              mark: int) -> bytes:
    family, _packed = texts.parse_address(dst)
    fields = routes.LOOKUP[family]
    wanted: list[tuple[str, str | int]] = [('RTA_DST', dst)]
    wanted += [(name, value) for name, value in (
        ('RTA_SRC', src), ('RTA_IIF', incoming), ('RTA_OIF', outgoing),
        ('RTA_MARK', mark))
        if value]
    return messages.encode(
        _MESSAGE, wanted, family=family,
        src_len=fields['dst_len'] if src else 0, **fields)


def _decode(message: messages.Message) -> Lookup:
    found = messages.attributes(message)
    kind = message['type']
    if kind not in (_UNICAST, _LOCAL):
        return Lookup(f'a route of type {kind} drops it')
    dst = found.get('RTA_DST')
    return Lookup(
        '', found.get('RTA_TABLE', message['table']),
        f'{texts.canonical(dst)}/{message["dst_len"]}' if dst else
        ('0.0.0.0/0' if message['family'] == socket.AF_INET else '::/0'),
        '' if 'RTA_OIF' not in found or 'RTA_MULTIPATH' in found
        else route_codec.device(found['RTA_OIF'], {}),
        _gateway(found),
        message['proto'], kind == _LOCAL)


def _gateway(found: dict[str, typing.Any]) -> str | None:
    """The gateway of a decoded route."""
    if 'RTA_GATEWAY' in found:
        return texts.canonical(found['RTA_GATEWAY'])
    return (route_codec.via_text(found['RTA_VIA'])
            if 'RTA_VIA' in found else None)
