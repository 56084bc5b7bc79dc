# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Messages of OpenFlow, and what the tools of Open vSwitch print."""

import contextlib
import os

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.openflow import bridge
from ovn_network_agent.openflow import codec
from ovn_network_agent.openflow import connection
from ovn_network_agent.openflow import ofctl_text
from ovn_network_agent.openflow import spec
from ovn_network_agent.openflow import trace_text
from ovn_network_agent.openflow import wire
from ovn_network_agent.tests.fuzz import peers
from ovn_network_agent.tests.fuzz.target import Target

_FLOW = spec.FlowSpec(
    ownership.COOKIE_HAIRPIN, ownership.PRIORITY_HAIRPIN, 3, 4,
    '198.51.100.0/24', '0a:00:00:00:00:01', None, spec.IN_PORT)


def _flows(data):
    entries, _more = wire.counted_entries(data)
    for entry, _packets in entries:
        found = codec.decode(entry)
        codec.decode_selection(entry[4])
        codec.is_drop(entry[5])
        _check_known(found, entry)
    wire.flow_entries(data)
    marks, _more = wire.flow_marks(data)
    assert marks == [(entry[1], entry[3]) for entry, _packets in entries]


def _check_known(found, entry):
    """What was read as a flow of ours is written as it was read."""
    if isinstance(found, spec.FlowSpec):
        spec.check_flow(found, deleting=True)
        written = codec.encode_match(found)
        length = int.from_bytes(written[2:4])
        fields = codec.decode((0, found.priority, True, found.cookie,
                               written[4:length], entry[5]))
        assert fields[:5] == found[:5], (fields, found)
    else:
        codec.encode_stray(found.match)


def _monitor(data):
    for kind in (wire.MULTIPART_REPLY, wire.ERROR):
        for update in wire.updates(kind, data) or ():
            str(update)
            _ = update.concerns


def _stream(data):
    for ask in (lambda switch: switch.pump(), bridge.dump, bridge.drops,
                lambda switch: bridge.dump_again(switch, ''),
                lambda switch: bridge.look_up(switch, [_FLOW]),
                bridge.learn_shared,
                lambda switch: bridge.change(switch, [
                    spec.Step(('adds', 0), spec.ADD, _FLOW)])):
        with (contextlib.suppress(OSError, wire.Malformed),
              peers.speaking(data) as path,
              contextlib.closing(connection.Switch(path)) as switch):
            ask(switch)


_WANTED = resources.Flow(
    'br-ex', _FLOW.cookie, _FLOW.priority, _FLOW.in_port, _FLOW.family,
    _FLOW.dst, _FLOW.set_src, _FLOW.set_dst, _FLOW.output)


class _Conf:
    """The options that the reader needs."""

    class ovs:
        ovs_rundir = ''


def _reader(data):
    """What doctor and explain read of a bridge."""
    for ask in (lambda: switch.read_flows(_Conf, [_WANTED]),
                lambda: switch.read_drops(_Conf, 'br-ex')):
        with (contextlib.suppress(readers.Unread),
              peers.speaking(data, 'br-ex.mgmt') as path):
            _Conf.ovs.ovs_rundir = os.path.dirname(path)
            ask()


def _ofctl(data):
    for cookie, found in ofctl_text.parse(data.decode('utf-8', 'replace')):
        if isinstance(found, spec.FlowSpec):
            assert cookie == found.cookie
            spec.check_flow(found, deleting=True)
            ofctl_text.match(found)


def _trace(data):
    text = data.decode('utf-8', 'replace')
    packets.logical_verdict('ICMP', text)
    listed = trace_text.ports(text)
    found = packets.parsed(text)
    for step in found.steps:
        step.text()
    for inward in (True, False):
        traced = packets.PacketTrace(packets.Packet('x', '', inward), 'br-ex',
                                     3, found, listed)
        packets.describe(traced)


TARGETS = (
    Target('openflow.flows', _flows, (wire.Malformed,),
           ('openflow.wire', 'openflow.codec', 'openflow.spec')),
    Target('openflow.monitor', _monitor, (wire.Malformed,),
           ('openflow.wire',)),
    Target('openflow.error', wire.error_text, (wire.Malformed,),
           ('openflow.wire',)),
    Target('openflow.stream', _stream, (),
           ('openflow.connection', 'openflow.bridge'), share=0.2),
    Target('openflow.reader', _reader, (), ('openflow.connection',),
           share=0.2),
    Target('openflow.ofctl', _ofctl, (ofctl_text.Unreadable,),
           ('openflow.ofctl_text',),
           words=(b'cookie=0x', b' actions=', b', ', b'priority=', b'ip',
                  b'in_port=', b'nw_dst=', b'output:', b'set_field:',
                  b'->eth_src', b'NORMAL', b'table=0')),
    Target('openflow.trace', _trace, (readers.Unread,),
           ('openflow.trace_text', 'diagnosis.readers.packets'),
           words=(b'bridge("', b'")', b' 0. ', b'priority ', b', cookie 0x',
                  b'Datapath actions: ', b'=====\n', b'recirc', b'drop',
                  b'/* output to "', b'", type "" */', b'(patch: peer=')),
)
