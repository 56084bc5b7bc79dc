# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Records in a row, counted without a loop."""

import random

from oslotest import base

from ovn_network_agent.common import equal_records


def one_by_one(data, start, length, head):
    """The same, with a loop."""
    first, count = data[start:start + head], 0
    while (start + length <= len(data) and
           data[start:start + head] == first):
        start, count = start + length, count + 1
    return count


class AlikeTest(base.BaseTestCase):

    def test_as_a_loop_counts(self):
        dice = random.Random(32)
        for _time in range(2000):
            length = dice.randint(4, 9)
            head = dice.randint(1, 4)
            start = dice.randint(0, 5)
            data = bytes(start) + b''.join(
                bytes(dice.choices((1, 2), (20, 1), k=head)) +
                dice.randbytes(length - head)
                for _record in range(dice.randint(1, 12)))
            data += dice.randbytes(dice.randint(0, length - 1))
            self.assertEqual(
                one_by_one(data, start, length, head),
                equal_records.count_equal(data, start, length, head), data)
