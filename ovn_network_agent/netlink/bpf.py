# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A socket filter that drops route notifications of no interest.

A full BGP table causes a million of them, which would wake the agent in vain
and overflow its buffer. Classic BPF (linux/filter.h) loads numbers in network
byte order; netlink headers are in host order.
"""

import ctypes
import socket
import struct
import sys
import typing

from ovn_network_agent.netlink import wire

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
