# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Connections through the table while it changes."""

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.privileged import nft
from ovn_network_agent.tests.functional.backends import test_nftables_traffic
from ovn_network_agent.tests.functional.nft import base

A = ('udp', base.VIP, 53, '10.0.0.5', 5353)
B = ('udp', base.VIP, 53, '10.0.0.6', 5353)
TCP_A = ('tcp', base.VIP, 80, '10.0.0.5', 8080)
OTHER = ('tcp', '192.0.2.99', 80, '10.0.0.6', 8080)


class ConnectionsTest(test_nftables_traffic.TrafficTestCase):

    def test_a_client_of_a_removed_backend_gets_another_one(self):
        before, after = base.table(A), base.table(B)
        self.load(before)
        ask = self.client_of('DGRAM', base.VIP, 53)
        self.assertEqual('a 198.51.100.2 x', ask())
        self.change(self.backend, update=[(before, after)])
        self.assertEqual('b 198.51.100.2 x', ask())

    def test_connections_of_others_go_on(self):
        before = base.table(A, TCP_A, OTHER)
        after = base.table(B, TCP_A, OTHER)
        self.load(before)
        asks = [self.client_of('DGRAM', base.VIP, 53),
                self.client_of('STREAM', base.VIP, 80),
                self.client_of('STREAM', '192.0.2.99', 80)]
        self.assertEqual(['a 198.51.100.2 x', 'a', 'b'],
                         [ask() for ask in asks])
        kept = set(self.tracked())
        self.change(self.backend, update=[(before, after)])
        self.assertEqual(
            sorted(kept - {(17, *A[1:])}), self.tracked())
        self.assertEqual(['b 198.51.100.2 x', 'a', 'b'],
                         [ask() for ask in asks])

    def test_a_restart_deletes_nothing(self):
        """The agent begins anew, and the rules were changed meanwhile."""
        before, after = base.table(A), base.table(A, OTHER)
        self.load(before)
        ask = self.client_of('DGRAM', base.VIP, 53)
        self.assertEqual('a 198.51.100.2 x', ask())
        self.backend = type(self.backend)(self.conf)
        self.assertEqual([after], self.change(
            self.backend, update=[(before, after)]))
        self.assertEqual([(17, *A[1:])], self.tracked())

    def test_what_was_removed_while_the_agent_was_away(self):
        before, after = base.table(A), base.table(B)
        self.load(before)
        ask = self.client_of('DGRAM', base.VIP, 53)
        self.assertEqual('a 198.51.100.2 x', ask())
        self.backend = type(self.backend)(self.conf)
        [found] = self.read(after)
        self.change(self.backend, update=[(found, after)])
        self.assertEqual('b 198.51.100.2 x', ask())

    def test_what_fails_after_the_load_is_done_again(self):
        """Those of the former table, although it is no longer there."""
        before, after = base.table(A), base.table(B)
        self.load(before)
        ask = self.client_of('DGRAM', base.VIP, 53)
        self.assertEqual('a 198.51.100.2 x', ask())
        # The root side began with another zone, and touches that alone.
        self.conf.set_override('port_forward_ct_zone', base.ZONE + 1,
                               'port_forward')
        failures = self.backend.apply(
            backends.Delta(update=[(before, after)]))
        self.assertIn('stay in connection tracking', failures[after.ref])
        self.assertEqual([(17, *A[1:])], self.tracked())
        found = resources.NftTable('ip', 'altered')
        self.assertEqual({found}, self.read(after))
        self.conf.set_override('port_forward_ct_zone', base.ZONE,
                               'port_forward')
        self.assertEqual([after], self.change(
            self.backend, update=[(found, after)]))
        self.assertEqual([], self.tracked())
        self.assertEqual('b 198.51.100.2 x', ask())

    def test_no_more_port_forwards(self):
        table = base.table(A)
        self.load(table)
        ask = self.client_of('DGRAM', base.VIP, 53)
        self.assertEqual('a 198.51.100.2 x', ask())
        self.change(self.backend, delete=[table])
        self.assertEqual([], self.tracked())

    def test_only_of_our_zone(self):
        self.load(base.table(A))
        ask = self.client_of('DGRAM', base.VIP, 53)
        ask()
        for zone in (1, base.ZONE - 1):
            self.assertRaisesRegex(OSError, 'refused', nft.delete_connections,
                                   'ip', zone, [list(A)])
        self.assertEqual(0, nft.delete_connections(
            'ip', base.ZONE, [list(B)]))
        self.assertEqual([(17, *A[1:])], self.tracked())
        self.assertEqual(1, nft.delete_connections(
            'ip', base.ZONE, [list(B), list(A)]))
        self.assertEqual([], self.tracked())

    def test_no_zone_is_no_zone(self):
        for zone in (0, 65536, True, '1'):
            self.assertRaises(OSError, nft.delete_connections, 'ip', zone,
                              [])
