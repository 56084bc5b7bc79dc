# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Errors of a look-up that say nothing about the route."""

from oslotest import base

from ovn_network_agent.netlink.objects import lookups


class Silent:
    """A kernel that does not answer within the limit of its socket."""

    def ask(self, _kind, _body):
        raise TimeoutError('timed out')


class LookupTest(base.BaseTestCase):

    def test_no_answer(self):
        error = self.assertRaises(
            TimeoutError, lookups.look_up, Silent(), '192.0.2.1')
        self.assertEqual('route to 192.0.2.1: timed out', error.strerror)
