# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The account of one-way probes."""

import unittest

from ovn_network_agent.tests.lab import oneway


class OneWayTest(unittest.TestCase):

    def summary(self, *arrived, count=5):
        found = oneway.summarise([n * 0.02 for n in range(count)], arrived)
        return (found.sent, found.lost, found.twice,
                round(found.longest_gap_ms))

    def test_all_arrived(self):
        self.assertEqual((5, 0, 0, 0), self.summary(0, 1, 2, 3, 4))

    def test_the_order_does_not_matter(self):
        self.assertEqual((5, 0, 0, 0), self.summary(1, 0, 4, 3, 2))

    def test_gaps(self):
        self.assertEqual((5, 1, 0, 20), self.summary(0, 1, 3, 4))
        self.assertEqual((5, 3, 0, 40), self.summary(1, 4))
        # Until now.
        self.assertEqual((5, 2, 0, 40), self.summary(0, 1, 2))

    def test_delivered_twice(self):
        self.assertEqual((5, 0, 3, 0), self.summary(0, 0, 1, 2, 2, 2, 3, 4))
