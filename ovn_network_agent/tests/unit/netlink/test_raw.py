# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Dumps that are looked at before they are decoded."""

import random
import struct

from oslotest import base

from ovn_network_agent.netlink import raw
from ovn_network_agent.netlink import wire


class KindsTest(base.BaseTestCase):

    def test_the_end_is_found_wherever_it_is(self):
        dice = random.Random(32)
        for _time in range(500):
            sent = [(dice.choice((24, 24, 24, 28)), dice.choice((2, 2, 18)),
                     dice.randbytes(dice.choice((20, 20, 20, 23))))
                    for _message in range(dice.randint(0, 30))]
            sent.append((wire.NLMSG_DONE, 2, struct.pack('=i', 0)))
            data = b''.join(self.padded(*message) for message in sent)
            found = list(raw.kinds(data))
            self.assertEqual(wire.NLMSG_DONE, found[-1][0])
            self.assertEqual({kind for kind, _flags, _body in sent},
                             {kind for kind, *_rest in found})
            self.assertEqual({flags for _kind, flags, _body in sent},
                             {flags - 1 for _kind, flags, *_rest in found})

    @staticmethod
    def padded(kind, flags, body):
        made = wire.message(kind, flags, 7, body)
        return made + bytes(-len(made) & 3)

    def test_a_length_that_does_not_fit(self):
        data = self.padded(24, 2, bytes(20))
        for wrong in (data[:-1], data + data[:20]):
            self.assertRaises(ValueError, list, raw.kinds(wrong))


class DigestTest(base.BaseTestCase):

    def test_each_byte_and_each_dump_counts(self):
        dumps = [[b'ab', b'c'], [b'd']]
        digests = {raw.digest(each) for each in (
            dumps, [[b'ab', b'c'], [b'e']], [[b'ab'], [b'c', b'd']],
            [[b'ab', b'c'], []], [[], []], [[]])}
        self.assertEqual(6, len(digests))
        self.assertIn(raw.digest(dumps), digests)
