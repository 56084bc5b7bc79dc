# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The flow monitor of Open vSwitch: changes of flows by others.

It is extension 187 of the ONF for OpenFlow 1.3, since Open vSwitch 2.16;
updates are those of NXST_FLOW_MONITOR (nicira-ext.h).  Changes over the
monitor's connection come abbreviated and are of no interest, so the agent
makes its changes over it.
"""

import dataclasses
import struct

from ovn_network_agent import ownership
from ovn_network_agent.openflow import spec as specs
from ovn_network_agent.openflow import wire

# a multipart message of an experimenter: OpenFlow 1.3.5, A.3.5.16
_MULTIPART = struct.Struct('!HH4xII')
_EXPERIMENTER = 0xffff
_ONF = 0x4f4e4600
_FLOW_MONITOR = 1870
# id, flags, length of the match, output port, table
_REQUEST = struct.Struct('!IHHIB3x')
_ANY_PORT = 0xffffffff
# added, deleted, modified; no initial flows, actions, or own in full
_FLAGS = 1 << 1 | 1 << 2 | 1 << 3
# length, event
_HEADER = struct.Struct('!HH')
# length, event, reason, priority, two timeouts, match length, table, cookie
_UPDATE = struct.Struct('!HHHHHHHBxQ')
ADDED, DELETED, MODIFIED = range(3)
_ABBREVIATED = 3
_OUR_PRIORITIES = frozenset(specs.PRIORITIES.values())
_VERBS = {ADDED: 'added', DELETED: 'deleted', MODIFIED: 'modified'}


@dataclasses.dataclass(frozen=True, slots=True)
class Update:
    """A change of a flow by another program."""

    # ADDED, DELETED or MODIFIED
    event: int
    table: int
    priority: int
    # after the change
    cookie: int

    @property
    def concerns(self) -> bool:
        """Whether the agent's flow may have changed: an added one of its match
        and priority replaces it, a deleted one may have been in its way.
        """
        return self.cookie in ownership.FLOW_COOKIES or (
            self.table == 0 and self.priority in _OUR_PRIORITIES)

    def __str__(self) -> str:
        return (f'a flow with cookie {self.cookie:#x} and priority '
                f'{self.priority} was {_VERBS[self.event]}')


def request(xid: int) -> bytes:
    """The message that starts the monitor of this id; updates have xid 0."""
    return wire.message(
        wire.MULTIPART_REQUEST, xid,
        _MULTIPART.pack(_EXPERIMENTER, 0, _ONF, _FLOW_MONITOR) +
        _REQUEST.pack(xid, _FLAGS, len(wire.NO_MATCH), _ANY_PORT,
                      wire.TABLE_ALL) + wire.NO_MATCH)


def updates(kind: int, body: bytes) -> list[Update] | None:
    """The full updates of a body, None for another kind; or Malformed."""
    if kind != wire.MULTIPART_REPLY or len(body) < _MULTIPART.size:
        return None
    if _MULTIPART.unpack_from(body)[::2] != (_EXPERIMENTER, _ONF) or (
            _MULTIPART.unpack_from(body)[3] != _FLOW_MONITOR):
        return None
    found = []
    offset = _MULTIPART.size
    while offset < len(body):
        if offset + _HEADER.size > len(body):
            raise wire.Malformed('short flow update')
        length, event = _HEADER.unpack_from(body, offset)
        if length < 8 or length % 8 or offset + length > len(body):
            raise wire.Malformed('flow update with a wrong length')
        if event in _VERBS:
            found.append(_update(body, offset, length))
        elif event != _ABBREVIATED:
            raise wire.Malformed(f'flow update of type {event}')
        offset += length
    return found


def _update(body: bytes, offset: int, length: int) -> Update:
    if length < _UPDATE.size:
        raise wire.Malformed('short flow update')
    (_length, event, _reason, priority, _idle, _hard, _match, table,
     cookie) = _UPDATE.unpack_from(body, offset)
    return Update(event, table, priority, cookie)
