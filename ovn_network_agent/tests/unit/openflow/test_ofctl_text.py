# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The notation of ovs-ofctl, there and back."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from ovn_network_agent.openflow import ofctl_text
from ovn_network_agent.openflow import spec as specs
from ovn_network_agent.tests.unit.openflow import strategies


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
