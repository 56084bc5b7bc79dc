# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The room for neighbours; the real tables are in the test of their reader."""

from ovn_network_agent.diagnosis.node.kernel import routing
from ovn_network_agent.netlink.objects import procfs
from ovn_network_agent.tests.unit.diagnosis.node import base


class NeighbourTablesTest(base.JudgeTestCase):

    def judge(self, *verdicts, addresses=10, limit=1024, overflows=0):
        return self.judged(
            routing.judge_neighbours, routing.Neighbours(
                {4: procfs.Table(7, limit, overflows),
                 6: procfs.Table(3, 1024, 0)},
                {4: addresses, 6: 0}), *verdicts)

    def test_room(self):
        self.assertIn('IPv4: 7 of 1024; IPv6: 3 of 1024', self.judge(base.OK))
        self.judge(base.OK, addresses=512)

    def test_too_small(self):
        """The failure of another node may double the addresses."""
        said = self.judge(base.WARN, addresses=513)
        self.assertIn('gc_thresh3 = 1024: each address', said)
        self.assertIn('net.ipv4.neigh.default.gc_thresh3=4096 '
                      'net.ipv4.neigh.default.gc_thresh2=2048', said)
        self.assertIn('thresh3=65536', self.judge(base.WARN, addresses=10000))

    def test_it_was_full(self):
        """Other users of the kernel have neighbours, too."""
        self.assertIn('was full 9 times', self.judge(base.WARN, overflows=9))
