# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""The messages of the flow monitor."""

import struct
import unittest

from ovn_network_agent import ownership
from ovn_network_agent.openflow import monitor
from ovn_network_agent.openflow import wire

HEAD = struct.pack('!HH4xII', 0xffff, 0, 0x4f4e4600, 1870)


def update(event, cookie, priority=ownership.PRIORITY_HAIRPIN, table=0,
           match=b''):
    body = wire.match(match)
    return struct.pack('!HHHHHHHBxQ', 24 + len(body), event, 2, priority, 0,
                       0, 4 + len(match), table, cookie) + body


def found(*items):
    return monitor.updates(wire.MULTIPART_REPLY, HEAD + b''.join(items))


class UpdatesTest(unittest.TestCase):

    def test_as_open_vswitch_sends_them(self):
        """A deletion as version 3.1 has sent it."""
        body = bytes.fromhex(
            'ffff0000000000004f4e46000000074e003800010002038e00000000001a0000'
            '00000000000009980001001a800000040000000380000a02080080001804c633'
            '640a000000000000')
        seen, = monitor.updates(wire.MULTIPART_REPLY, body)
        self.assertEqual(
            monitor.Update(monitor.DELETED, 0, 910, ownership.COOKIE_HAIRPIN),
            seen)
        self.assertEqual('a flow with cookie 0x998 and priority 910 was '
                         'deleted', str(seen))

    def test_own_changes_are_left_out(self):
        own = struct.pack('!HHI', 8, 3, 4711)
        self.assertEqual([], found(own))
        self.assertEqual(1, len(found(own, update(1, 0x998), own)))

    def test_which_flows_concern_the_agent(self):
        for seen, concerns in (
                (update(monitor.DELETED, ownership.COOKIE_RELAY, 5), True),
                (update(monitor.MODIFIED, ownership.COOKIE_MAC_TWEAK), True),
                # It may have taken the place of one.
                (update(monitor.ADDED, 0, 900), True),
                (update(monitor.MODIFIED, 7, 910), True),
                # It may have been in the way of one.
                (update(monitor.DELETED, 7, 910), True),
                (update(monitor.ADDED, 7, 910, table=1), False),
                (update(monitor.ADDED, 7, 911), False),
                (update(monitor.DELETED, 7, 911), False)):
            with self.subTest(seen):
                self.assertEqual(concerns, found(seen)[0].concerns)

    def test_other_messages(self):
        self.assertIsNone(monitor.updates(wire.ERROR, HEAD))
        self.assertIsNone(monitor.updates(wire.MULTIPART_REPLY, b''))
        self.assertIsNone(monitor.updates(
            wire.MULTIPART_REPLY, struct.pack('!HH4xII', 1, 0, 0, 0)))
        self.assertIsNone(monitor.updates(
            wire.MULTIPART_REPLY,
            struct.pack('!HH4xII', 0xffff, 0, 0x2320, 1870)))

    def test_malformed(self):
        whole = update(1, 0x998)
        for text in (whole[:3], whole[:-1], b'\0\0' + whole[2:],
                     struct.pack('!HHI', 8, 1, 0),
                     struct.pack('!HHI', 8, 9, 0)):
            with self.subTest(text), self.assertRaises(wire.Malformed):
                found(text)
