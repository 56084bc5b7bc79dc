# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Notifications: their multicast groups, a filter, and what they say.

A full BGP table causes a million of them, which would wake the agent in vain
and overflow its buffer. Classic BPF (linux/filter.h) loads numbers in network
byte order; netlink headers are in host order.
"""

from collections.abc import Iterable
import ctypes
import socket
import struct
import sys
import typing

from pyroute2 import netlink
from pyroute2.netlink import nfnetlink
from pyroute2.netlink import rtnl

from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import wire

RTM_NEWNETCONF = rtnl.RTM_NEWNETCONF
RTM_DELNETCONF = rtnl.RTM_DELNETCONF

#: of NETLINK_ROUTE; the last: forwarding, proxy_arp, rp_filter of a device
KERNEL = (
    rtnl.RTNLGRP_LINK, rtnl.RTNLGRP_NEIGH, rtnl.RTNLGRP_IPV4_IFADDR,
    rtnl.RTNLGRP_IPV4_ROUTE, rtnl.RTNLGRP_IPV4_RULE,
    rtnl.RTNLGRP_IPV6_IFADDR, rtnl.RTNLGRP_IPV6_ROUTE,
    rtnl.RTNLGRP_IPV6_RULE, rtnl.RTNLGRP_IPV4_NETCONF,
    rtnl.RTNLGRP_IPV6_NETCONF)
#: linux/rtnetlink.h; a nexthop that goes takes its routes along, without a
#: notification for each
NEXTHOP = 32
#: groups of NETLINK_ROUTE for links, their addresses and their routes
LINKS = (rtnl.RTNLGRP_LINK, rtnl.RTNLGRP_IPV4_IFADDR,
         rtnl.RTNLGRP_IPV6_IFADDR, rtnl.RTNLGRP_IPV4_ROUTE,
         rtnl.RTNLGRP_IPV6_ROUTE, NEXTHOP)
#: groups of NETLINK_NETFILTER
NFTABLES = (nfnetlink.NFNLGRP_NFTABLES,)
_RECEIVE_BUFFER = 1024 * 1024  # bytes
# struct netconfmsg, and the first attribute, NETCONFA_IFINDEX.
_NETCONF = struct.Struct('=4x2xHi')
_IFINDEX = 1
SO_ATTACH_FILTER = 26

# (code, jump if true, jump if false, operand) of each instruction.
Program: typing.TypeAlias = list[tuple[int, int, int, int]]

_LD_HALF = 0x28  # BPF_LD | BPF_H | BPF_ABS
_LD_BYTE = 0x30  # BPF_LD | BPF_B | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_SET = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_ALL = 0xffffffff

# Offsets in a datagram, which has one notification.
_TYPE = 4
_FLAGS = 6
_FAMILY = wire.HEADER.size  # rtm_family
_LENGTH = wire.HEADER.size + 1  # rtm_dst_len
_PROTOCOL = wire.HEADER.size + 5  # rtm_protocol
# In messages of all kinds of objects, attribute 1 is the name of the table:
# NFTA_TABLE_NAME, NFTA_CHAIN_TABLE, NFTA_RULE_TABLE, NFTA_SET_TABLE, ...
_MESSAGE = messages.narrow(nfnetlink.nfgen_msg, (1, 'table', 'asciiz'))


def device_of_sysctls(data: bytes, start: int, end: int) -> int:
    """ifindex of RTM_NEWNETCONF (linux/netconf.h), 0 without one.

    Negative for the values of all devices, or of new ones.
    """
    # struct netconfmsg has one byte, and attributes are aligned to four.
    if end - start < _NETCONF.size:
        return 0
    kind, index = _NETCONF.unpack_from(data, start)
    return max(index, 0) if kind == _IFINDEX else 0


def subscribe(groups: Iterable[int], program: 'Program | None' = None,
              protocol: int = socket.NETLINK_ROUTE) -> socket.socket:
    """A socket, not blocking, that gets the notifications of some groups.

    :param program: the filter that they have to pass, None for all
    """
    sock = socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC |
        socket.SOCK_NONBLOCK, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        if program is not None:
            attach(sock, program)
        sock.bind((0, 0))
        for group in groups:
            sock.setsockopt(netlink.SOL_NETLINK,
                            netlink.NETLINK_ADD_MEMBERSHIP, group)
    except OSError:
        sock.close()
        raise
    return sock


def described(port: int) -> str:
    """The author of a notification: ' by netlink port 4711 (ip)' or ''.

    The first netlink socket of a process usually has its number as the port
    (nlmsg_pid); the name is a hint and no proof.
    """
    if not port:
        return ''
    try:
        with open(f'/proc/{port:d}/comm', encoding='utf-8',
                  errors='replace') as opened:
            return f' by netlink port {port} ({opened.read().strip()})'
    except OSError:
        # The process has ended, or the port is no number of a process.
        return f' by netlink port {port}'


def _half(number: int) -> int:
    """A 16-bit number of the host as BPF loads it."""
    return int.from_bytes(number.to_bytes(2, sys.byteorder))


def route_filter(new: int, delete: int, protocol: int, other: int) -> Program:
    """Program that drops route notifications of no interest.

    It passes deletions of a route of the two protocols, replacements by a
    route of another protocol than the first, and each change of a default
    route of IPv4, of which there are few.

    :param new: RTM_NEWROUTE
    :param delete: RTM_DELROUTE
    :param protocol: rtm_protocol of the agent's routes
    """
    return [
        (_LD_HALF, 0, 0, _TYPE),
        (_JUMP_EQUAL, 1, 0, _half(delete)),
        (_JUMP_EQUAL, 0, 13, _half(new)),
        (_LD_BYTE, 0, 0, _LENGTH),
        (_JUMP_EQUAL, 0, 2, 0),
        (_LD_BYTE, 0, 0, _FAMILY),
        (_JUMP_EQUAL, 9, 0, socket.AF_INET),
        (_LD_HALF, 0, 0, _TYPE),
        (_JUMP_EQUAL, 0, 3, _half(delete)),
        (_LD_BYTE, 0, 0, _PROTOCOL),
        (_JUMP_EQUAL, 5, 0, protocol),
        (_JUMP_EQUAL, 4, 5, other),
        (_LD_HALF, 0, 0, _FLAGS),
        (_JUMP_SET, 0, 3, _half(wire.NLM_F_REPLACE)),
        (_LD_BYTE, 0, 0, _PROTOCOL),
        (_JUMP_EQUAL, 1, 0, protocol),
        (_RETURN, 0, 0, _ALL),
        (_RETURN, 0, 0, 0),
    ]


def default_filter(new: int, delete: int) -> Program:
    """As :func:`route_filter`, but passes all default routes alone."""
    return [
        (_LD_HALF, 0, 0, _TYPE),
        (_JUMP_EQUAL, 1, 0, _half(delete)),
        (_JUMP_EQUAL, 0, 2, _half(new)),
        (_LD_BYTE, 0, 0, _LENGTH),
        (_JUMP_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALL),
        (_RETURN, 0, 0, 0),
    ]


def attach(sock: socket.socket, program: Program) -> None:
    """Attach a program to a socket."""
    code = ctypes.create_string_buffer(
        b''.join(struct.pack('=HBBI', *step) for step in program))
    # struct sock_fprog: number of instructions, pointer to them.
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack(
        'HP', len(program), ctypes.addressof(code)))


def table(kind: int, data: bytes, start: int, end: int) -> str | None:
    """The name of the table that a notification is about."""
    if kind >> 8 != nfnetlink.NFNL_SUBSYS_NFTABLES:
        return None
    return messages.attributes(
        messages.decode(_MESSAGE, data, start, end)).get('table')
