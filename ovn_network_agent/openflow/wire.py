# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The OpenFlow 1.3 messages that the agent sends and receives.

os-ken has them, too, but its import takes 140 to 160 ms and 30 MB in a daemon,
and requires eventlet, ncclient, paramiko and lxml.  Comments name the sections
of the OpenFlow Switch Specification 1.3.5.  Tests compare with os-ken and
ovs-ofctl.

The flow monitor, which reports changes of flows by others, is extension 187 of
the ONF for OpenFlow 1.3, since Open vSwitch 2.16; updates are those of
NXST_FLOW_MONITOR (nicira-ext.h).  Changes over the monitor's connection come
abbreviated and are of no interest, so the agent makes its changes over it.
"""

from collections.abc import Callable
import struct
import typing

from ovn_network_agent import ownership
from ovn_network_agent.openflow import spec as specs

_T = typing.TypeVar('_T')
#: table, priority, whether without timeouts and flags, cookie, OXM,
#: instructions
Entry: typing.TypeAlias = tuple[int, int, bool, int, bytes, bytes]

VERSION = 4

# A.1
HELLO = 0
ERROR = 1
ECHO_REQUEST = 2
ECHO_REPLY = 3
EXPERIMENTER = 4
FLOW_MOD = 14
MULTIPART_REQUEST = 18
MULTIPART_REPLY = 19
BARRIER_REQUEST = 20
BARRIER_REPLY = 21

HEADER = struct.Struct('!BBHI')
# A.3.4.1
ADD = 0
DELETE_STRICT = 4
_FLOW_MOD = struct.Struct('!QQBBHHHIIIH2x')
_NO_BUFFER = 0xffffffff
# A.2.1
PORT_IN_PORT = 0xfffffff8
PORT_NORMAL = 0xfffffffa
_PORT_ANY = 0xffffffff
_GROUP_ANY = 0xffffffff
TABLE_ALL = 0xff
ALL_BITS = 0xffffffffffffffff
TOP_BIT = 0x8000000000000000
# A.3.5
_MULTIPART = struct.Struct('!HH4x')
_MULTIPART_FLOW = 1
_MULTIPART_MORE = 1
_FLOW_REQUEST = struct.Struct('!B3xII4xQQ')
_FLOW_ENTRY = struct.Struct('!HBxIIHHHH4xQQQ')
# Offset of the first flow in a reply; in a flow, the size of its length, and
# (first, last + 1) of the bytes that change: the age in seconds and
# nanoseconds, and the packets and bytes.
FIRST_FLOW = _MULTIPART.size
FLOW_LENGTH = 2
FLOW_COUNTERS = (4, 12), (32, 48)
# A.2.3
_MATCH = struct.Struct('!HH')
_MATCH_OXM = 1
NO_MATCH = _MATCH.pack(_MATCH_OXM, 4) + bytes(4)
_ERROR = struct.Struct('!HH')

_ERROR_TYPES = {0: 'HELLO_FAILED', 1: 'BAD_REQUEST', 2: 'BAD_ACTION',
                3: 'BAD_INSTRUCTION', 4: 'BAD_MATCH', 5: 'FLOW_MOD_FAILED'}
_FLOW_MOD_FAILED = ('UNKNOWN', 'TABLE_FULL', 'BAD_TABLE_ID', 'OVERLAP',
                    'EPERM', 'BAD_TIMEOUT', 'BAD_COMMAND', 'BAD_FLAGS')
# a multipart message of an experimenter: OpenFlow 1.3.5, A.3.5.16
_OF_EXPERIMENTER = struct.Struct('!HH4xII')
_ANY_EXPERIMENTER = 0xffff
_ONF = 0x4f4e4600
_FLOW_MONITOR = 1870
# id, flags, length of the match, output port, table
_MONITOR_REQUEST = struct.Struct('!IHHIB3x')
_ANY_PORT = 0xffffffff
# added, deleted, modified; no initial flows, actions, or own in full
_FLAGS = 1 << 1 | 1 << 2 | 1 << 3
# length, event
_UPDATE_HEADER = struct.Struct('!HH')
# length, event, reason, priority, two timeouts, match length, table, cookie
_UPDATE = struct.Struct('!HHHHHHHBxQ')
ADDED, DELETED, MODIFIED = range(3)
_ABBREVIATED = 3
_OUR_PRIORITIES = frozenset(specs.PRIORITIES.values())
_VERBS = {ADDED: 'added', DELETED: 'deleted', MODIFIED: 'modified'}


class Malformed(Exception):
    """A received message is not OpenFlow 1.3, or its lengths do not fit."""


def message(kind: int, xid: int, body: bytes = b'') -> bytes:
    """A message with its header."""
    return HEADER.pack(VERSION, kind, HEADER.size + len(body), xid) + body


def flow_mod(xid: int, command: int, cookie: int, table: int, priority: int,
             match: bytes, instructions: bytes = b'', mask: int = 0) -> bytes:
    """OFPT_FLOW_MOD with ADD or DELETE_STRICT, and a padded ofp_match.

    :param mask: bits of the cookie that a flow to delete must have, so that a
        flow of another program with the same match stays
    """
    return message(FLOW_MOD, xid, _FLOW_MOD.pack(
        cookie, mask, table, command, 0, 0, priority, _NO_BUFFER,
        _PORT_ANY, _GROUP_ANY, 0) + match + instructions)


def flow_request(xid: int, table: int = TABLE_ALL, cookie: int = 0,
                 mask: int = 0, match: bytes = NO_MATCH) -> bytes:
    """OFPMP_FLOW: all flows with that cookie that ``match`` covers."""
    return message(
        MULTIPART_REQUEST, xid, _MULTIPART.pack(_MULTIPART_FLOW, 0)
        + _FLOW_REQUEST.pack(table, _PORT_ANY, _GROUP_ANY, cookie, mask)
        + match)


def match(fields: bytes) -> bytes:
    """ofp_match of encoded OXM fields, padded to 8 bytes."""
    length = _MATCH.size + len(fields)
    return _MATCH.pack(_MATCH_OXM, length) + fields + bytes(-length % 8)


def flow_entries(body: bytes) -> tuple[list[Entry], bool]:
    """Entries of an OFPMP_FLOW reply; whether more follow."""
    entries, more = counted_entries(body)
    return [entry for entry, _packets in entries], more


def one_flow(data: bytes) -> Entry:
    """The entry of one flow of an OFPMP_FLOW reply."""
    return _flow_entry(data, 0)[0][0]


def counted_entries(body: bytes) -> tuple[list[tuple[Entry, int]], bool]:
    """(entry, packets) of an OFPMP_FLOW reply; whether more follow."""
    return _all_entries(body, _flow_entry)


def flow_body(body: bytes) -> tuple[list[bytes], bool]:
    """The body of an OFPMP_FLOW reply as it is; whether more follow."""
    return [body], _more(body)


def flow_length(body: bytes, offset: int) -> int:
    """The length of a flow in the body of an OFPMP_FLOW reply."""
    if offset + _FLOW_ENTRY.size > len(body):
        raise Malformed('short flow entry')
    length: int = _FLOW_ENTRY.unpack_from(body, offset)[0]
    if length < _FLOW_ENTRY.size or offset + length > len(body):
        raise Malformed('flow entry with a wrong length')
    return length


def flow_marks(body: bytes) -> tuple[list[tuple[int, int]], bool]:
    """(priority, cookie) of the flows of a reply; whether more follow."""
    return _all_entries(body, _flow_mark)


def _more(body: bytes) -> bool:
    if len(body) < _MULTIPART.size:
        raise Malformed('short multipart reply')
    kind, flags = _MULTIPART.unpack_from(body)
    if kind != _MULTIPART_FLOW:
        raise Malformed(f'multipart reply of type {kind}')
    return bool(flags & _MULTIPART_MORE)


def _all_entries(body: bytes, decode: Callable[[bytes, int], tuple[_T, int]]
                 ) -> tuple[list[_T], bool]:
    more = _more(body)
    entries = []
    offset = FIRST_FLOW
    while offset < len(body):
        entry, offset = decode(body, offset)
        entries.append(entry)
    return entries, more


def _flow_mark(body: bytes, offset: int) -> tuple[tuple[int, int], int]:
    end = offset + flow_length(body, offset)
    (_length, _table, _sec, _nsec, priority, _idle, _hard, _flags, cookie,
     _packets, _bytes) = _FLOW_ENTRY.unpack_from(body, offset)
    return (priority, cookie), end


def _flow_entry(body: bytes, offset: int) -> tuple[tuple[Entry, int], int]:
    start = offset + _FLOW_ENTRY.size
    if start + _MATCH.size > len(body):
        raise Malformed('short flow entry')
    (length, table, _sec, _nsec, priority, idle, hard, flags, cookie,
     packets, _bytes) = _FLOW_ENTRY.unpack_from(body, offset)
    match_type, match_length = _MATCH.unpack_from(body, start)
    end = offset + length
    instructions = start + match_length + -match_length % 8
    if (match_type != _MATCH_OXM or match_length < _MATCH.size or
            instructions > end or end > len(body)):
        raise Malformed('flow entry with wrong lengths')
    entry = (table, priority, not (idle or hard or flags), cookie,
             body[start + _MATCH.size:start + match_length],
             body[instructions:end])
    return (entry, packets), end


def error_text(body: bytes) -> str:
    """OFPT_ERROR as text for the operator."""
    if len(body) < _ERROR.size:
        raise Malformed('short error message')
    kind, code = _ERROR.unpack_from(body)
    if kind == 5 and code < len(_FLOW_MOD_FAILED):
        return f'OpenFlow error FLOW_MOD_FAILED {_FLOW_MOD_FAILED[code]}'
    name = _ERROR_TYPES.get(kind, f'type {kind}')
    return f'OpenFlow error {name} code {code}'


class Update(typing.NamedTuple):
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


def monitor_request(xid: int) -> bytes:
    """The message that starts the monitor of this id; updates have xid 0."""
    return message(
        MULTIPART_REQUEST, xid,
        _OF_EXPERIMENTER.pack(_ANY_EXPERIMENTER, 0, _ONF, _FLOW_MONITOR) +
        _MONITOR_REQUEST.pack(xid, _FLAGS, len(NO_MATCH), _ANY_PORT,
                              TABLE_ALL) + NO_MATCH)


def updates(kind: int, body: bytes) -> list[Update] | None:
    """The full updates of a body, None for another kind; or Malformed."""
    if kind != MULTIPART_REPLY or len(body) < _OF_EXPERIMENTER.size:
        return None
    kind, _flags, experimenter, what = _OF_EXPERIMENTER.unpack_from(body)
    if (kind, experimenter, what) != (_ANY_EXPERIMENTER, _ONF, _FLOW_MONITOR):
        return None
    found = []
    offset = _OF_EXPERIMENTER.size
    while offset < len(body):
        if offset + _UPDATE_HEADER.size > len(body):
            raise Malformed('short flow update')
        length, event = _UPDATE_HEADER.unpack_from(body, offset)
        if length < 8 or length % 8 or offset + length > len(body):
            raise Malformed('flow update with a wrong length')
        if event in _VERBS:
            found.append(_update(body, offset, length))
        elif event != _ABBREVIATED:
            raise Malformed(f'flow update of type {event}')
        offset += length
    return found


def _update(body: bytes, offset: int, length: int) -> Update:
    if length < _UPDATE.size:
        raise Malformed('short flow update')
    (_length, event, _reason, priority, _idle, _hard, _match, table,
     cookie) = _UPDATE.unpack_from(body, offset)
    return Update(event, table, priority, cookie)
