# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The counters of the veth pair."""

from oslotest import base

from ovn_network_agent.metrics import present

# From Linux 6.1, with a pair that has carried a ping.
TEXT = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    \
packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0 \
      0    0    0    0     0       0          0
veth-default:    1116      14    0    1    0     0          0         0 \
    1046      13    0    2    0     0       0          0
veth-default2:   9       9    9    9    0     0          0         0 \
    9      9    9    9    0     0       0          0
"""


class VethTest(base.BaseTestCase):

    def test_one_end_is_there(self):
        self.assertEqual({
            'veth_packets_total': {('veth-default', 'received'): 14,
                                   ('veth-default', 'sent'): 13},
            'veth_dropped_total': {('veth-default', 'received'): 1,
                                   ('veth-default', 'sent'): 2}},
            present.veth_counters(TEXT))

    def test_the_kernel_cannot_be_asked(self):
        self.assertEqual({}, present.of_veth('/proc/self/net/nothing'))

    def test_this_kernel_is_understood(self):
        with open(present.NET_DEV) as opened:
            head = opened.read().splitlines()[1]
        received, sent = head.split('|')[1:]
        self.assertEqual(['packets', 'drop'],
                         [received.split()[n] for n in (1, 3)])
        self.assertEqual(['packets', 'drop'],
                         [sent.split()[n] for n in (1, 3)])
        self.assertEqual(8, len(received.split()))
