# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The flow monitor of Open vSwitch: changes of flows by others.

OpenFlow 1.3 has a flow monitor as extension 187 of the ONF, which Open vSwitch
answers since version 2.16.  The format of the updates is that of the Nicira
extension NXST_FLOW_MONITOR (nicira-ext.h of Open vSwitch).

Open vSwitch abbreviates an update about a change that came over the connection
of the monitor.  So the monitor needs the connection that makes the agent's
changes, and an abbreviated update is of no interest.
"""

import dataclasses
import struct

from ovn_network_agent import ownership
from ovn_network_agent.openflow import spec as specs
from ovn_network_agent.openflow import wire

# A multipart message of an experimenter: OpenFlow 1.3.5, A.3.5.16.
_MULTIPART = struct.Struct('!HH4xII')
_EXPERIMENTER = 0xffff
_ONF = 0x4f4e4600
_FLOW_MONITOR = 1870
# id, flags, length of the match, output port, table
_REQUEST = struct.Struct('!IHHIB3x')
_ANY_PORT = 0xffffffff
# Added, deleted and modified flows; neither the flows that are there at the
# start, nor actions, nor the agent's own changes in full.
_FLAGS = 1 << 1 | 1 << 2 | 1 << 3
# length, event
_HEADER = struct.Struct('!HH')
# length, event, reason, priority, idle and hard timeout, length of the match,
# table, cookie
_UPDATE = struct.Struct('!HHHHHHHBxQ')
ADDED, DELETED, MODIFIED = range(3)
_ABBREVIATED = 3
_OUR_PRIORITIES = frozenset(specs.PRIORITIES.values())
_VERBS = {ADDED: 'added', DELETED: 'deleted', MODIFIED: 'modified'}


@dataclasses.dataclass(frozen=True, slots=True)
class Update:
    """A change of a flow by another program."""

    # ADDED, DELETED or MODIFIED.
    event: int
    table: int
    priority: int
    # After the change.
    cookie: int

    @property
    def concerns(self) -> bool:
        """Whether a flow of the agent may have changed.

        OpenFlow has one flow for a match and priority.  So an added flow of
        another program may have replaced a flow of the agent, and a deleted
        flow may have been in the way of one.
        """
        return self.cookie in ownership.FLOW_COOKIES or (
            self.table == 0 and self.priority in _OUR_PRIORITIES)

    def __str__(self) -> str:
        return (f'a flow with cookie {self.cookie:#x} and priority '
                f'{self.priority} was {_VERBS[self.event]}')


def request(xid: int) -> bytes:
    """The message that starts the monitor; its updates have the same xid 0.

    :param xid: also the id of the monitor
    """
    return wire.message(
        wire.MULTIPART_REQUEST, xid,
        _MULTIPART.pack(_EXPERIMENTER, 0, _ONF, _FLOW_MONITOR) +
        _REQUEST.pack(xid, _FLAGS, len(wire.NO_MATCH), _ANY_PORT,
                      wire.TABLE_ALL) + wire.NO_MATCH)


def updates(kind: int, body: bytes) -> list[Update] | None:
    """The updates of a message in full, without abbreviated updates.

    :param body: behind the header
    :returns: None for a message of another kind
    :raises wire.Malformed: when lengths do not fit
    """
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
