# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""OpenFlow messages and the notation of ovs-ofctl, there and back."""

import struct
import unittest

from hypothesis import given
from hypothesis import strategies as st
from os_ken.ofproto import ofproto_protocol
from os_ken.ofproto import ofproto_v1_3_parser

from ovn_network_agent.openflow import codec
from ovn_network_agent.openflow import ofctl_text
from ovn_network_agent.openflow import spec as specs
from ovn_network_agent.openflow import wire
from ovn_network_agent.tests.unit.openflow import strategies


def entry(spec, table=0, timeout=0, flags=0):
    """A flow as an entry of a multipart reply."""
    body = (codec.encode_match(spec) + codec.encode_actions(spec))
    return struct.pack(
        '!HBxIIHHHH4xQQQ', 48 + len(body), table, 5, 6, spec.priority,
        timeout, 0, flags, spec.cookie, 7, 8) + body


def reply(*entries):
    return struct.pack('!HH4x', 1, 0) + b''.join(entries)


def decode(body):
    entries, more = wire.flow_entries(body)
    assert not more
    return [codec.decode(e) for e in entries]


class TestCodec(unittest.TestCase):

    @given(st.lists(strategies.flows(), max_size=4))
    def test_there_and_back(self, flows):
        self.assertEqual(flows, decode(reply(*map(entry, flows))))

    @given(strategies.flows())
    def test_one_flow_alone(self, flow):
        self.assertEqual(flow, codec.decode(wire.one_flow(entry(flow))))

    @given(strategies.flows())
    def test_what_a_match_selects(self, flow):
        (_table, _priority, _plain, _cookie, match, instructions), = (
            wire.flow_entries(reply(entry(flow)))[0])
        found = codec.decode_selection(match)
        self.assertEqual(flow.in_port, found.in_port)
        self.assertEqual({4: 0x0800, 6: 0x86dd}[flow.family], found.ether_type)
        self.assertEqual(flow.dst if flow.family == 4 else None, found.dst)
        # The address of IPv6 is no part that is known.
        self.assertEqual(flow.family == 6 and flow.dst is not None,
                         found.narrow)
        self.assertFalse(codec.is_drop(instructions))

    @given(strategies.flows())
    def test_other_table_is_a_stray(self, flow):
        stray, = decode(reply(entry(flow, table=3)))
        self.assertIsInstance(stray, specs.StraySpec)
        self.assertEqual(3, stray.table)
        self.assertEqual(codec.encode_match(flow),
                         codec.encode_stray(stray.match))

    @given(strategies.flows())
    def test_timeout_or_flags_are_not_ours(self, flow):
        for options in ({'timeout': 5}, {'flags': 1}):
            found, = decode(reply(entry(flow, **options)))
            self.assertEqual(flow[:5], found[:5])
            self.assertEqual(specs.OTHER, found.output)

    @given(strategies.flows(), st.data())
    def test_damaged_entries_raise_or_decode(self, flow, data):
        body = bytearray(reply(entry(flow)))
        for _n in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(body) - 1))
            body[at] = data.draw(st.integers(0, 255))
        cut = data.draw(st.integers(0, len(body)))
        try:
            entries, _more = wire.flow_entries(bytes(body[:cut]))
            for found in entries:
                codec.decode(found)
        except wire.Malformed:
            pass

    @given(strategies.flows())
    def test_a_library_reads_the_same(self, flow):
        data = wire.flow_mod(77, wire.ADD, flow.cookie, 0, flow.priority,
                             codec.encode_match(flow),
                             codec.encode_actions(flow))
        version, kind, length, xid = wire.HEADER.unpack_from(data)
        self.assertEqual(len(data), length)
        # Its parser of flow entries, as it does not parse a flow_mod.
        stats = ofproto_v1_3_parser.OFPFlowStats.parser(entry(flow), 0)
        self.assertEqual(flow.cookie, stats.cookie)
        fields = dict(stats.match.items())
        self.assertEqual(flow.in_port, fields.pop('in_port'))
        self.assertEqual({4: 0x0800, 6: 0x86dd}[flow.family],
                         fields.pop('eth_type'))
        self.assertEqual(flow.dst is not None, bool(fields))
        actions = stats.instructions[0].actions
        protocol = ofproto_protocol.ProtocolDesc(version=4)
        named = {specs.NORMAL: protocol.ofproto.OFPP_NORMAL,
                 specs.IN_PORT: protocol.ofproto.OFPP_IN_PORT}
        ports = ([named[flow.output]] if flow.output in named else
                 specs.ports_of(flow.output))
        self.assertEqual(ports, [a.port for a in actions[-len(ports):]])
        macs = {a.key: a.value for a in actions[:-len(ports)]}
        self.assertEqual(flow.set_src, macs.get('eth_src'))
        self.assertEqual(flow.set_dst, macs.get('eth_dst'))

    def test_a_stray_of_the_other_transport_is_refused(self):
        with self.assertRaises(ValueError):
            codec.encode_stray('text:ip')
        with self.assertRaises(ValueError):
            codec.encode_stray('oxm:xy')


def shown(flow, extra='', table=0):
    """A flow as dump-flows shows it."""
    line = ofctl_text.line(specs.Step((), specs.ADD, flow))
    match, actions = line.split(f'priority={flow.priority},')[1].split(
        ',actions=')
    return (f' cookie={flow.cookie:#x}, duration=5.1s, table={table}, '
            f'n_packets=1, n_bytes=2, {extra}'
            f'priority={flow.priority},{match} actions={actions}')


class TestText(unittest.TestCase):

    @given(st.lists(strategies.flows(), max_size=3))
    def test_there_and_back(self, flows):
        text = 'OFPST_FLOW reply (OF1.3) (xid=0x2):\n' + '\n'.join(
            map(shown, flows)) + '\n'
        self.assertEqual(flows, [spec for _c, spec in ofctl_text.parse(text)])

    @given(strategies.flows())
    def test_what_we_never_set(self, flow):
        for extra in ('idle_timeout=5, ', 'send_flow_rem '):
            (_cookie, found), = ofctl_text.parse(shown(flow, extra))
            self.assertEqual(flow[:5], found[:5])
            self.assertEqual(specs.OTHER, found.output)
        (_cookie, found), = ofctl_text.parse(shown(flow, table=4))
        self.assertIsInstance(found, specs.StraySpec)

    @given(st.text())
    def test_anything_else_is_unreadable(self, text):
        try:
            found = ofctl_text.parse(text)
        except ofctl_text.Unreadable:
            return
        self.assertEqual([], found)

    def test_stray_matches_cannot_say_anything_else(self):
        for bad in ('ip,cookie=0x5', 'priority=7', 'ip,actions=drop',
                    'ip actions=drop', 'ip\nadd ip', 'table=3,ip',
                    'idle_timeout=5', 'out_port=3'):
            with self.subTest(bad), self.assertRaises(ValueError):
                ofctl_text.stray_match('text:' + bad)
        with self.assertRaises(ValueError):
            ofctl_text.stray_match('oxm:00')
        good = 'ct_state=+trk-new,tcp6,ipv6_src=::/ff::,reg3=0x5/0xff'
        self.assertEqual(good, ofctl_text.stray_match('text:' + good))
