# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Peers whose prefixes overlap with others, and which of two comes first."""

import itertools

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.tests.unit.ovn import peers

EXPORT = peers.EXPORT


class ConflictsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.cloud = peers.Cloud()

    def become(self, state, *about):
        """All peerings have this state."""
        self.assertEqual({state}, {*self.cloud.states().values()}, about)

    def conflict(self, number, name):
        found = self.cloud.look()[number, name]
        self.assertEqual('conflict', found.state.value)
        self.assertEqual(('', ()), (found.pair, found.sides))
        return found.why

    def test_networks(self):
        self.cloud.router(1, '10.0.0.1/16', b=2)
        self.cloud.router(2, '10.0.2.1/24', a=1)
        why = self.conflict(1, 'b')
        self.assertIn('10.0.0.0/16', why)
        self.assertNotIn('10.0.2.0', why)
        self.assertNotIn('10.0.0.0/16', self.conflict(2, 'a'))
        # It comes and goes.
        self.cloud.port(100, '10.1.0.1/16')
        self.become('created')
        self.cloud.port(200, '10.0.2.1/24', '10.1.2.1/24')
        self.become('conflict')
        self.cloud.say(2, {EXPORT + 'a': '10.0.2.0/24'})
        why = self.conflict(1, 'b')
        self.assertIn('the other router cannot take 10.1.0.0/16', why)
        self.cloud.say(1, {EXPORT + 'b': '192.0.2.0/24'})
        # Its own address is the next hop there.
        self.cloud.port(100, '10.1.0.1/16', '10.0.9.1/24')
        self.become('created')

    def test_static_routes_and_provider_networks(self):
        self.cloud.route(7, '10.0.0.0/16', '198.51.100.9')
        self.cloud.router(1, '192.168.1.1/24', routes=(7,), b=2)
        self.cloud.router(2, '10.0.2.1/24', a=1, c=3)
        self.assertIn('10.0.0.0/16', self.conflict(1, 'b'))
        self.cloud.router(3, '192.168.3.1/24', uplink=('10.0.2.200/25',), b=2)
        self.assertIn('10.0.2.128/25', self.conflict(3, 'b'))
        self.assertNotIn('10.0.2.128/25', self.conflict(2, 'c'))

    def test_all_static_routes_but_default_routes(self):
        self.cloud.router(1, '192.168.1.1/24', routes=(7,), b=2)
        self.cloud.router(2, '10.8.1.1/24', a=1)
        conflict, created, hop = 'conflict', 'created', '192.168.1.9'
        for state, prefix, nexthop, columns in (
                (conflict, '10.8.0.0/16', 'discard', {}),
                (conflict, '10.8.0.0/16', '', {}),
                (conflict, '10.8.0.0/16', hop, {'policy': 'src-ip'}),
                (conflict, '10.8.0.0/16', hop, {'route_table': 'blue'}),
                (conflict, '10.8.0.0/16', hop, {'output_port': 'lrp-100'}),
                (conflict, '10.8.1.9/16', 'discard', {}),
                (conflict, '10.8.1.9', 'discard', {}),
                (created, '10.9.0.0/16', 'discard', {}),
                (created, 'nonsense', 'discard', {}),
                (created, '0.0.0.0/0', 'discard', {}),
                (created, '0.0.0.0/0', hop, {'route_table': 'blue'})):
            self.cloud.route(7, prefix, nexthop, columns=columns)
            self.become(state, prefix, nexthop, columns)
        # Nothing of them is given to the peer.
        self.cloud.route(7, '10.9.0.0/16', hop, columns={'policy': 'src-ip'})
        self.assertEqual(('192.168.1.0/24',), self.cloud.look()[1, 'b'].gives)
        self.cloud.route(7, '10.8.0.0/16', 'discard', **{
            ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE})
        self.become('created')

    def test_a_next_hop_of_ones_own(self):
        self.cloud.router(1, '10.0.1.1/24', '172.16.0.1/24', b=2)
        self.cloud.router(2, '10.0.1.1/24', '172.16.1.1/24', a=1)
        self.cloud.say(1, {EXPORT + 'b': '172.16.0.0/24'})
        self.cloud.say(2, {EXPORT + 'a': '172.16.1.0/24'})
        self.assertIn('10.0.1.0/24', self.conflict(1, 'b'))

    def test_other_peers(self):
        self.cloud.router(1, '10.0.1.1/24', b=2, c=3)
        self.cloud.router(2, '10.0.2.1/24', a=1)
        self.cloud.router(3, '10.0.2.1/25', a=1)
        lower = {(1, 'b'): 'created', (2, 'a'): 'created',
                 (1, 'c'): 'conflict', (3, 'a'): 'conflict'}
        self.assertEqual(lower, self.cloud.states())
        why = self.conflict(1, 'c')
        self.assertIn('b', why)
        self.assertNotIn('10.0.2', why)
        self.assertIn('10.0.2.0/25', self.conflict(3, 'a'))
        # What is there comes first.
        self.cloud.port(900, external_ids=peers.marks(1, 3))
        self.assertEqual({(1, 'b'): 'conflict', (2, 'a'): 'conflict',
                          (1, 'c'): 'created', (3, 'a'): 'created'},
                         self.cloud.states())
        self.cloud.port(901, external_ids=peers.marks(1, 2))
        self.assertEqual(lower, self.cloud.states())
        self.cloud.put('Logical_Router_Port', 901)
        self.cloud.rows(1, 2, marked=False)
        self.assertEqual(lower, self.cloud.states())
        # One in conflict for another reason bars nobody.
        self.cloud.port(200, '10.0.2.1/24', '10.0.1.1/28')
        self.assertEqual('created', self.cloud.states()[1, 'c'])

    def test_a_peer_takes_nothing_that_another_one_has(self):
        """Whoever wants more later is in conflict, whatever its UUID."""
        wanted = {1: '10.0.1.0/24', 2: '10.0.2.0/24', 3: '10.0.3.0/24',
                  4: '10.0.4.0/24'}
        for late, first in itertools.permutations((2, 3, 4), 2):
            for prefix in ('10.0.{}.9/24', '10.0.{}.9/25', '10.0.0.9/16',
                           '10.0.{}.9/23'):
                self.cloud = peers.Cloud()
                routes = [number for other in (2, 3, 4) for number in
                          self.cloud.rows(1, other, wanted[other])[1]]
                self.cloud.router(1, '172.16.0.1/24', routes=routes,
                                  b=2, c=3, d=4)
                for number in (2, 3, 4):
                    self.cloud.router(number, f'10.0.{number}.1/24', a=1)
                self.assertEqual({'created'}, {*self.cloud.states().values()})
                self.cloud.port(100 * late, f'10.0.{late}.1/24',
                                prefix.format(first))
                found = self.cloud.states()
                hub = {2: 'b', 3: 'c', 4: 'd'}[late]
                self.assertEqual(
                    {(1, hub), (late, 'a')},
                    {where for where, state in found.items()
                     if state == 'conflict'}, (late, first, prefix))
