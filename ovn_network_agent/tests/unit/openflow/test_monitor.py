# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""The messages of the flow monitor, and the digest of flows."""

import random
import struct
import unittest

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.openflow import bridge
from ovn_network_agent.openflow import wire

HEAD = struct.pack('!HH4xII', 0xffff, 0, 0x4f4e4600, 1870)


def update(event, cookie, priority=ownership.PRIORITY_HAIRPIN, table=0,
           match=b''):
    body = wire.match(match)
    return struct.pack('!HHHHHHHBxQ', 24 + len(body), event, 2, priority, 0,
                       0, 4 + len(match), table, cookie) + body


def found(*items):
    return wire.updates(wire.MULTIPART_REPLY, HEAD + b''.join(items))


class UpdatesTest(unittest.TestCase):

    def test_as_open_vswitch_sends_them(self):
        """A deletion as version 3.1 has sent it."""
        body = bytes.fromhex(
            'ffff0000000000004f4e46000000074e003800010002038e00000000001a0000'
            '00000000000009980001001a800000040000000380000a02080080001804c633'
            '640a000000000000')
        seen, = wire.updates(wire.MULTIPART_REPLY, body)
        self.assertEqual(
            wire.Update(wire.DELETED, 0, 910, ownership.COOKIE_HAIRPIN), seen)
        self.assertEqual('a flow with cookie 0x998 and priority 910 was '
                         'deleted', str(seen))

    def test_own_changes_are_left_out(self):
        own = struct.pack('!HHI', 8, 3, 4711)
        self.assertEqual([], found(own))
        self.assertEqual(1, len(found(own, update(1, 0x998), own)))

    def test_which_flows_concern_the_agent(self):
        for seen, concerns in (
                (update(wire.DELETED, ownership.COOKIE_RELAY, 5), True),
                (update(wire.MODIFIED, ownership.COOKIE_MAC_TWEAK), True),
                # It may have taken the place of one.
                (update(wire.ADDED, 0, 900), True),
                (update(wire.MODIFIED, 7, 910), True),
                # It may have been in the way of one.
                (update(wire.DELETED, 7, 910), True),
                (update(wire.ADDED, 7, 910, table=1), False),
                (update(wire.ADDED, 7, 911), False),
                (update(wire.DELETED, 7, 911), False)):
            with self.subTest(seen):
                self.assertEqual(concerns, found(seen)[0].concerns)

    def test_other_messages(self):
        self.assertIsNone(wire.updates(wire.ERROR, HEAD))
        self.assertIsNone(wire.updates(wire.MULTIPART_REPLY, b''))
        self.assertIsNone(wire.updates(
            wire.MULTIPART_REPLY, struct.pack('!HH4xII', 1, 0, 0, 0)))
        self.assertIsNone(wire.updates(
            wire.MULTIPART_REPLY,
            struct.pack('!HH4xII', 0xffff, 0, 0x2320, 1870)))

    def test_malformed(self):
        whole = update(1, 0x998)
        for text in (whole[:3], whole[:-1], b'\0\0' + whole[2:],
                     struct.pack('!HHI', 8, 1, 0),
                     struct.pack('!HHI', 8, 9, 0)):
            with self.subTest(text), self.assertRaises(wire.Malformed):
                found(text)


_HEAD = struct.Struct('!HBxIIHHHH4xQQQ')


def flow(number, length=136, seconds=1, packets=2, cookie=0x998,
         priority=910):
    return _HEAD.pack(length, 0, seconds, 5, priority, 0, 0, 0, cookie,
                      packets, 98 * packets) + bytes(
                          [number % 256]) * (length - _HEAD.size)


def body(*flows, more=0):
    return struct.pack('!HH4x', 1, more) + b''.join(flows)


class DigestTest(base.BaseTestCase):

    def assert_same(self, one, other, same=True):
        one, other = map(bridge.plain, (one, other))
        self.assertEqual(same, bridge.of_flows(one) == bridge.of_flows(other))
        self.assertEqual(same, bridge.portions(one).keys() ==
                         bridge.portions(other).keys())

    def test_packets_and_time_do_not_count(self):
        dice = random.Random(32)
        for lengths in ((136,), (136, 160), (136, 136, 136, 160)):
            for count in (0, 1, 23, 24, 25, 300):
                sizes = [dice.choice(lengths) for _flow in range(count)]
                one, other = (
                    [body(*(flow(n, size, dice.getrandbits(32),
                                 dice.getrandbits(32))
                            for n, size in enumerate(sizes)))]
                    for _time in range(2))
                self.assert_same(one, other)

    def test_all_else_counts(self):
        for count in (3, 100):
            flows = [flow(n) for n in range(count)]
            for at in 0, 1, count - 1:
                for byte in (*range(2, 4), *range(12, 32), *range(48, 136)):
                    changed = bytearray(flows[at])
                    changed[byte] ^= 1
                    self.assert_same(
                        [body(*flows)],
                        [body(*flows[:at], changed, *flows[at + 1:])], False)
                self.assert_same([body(*flows)], [body(
                    *flows[:at], *flows[at + 1:])], False)

    def test_a_flow_that_does_not_fit(self):
        whole = body(flow(1), flow(2))
        for wrong in (whole[:-1], whole + b'x', body(flow(1)[:40]),
                      body(struct.pack('!H', 4) + flow(1)[2:])):
            self.assertRaises(wire.Malformed, bridge.plain, [wrong])

    def test_the_order_counts_for_no_portion(self):
        flows = [flow(n, 136 + 8 * (n % 3), cookie=n) for n in range(300)]
        before = bridge.portions(bridge.plain([body(*flows)]))
        random.Random(33).shuffle(flows)
        after = bridge.portions(bridge.plain(
            [body(*flows[:100]), body(*flows[100:])]))
        self.assertEqual(before.keys(), after.keys())
        self.assertCountEqual(
            *([one for flows in found.values() for one in flows]
              for found in (before, after)))

    def test_few_portions_change_with_a_flow(self):
        flows = [flow(n, cookie=n) for n in range(3000)]
        before = bridge.portions(bridge.plain([body(*flows)]))
        for change in (flows[1:], [*flows, flow(1, cookie=9000)],
                       [*flows[1:], flow(0, cookie=9000)]):
            after = bridge.portions(bridge.plain([body(*change)]))
            self.assertLessEqual(len(after.keys() - before.keys()), 2)

    def test_equal_flows_count_twice(self):
        one, two = (bridge.portions(bridge.plain([body(*[flow(1)] * count)]))
                    for count in (1, 2))
        self.assertNotEqual(one.keys(), two.keys())
