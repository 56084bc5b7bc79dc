# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is in the kernel and not ours, read without the agent's own readers."""

import socket
import struct
import sys

from ovn_network_agent import ownership

_HEADER = struct.Struct('=IHHII')
_ATTRIBUTE = struct.Struct('=HH')
_DUMP = 0x301
_DONE = 3
# Number of the question, bytes of the family header, place of the protocol
# (offset in the header, or number of the attribute), attributes that change
# by themselves.
_ROUTE, _RULE, _ADDRESS, _NEIGHBOUR, _PROXY = (
    (26, 12, None, (12,)), (34, 12, 21, ()), (22, 8, 11, (6,)),
    (30, 12, 12, (3, 4)), (30, 12, 12, ()))
# struct ndmsg with NTF_PROXY; a family of 0 does for all others.
_QUESTIONS = {_PROXY: bytes(10) + b'\x08\0'}
_PROTOCOL_OF_ROUTE = 5
_OURS = {_ROUTE: ownership.ROUTE_PROTOCOL, _RULE: ownership.RULE_PROTOCOL,
         _ADDRESS: ownership.ADDRESS_PROTOCOL,
         _NEIGHBOUR: ownership.NEIGHBOUR_PROTOCOL,
         _PROXY: ownership.NEIGHBOUR_PROTOCOL}
_PERMANENT = 0x80
# RTM_GETLINK, bytes of its header, IFF_UP; address, name, MTU, master and
# alias of a device.
_LINK, _LINK_HEADER, _UP = 18, 16, 1
_ALIAS = 20
_OF_DEVICE = (1, 3, 4, 10, _ALIAS)
_OUR_ALIAS = ownership.LINK_ALIAS.encode()
# The protocol of what has none, and is never the kernel's.
_FOREIGN = -1
_SETTINGS = ('ip_forward', 'tcp_l3mdev_accept', *(
    f'conf/{device}/{name}' for device in ('all', 'default', 'lo', '{0}')
    for name in ('forwarding', 'proxy_arp', 'accept_local', 'rp_filter',
                 'promote_secondaries', 'route_localnet')))
# Protocols of what the kernel makes by itself: RTPROT_KERNEL; and no protocol,
# IFAPROT_KERNEL_LO, _RA and _LL.
_OF_THE_KERNEL = {_ROUTE: (2,), _ADDRESS: (0, 1, 2, 3)}
# Attributes with the number of a device: RTA_OIF; addresses and neighbours
# have it in their header.
_OUTPUT = 4


class Objects:
    """The objects of others at one moment, in this network namespace."""

    def __init__(self):
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                                     socket.NETLINK_ROUTE)
        self._socket.settimeout(5)
        self._socket.bind((0, 0))
        # The pair is the agent's as a whole, and may go and come back.
        self._pair = {socket.if_nametoindex(name).to_bytes(4, sys.byteorder)
                      for name in ownership.VETH_ENDS}
        self._before = self._read()

    def check(self):
        """Assert that none is missing, and that none has come.

        An address of a device of ours brings routes of the kernel, and a
        device that is up brings addresses of the kernel.
        """
        now = self._read()
        gone = self._before - now
        come = {one for one in now - self._before
                if one[-1] not in _OF_THE_KERNEL.get(one[0], ())}
        assert not gone and not come, (gone, come)

    def _read(self):
        found = set()
        for what in _OURS:
            for body in self._dump(what[0], _QUESTIONS.get(what, bytes(4))):
                made = self._object(what, body)
                if made is not None:
                    found.add(made)
        found.update(filter(None, map(self._device, self._dump(_LINK))))
        return found | _settings()

    def _device(self, body):
        """(kind, fields of a device, no protocol), None for one of ours."""
        attributes = dict(_attributes(body[_LINK_HEADER:]))
        if body[4:8] in self._pair or (
                attributes.get(_ALIAS, b'').rstrip(b'\0') == _OUR_ALIAS):
            return None
        return ('device', body[4:8], body[8] & _UP, *(
            attributes.get(number) for number in _OF_DEVICE), _FOREIGN)

    def _object(self, what, body):
        """(kind, header, attributes, protocol), None for one of ours."""
        _number, size, place, passing = what
        attributes = dict(_attributes(body[size:]))
        if place is None:
            protocol = body[_PROTOCOL_OF_ROUTE]
        else:
            protocol = (attributes.get(place) or b'\0')[0]
        device = attributes.get(_OUTPUT) if what == _ROUTE else (
            body[4:8] if what != _RULE else None)
        if device in self._pair:
            return None
        if protocol == _OURS[what] or what == _NEIGHBOUR and not (
                body[8] & _PERMANENT):
            return None
        # Flags such as "link down" pass.
        header = body[:8] if what in (_ROUTE, _ADDRESS) else body[:size]
        if what == _ADDRESS:
            header = body[:2] + body[4:8]
            attributes.pop(8, None)
        return (what, header, tuple(sorted(
            (key, value) for key, value in attributes.items()
            if key not in passing)), protocol)

    def _dump(self, number, question=bytes(4)):
        self._socket.send(_HEADER.pack(
            _HEADER.size + len(question), number, _DUMP, 1, 0) + question)
        while True:
            data = self._socket.recv(1 << 16)
            while data:
                length, kind = struct.unpack_from('=IH', data)
                if kind == _DONE:
                    return
                yield data[_HEADER.size:length]
                data = data[length + 3 & ~3:]


def _settings():
    """The sysctls that are not the agent's, as objects."""
    found = set()
    for name in _SETTINGS:
        # A device of the operator.
        path = '/proc/sys/net/ipv4/' + name.format('management')
        try:
            with open(path, encoding='ascii') as opened:
                found.add(('sysctl', path, opened.read(), _FOREIGN))
        except FileNotFoundError:
            # The kernel has no VRFs, or the device is gone.
            found.add(('sysctl', path, '', _FOREIGN))
    return found


def _attributes(data):
    while len(data) >= 4:
        length, kind = _ATTRIBUTE.unpack_from(data)
        yield kind & 0x3fff, data[4:length]
        data = data[length + 3 & ~3:]
