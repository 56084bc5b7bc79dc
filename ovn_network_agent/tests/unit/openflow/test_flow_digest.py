# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""A digest that sees each flow, and neither packets nor time."""

import random
import struct

from oslotest import base

from ovn_network_agent.openflow import bridge
from ovn_network_agent.openflow import wire

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
        self.assertEqual(same, bridge.of_flows(one) ==
                         bridge.of_flows(other))
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
        one, two = (bridge.portions(bridge.plain(
                        [body(*[flow(1)] * count)]))
                    for count in (1, 2))
        self.assertNotEqual(one.keys(), two.keys())
