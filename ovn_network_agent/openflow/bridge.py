# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Reading and changing the flows of one bridge over OpenFlow.

Open vSwitch sends each flow with age and counters (OpenFlow 1.3.5, A.3.5.2),
which no request leaves out, so they are set to zero.  Flows are divided into
portions by content, with a digest each, so that a changed flow changes one or
two, in any order.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Hashable
import errno
import hashlib
from typing import TypeVar
import zlib

from ovn_network_agent import ownership
from ovn_network_agent.common import equal_records
from ovn_network_agent.openflow import codec
from ovn_network_agent.openflow import connection as connections
from ovn_network_agent.openflow import spec as specs
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


# Without a flow monitor, each addition asks for the flow in its way, for which
# Open vSwitch goes through the table, 3 ms for 10,000 flows.  Beyond this
# number, one dump is cheaper.
_SINGLE_LOOKUPS = 8
# For a deletion with a full cookie mask, Open vSwitch goes through all flows
# with the cookie: with 10,000 flows 0.2 ms each, 2 s for all, and it does
# nothing else meanwhile.
_SINGLE_DELETES = 50
# A mask with which Open vSwitch finds one flow by its match.
_FAST = wire.ALL_BITS & ~wire.TOP_BIT
_Flow = specs.FlowSpec | specs.StraySpec
_T = TypeVar('_T')
_OUR_PRIORITIES = frozenset(specs.PRIORITIES.values())


def dump(connection: connections.Switch) -> list[_Flow]:
    """All flows with a cookie of the agent; OSError unless read in full."""
    return [codec.decode(entry) for body in _ours(connection)
            for entry in wire.flow_entries(body)[0]]


def dump_again(connection: connections.Switch, previous: str,
               known: Collection[bytes] = frozenset()
               ) -> tuple[list[tuple[bytes, list[_Flow] | None]] | None, str]:
    """As :func:`dump`, unless the flows are known.

    :param previous: digest of an earlier answer, '' for none
    :param known: digests of portions, see :func:`bridge.portions`
    :returns: (digest of each portion and its flows, None if known), None for
        the flows of the earlier answer; digest of this answer
    :raises OSError: when the flows cannot be read in full
    """
    bodies = plain(_ours(connection))
    now = of_flows(bodies)
    if now == previous:
        return None, now
    return [(mark, None if mark in known else [
        codec.decode(wire.one_flow(flow)) for flow in flows])
        for mark, flows in portions(bodies).items()], now


def _ours(connection: connections.Switch) -> list[bytes]:
    requests = {}
    for cookie in ownership.FLOW_COOKIES:
        xid = connection.next_xid()
        requests[xid] = wire.flow_request(xid, cookie=cookie,
                                          mask=wire.ALL_BITS)
    return _entries(connection, requests, wire.flow_body)


def look_up(connection: connections.Switch, wanted: list[specs.FlowSpec]
            ) -> list[list[tuple[int, int, _Flow, int]]]:
    """(cookie, priority, flow, packets) in table 0 with each wanted match.

    :raises OSError: when the flows cannot be read in full
    """
    found = []
    for flow in wanted:
        match = codec.encode_match(flow)
        xid = connection.next_xid()
        entries = _counted(connection, {xid: wire.flow_request(
            xid, table=0, match=match)})
        found.append([(entry[3], entry[1], codec.decode(entry), packets)
                      for entry, packets in entries
                      if wire.match(entry[4]) == match])
    return found


def drops(connection: connections.Switch
          ) -> list[tuple[int, int, specs.Selection]]:
    """(cookie, priority, match) of others' flows that drop, in the first
    table, which is read as a whole: OpenFlow cannot ask for flows without
    actions.

    :raises OSError: when the flows cannot be read in full
    """
    xid = connection.next_xid()
    entries = _read(connection, {xid: wire.flow_request(xid, table=0)})
    return [(cookie, priority, codec.decode_selection(match))
            for _table, priority, _plain, cookie, match, instructions
            in entries
            if cookie not in ownership.FLOW_COOKIES and
            codec.is_drop(instructions)]


def learn_shared(connection: connections.Switch) -> None:
    """Find the agent's priorities at which other programs have flows.

    The flow monitor reports later ones
    (:mod:`privileged.switch.flow_monitor`), so a change needs no question, for
    which Open vSwitch searches the table.

    :raises OSError: when the flows cannot be read in full
    """
    # updates may arrive together with the answer
    connection.shared = shared = set[int]()
    xid = connection.next_xid()
    try:
        shared.update(
            priority for priority, cookie in _marks(connection, xid)
            if others_may_have(priority, cookie))
    except BaseException:
        connection.shared = None
        raise


def others_may_have(priority: int, cookie: int) -> bool:
    """Whether a flow is another program's at a priority of the agent."""
    return (priority in _OUR_PRIORITIES and
            cookie not in ownership.FLOW_COOKIES)


def change(connection: connections.Switch, steps: list[specs.Step]
           ) -> dict[Hashable, str]:
    """Add and delete flows, in this order, in one exchange.

    :returns: by the ``ref`` of each failed step the reason
    :raises OSError: when the connection broke; each step may have been done
    """
    if connection.shared is not None:
        connection.pump()
    failed = _foreign(connection, [
        step for step in steps if not _alone(connection, step)])
    mask = _delete_mask(connection, [
        step for step in steps if not _alone(connection, step)])
    messages = {}
    for step in steps:
        if step.ref in failed:
            continue
        xid = connection.next_xid()
        try:
            messages[xid] = _flow_mod(
                xid, step, _FAST if _alone(connection, step)
                else mask), step.ref
        except ValueError as error:
            failed[step.ref] = str(error)
    if messages:
        answers = connection.request([data for data, _ref in
                                      messages.values()])
        for xid, (_data, ref) in messages.items():
            for kind, body in answers.get(xid, ()):
                if kind == wire.ERROR:
                    failed[ref] = wire.error_text(body)
    return failed


def _alone(connection: connections.Switch, step: specs.Step) -> bool:
    """Whether no other program has a flow in a step's place; not for strays.
    """
    return (connection.shared is not None and
            step.verb != specs.DELETE_STRAY and
            step.spec.priority not in connection.shared)


def _delete_mask(connection: connections.Switch, steps: list[specs.Step]
                 ) -> int:
    """Mask of the cookie of flows to delete.  One without a bit is faster, but
    no flow may differ from the agent's cookies in this bit alone.
    """
    deletes = sum(step.verb != specs.ADD for step in steps)
    if deletes <= _SINGLE_DELETES:
        return wire.ALL_BITS
    requests = {}
    for cookie in ownership.FLOW_COOKIES:
        xid = connection.next_xid()
        requests[xid] = wire.flow_request(
            xid, cookie=cookie | wire.TOP_BIT, mask=wire.ALL_BITS)
    if _read(connection, requests):
        return wire.ALL_BITS
    return _FAST


def _flow_mod(xid: int, step: specs.Step, mask: int) -> bytes:
    spec = step.spec
    if isinstance(spec, specs.StraySpec):
        return wire.flow_mod(xid, wire.DELETE_STRICT, spec.cookie,
                             spec.table, spec.priority,
                             codec.encode_stray(spec.match), mask=mask)
    match = codec.encode_match(spec)
    if step.verb == specs.DELETE:
        return wire.flow_mod(xid, wire.DELETE_STRICT, spec.cookie, 0,
                             spec.priority, match, mask=mask)
    return wire.flow_mod(xid, wire.ADD, spec.cookie, 0, spec.priority,
                         match, codec.encode_actions(spec))


def _foreign(connection: connections.Switch, steps: list[specs.Step]
             ) -> dict[Hashable, str]:
    """The additions in place of another program's flow, which they would
    replace: OpenFlow has one for a match and priority.  Nothing helps against
    one in between.
    """
    adds = {step.ref: (step.spec.priority, codec.encode_match(step.spec))
            for step in steps if isinstance(step.spec, specs.FlowSpec) and
            step.verb == specs.ADD}
    if not adds:
        return {}
    requests = {}
    # one question without a match asks for all flows
    for match in ([wire.NO_MATCH] if len(adds) > _SINGLE_LOOKUPS else
                  [match for _priority, match in adds.values()]):
        xid = connection.next_xid()
        requests[xid] = wire.flow_request(xid, table=0, match=match)
    foreign = {}
    for _table, priority, _plain, cookie, fields, _instructions in _read(
            connection, requests):
        if (cookie not in ownership.REPLACEABLE_COOKIES and
                priority in specs.PRIORITIES.values()):
            foreign[priority, wire.match(fields)] = cookie
    return {ref: specs.foreign_text(identity[0], foreign[identity])
            for ref, identity in adds.items() if identity in foreign}


def _read(connection: connections.Switch, requests: dict[int, bytes]
          ) -> list[wire.Entry]:
    return [entry for entry, _packets in _counted(connection, requests)]


def _counted(connection: connections.Switch, requests: dict[int, bytes]
             ) -> list[tuple[wire.Entry, int]]:
    return _entries(connection, requests, wire.counted_entries)


def _marks(connection: connections.Switch, xid: int) -> list[tuple[int, int]]:
    """(priority, cookie) of each flow of the first table."""
    return _entries(connection, {xid: wire.flow_request(xid, table=0)},
                    wire.flow_marks)


def _entries(connection: connections.Switch, requests: dict[int, bytes],
             decode: Callable[[bytes], tuple[list[_T], bool]]) -> list[_T]:
    """Findings of ``decode``, which also says whether more replies follow."""
    answers = connection.request(list(requests.values()))
    entries = []
    for xid in requests:
        more = True
        for kind, body in answers.get(xid, ()):
            if kind == wire.ERROR:
                raise OSError(errno.EPROTO, wire.error_text(body))
            if kind == wire.MULTIPART_REPLY:
                found, more = decode(body)
                entries.extend(found)
        if more:
            raise OSError(errno.EPROTO, 'ovs-vswitchd did not list all its '
                                        'flows')
    return entries
