# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A dump of routes, divided into portions that are compared by a digest.

A portion has the IPv4 routes of one table whose destinations have the same
first three bytes.  So all routes of one destination are in one portion, and a
change of a route changes one portion.  All other routes are one more portion.
"""

import hashlib

from ovn_network_agent import strides
from ovn_network_agent.netlink import raw
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import wire

# In a message: the part that the routes of a portion have in common, which
# ends before the last byte of the destination.
_COMMON = slice(wire.HEADER.size + route_codec.RTMSG.size,
                wire.HEADER.size + route_codec.DST_FROM + 3)
_OTHERS = b''


def divide(dumps):
    """Divide dumps of routes.

    :param dumps: list of lists of bytes, the datagrams of each dump
    :returns: dict of digest to the argument of :func:`connection.objects`
    :raises ValueError: when a length does not fit
    """
    found = {}
    for dump in dumps:
        for data in dump:
            for key, start, end in _runs(data):
                found.setdefault(key, []).append(data[start:end])
    return {hashlib.blake2b(b''.join(pieces), digest_size=raw.SIZE).digest():
            pieces for pieces in found.values()}


def _runs(data):
    """The routes of a datagram, those of a portion in a row as one.

    :returns: iterator of (key of the portion, start, end)
    """
    at = 0
    while at + wire.HEADER.size <= len(data):
        kind, _flags, _sequence, _port, start, end = next(
            wire.messages(data, at))
        length = (end - at + 3) & ~3
        key = _OTHERS
        count = 1
        if (at + length <= len(data) and
                route_codec.is_usual(data, start, end)):
            key = data[at:][_COMMON]
            count = strides.alike(data, at, length, _COMMON.stop)
        if kind not in (wire.NLMSG_DONE, wire.NLMSG_ERROR):
            yield key, at, min(at + count * length, len(data))
        at += count * length
