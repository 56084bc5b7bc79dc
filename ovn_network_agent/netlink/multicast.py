# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Multicast groups of notifications, and membership in them."""

from collections.abc import Iterable
import socket
import struct

from pyroute2 import netlink
from pyroute2.netlink import nfnetlink
from pyroute2.netlink import rtnl

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


# struct netconfmsg, and the first attribute, NETCONFA_IFINDEX.
_NETCONF = struct.Struct('=4x2xHi')
_IFINDEX = 1


def device_of_sysctls(data: bytes, start: int, end: int) -> int:
    """ifindex of RTM_NEWNETCONF (linux/netconf.h), 0 without one.

    Negative for the values of all devices, or of new ones.
    """
    # struct netconfmsg has one byte, and attributes are aligned to four.
    if end - start < _NETCONF.size:
        return 0
    kind, index = _NETCONF.unpack_from(data, start)
    return max(index, 0) if kind == _IFINDEX else 0


def join(sock: socket.socket, groups: Iterable[int]) -> None:
    """Make a socket a member of some groups."""
    for group in groups:
        sock.setsockopt(netlink.SOL_NETLINK, netlink.NETLINK_ADD_MEMBERSHIP,
                        group)


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
