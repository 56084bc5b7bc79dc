# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Digests of flows that packets and time do not change.

Open vSwitch sends each flow with age and counters (OpenFlow 1.3.5, A.3.5.2),
which no request leaves out, so they are set to zero.  Flows are divided into
portions by content, with a digest each, so that a changed flow changes one or
two, in any order.
"""

import hashlib
import zlib

from ovn_network_agent.common import equal_records
from ovn_network_agent.openflow import wire

#: bytes of the digest of a portion
SIZE = 16
# with fewer flows of the same length in a row, a loop is faster
_MANY = 24
# with 10,000 flows, a portion has ten
_PORTIONS = 1024


def plain(bodies: list[bytes]) -> list[bytes]:
    """OFPMP_FLOW bodies without ages and counters; or wire.Malformed."""
    return [_without_counters(body) for body in bodies]


def of_flows(bodies: list[bytes]) -> str:
    """The digest of the flows in bodies of :func:`plain`."""
    found = _new()
    for body in bodies:
        found.update(body)
    return found.hexdigest()


def portions(bodies: list[bytes]) -> dict[bytes, list[bytes]]:
    """The flows of :func:`plain` bodies by their portion's digest.

    :raises wire.Malformed: when lengths do not fit
    """
    found: list[list[bytes]] = [[] for _portion in range(_PORTIONS)]
    for body in bodies:
        start = wire.FIRST_FLOW
        while start < len(body):
            end = start + wire.flow_length(body, start)
            flow = body[start:end]
            found[zlib.crc32(flow) % _PORTIONS].append(flow)
            start = end
    return {_of_portion(flows): flows for flows in found if flows}


def _of_portion(flows: list[bytes]) -> bytes:
    """By no order; each flow says its length."""
    found = _new()
    found.update(b''.join(sorted(flows)))
    return found.digest()


def _new() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=SIZE)


def _without_counters(body: bytes) -> bytes:
    data = bytearray(body)
    start = wire.FIRST_FLOW
    while start < len(body):
        length = wire.flow_length(body, start)
        count = equal_records.count_equal(
            body, start, length, wire.FLOW_LENGTH)
        end = start + count * length
        for first, last in wire.FLOW_COUNTERS:
            if count < _MANY:
                for at in range(start, end, length):
                    data[at + first:at + last] = bytes(last - first)
            else:
                for place in range(start + first, start + last):
                    data[place:end:length] = bytes(count)
        start = end
    return bytes(data)
