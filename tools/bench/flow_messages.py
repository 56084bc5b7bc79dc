# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Flows written to a bridge by OpenFlow 1.3; shares no code with the agent."""

import socket
import struct

_VERSION = 4
# OpenFlow 1.3.5, 7.1 and A.3: types and commands.
_HELLO, _ECHO, _FLOW_MOD, _BARRIER, _BARRIER_REPLY = 0, 2, 14, 20, 21
_ECHO_REPLY, _ERROR = 3, 1
_ADD, _DELETE_STRICT = 0, 4
_ANY = 0xffffffff
_HEADER = struct.Struct('!BBHI')
_ETH_TYPE, _IPV4_DST = 0x80000a02, 0x80001804
_IPV4 = 0x0800
# The cookie that the observer looks for.
_COOKIE = 0x998
_PRIORITY = 900


def changes(addresses, present: bool) -> bytes:
    """Messages that add or delete one flow for each address."""
    return b''.join(_flow_mod(address, _ADD if present else _DELETE_STRICT)
                    for address in addresses)


def _flow_mod(address, command):
    match = struct.pack('!HHIHI4s6x', 1, 18, _ETH_TYPE, _IPV4, _IPV4_DST,
                        socket.inet_aton(address))
    body = struct.pack('!QQBBHHHIIIHxx', _COOKIE, 0, 0, command, 0, 0,
                       _PRIORITY, _ANY, _ANY, _ANY, 0) + match
    return _message(_FLOW_MOD, body)


def _message(kind, body=b''):
    return _HEADER.pack(_VERSION, kind, _HEADER.size + len(body), 1) + body


class Switch:
    """A connection to the management socket of a bridge.

    :raises OSError: when the switch does not answer
    """

    def __init__(self, bridge: str):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(f'/run/openvswitch/{bridge}.mgmt')
        self._rest = b''
        self._socket.sendall(_message(_HELLO))
        self._until(_HELLO)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self._socket.close()

    def write(self, messages: bytes):
        """Send messages, and return when the switch has obeyed them."""
        self._socket.sendall(messages + _message(_BARRIER))
        self._until(_BARRIER_REPLY)

    def _until(self, wanted):
        """Read messages until one of a kind."""
        while (kind := self._receive()) != wanted:
            if kind == _ECHO:
                self._socket.sendall(_message(_ECHO_REPLY))
            elif kind == _ERROR:
                raise OSError('the switch refuses a flow')

    def _receive(self):
        while len(self._rest) < _HEADER.size or len(
                self._rest) < _HEADER.unpack_from(self._rest)[2]:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError('the switch has closed the connection')
            self._rest += data
        _version, kind, length, _xid = _HEADER.unpack_from(self._rest)
        self._rest = self._rest[length:]
        return kind
