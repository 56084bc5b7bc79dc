# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The netlink socket, against the kernel."""

import errno

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.tests.functional.netlink import base


class BatchTest(base.KernelTestCase):

    def test_more_answers_than_the_socket_can_hold(self):
        """Without privileges it may hold fewer than a batch can cause."""
        self.bridge_up()
        body = route_codec.encode(200, '192.0.2.1/32', checks.index('br-ex'),
                                  '', 44)
        one = (routes.RTM_NEWROUTE, wire.NLM_F_CREATE | wire.NLM_F_EXCL, body)
        number = connection.BATCH + 1
        with connection.Connection() as kernel:
            self.assertEqual([], kernel.batch([one]))
            failures = kernel.batch([one] * number)
            self.assertEqual(list(range(number)),
                             [index for index, _errno, _text in failures])
            self.assertEqual({errno.EEXIST},
                             {number for _index, number, _text in failures})
            # What came too late is not taken for the answer to this.
            self.assertEqual([], kernel.batch([
                (routes.RTM_DELROUTE, 0, route_codec.encode_key(
                    200, '192.0.2.1/32', 44))]))
