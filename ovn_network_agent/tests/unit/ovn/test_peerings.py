# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import time

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.ovn.peering import peer_intents
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.tests.unit.ovn import peers

TARGET, EXPORT, IMPORT = peers.TARGET, peers.EXPORT, peers.IMPORT


class NamesTest(base.BaseTestCase):

    def test_names(self):
        for name in ('a', 'db', 'A1', 'to-db', 'a' * 63, 'a-1'):
            self.assertEqual('', peer_intents.name_objection(name), name)
        for name in ('', '1a', '-a', 'a-', 'a_b', 'a.b', 'a b', 'a' * 64,
                     'a\n', 'a\nb', '\u00e4', 'internal', 'External'):
            why = peer_intents.name_objection(name)
            self.assertTrue(why, name)
            self.assertTrue(why.isprintable(), why)

    def test_bad_words(self):
        for words, part in (
                ({TARGET + 'a': ''}, 'names no router'),
                ({EXPORT + 'a': '10.0.0.0/24'}, 'names no router'),
                ({TARGET + 'a': 'x', IMPORT + 'a': '10.0.0.1/24'},
                 "peer-import:a: '10.0.0.1/24' is no prefix"),
                ({TARGET + 'a': 'x', EXPORT + 'a': ' , '}, 'names no prefix'),
                ({TARGET + 'a': 'x', EXPORT + 'a': '10.0.0.0/8, a\nb'},
                 'is no prefix')):
            problem = peer_intents.read(words)['a'].problem
            self.assertIn(part, problem)
            self.assertTrue(problem.isprintable())


class PeeringsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.cloud = peers.Cloud()

    both = {(1, 'b'): 'created', (2, 'a'): 'created'}

    def two(self, one='10.0.1.1/24', other='10.0.2.1/24', **more):
        self.cloud.router(1, one, b=2)
        self.cloud.router(2, other, a=1, **more)

    def test_both_have_to_agree(self):
        self.two()
        self.assertEqual(self.both, self.cloud.states())
        self.cloud.say(2, {TARGET + 'a': None})
        self.assertEqual({(1, 'b'): 'pending'}, self.cloud.states())
        self.cloud.say(2, {TARGET + 'other': str(peers.key(1))})
        self.assertEqual({(1, 'b'): 'created', (2, 'other'): 'created'},
                         self.cloud.states())

    def test_options_win_over_external_ids(self):
        """Neutron replaces external_ids at each update of a router."""
        self.two()
        self.cloud.say(1, {TARGET + 'b': None}, {TARGET + 'b': 'r2'})
        self.assertEqual(self.both, self.cloud.states())
        self.cloud.say(1, {TARGET + 'b': 'r3', EXPORT + 'b': 'bad'})
        self.assertEqual('error', self.cloud.states()[1, 'b'])
        self.cloud.say(1, {}, {EXPORT + 'b': '10.0.0.0/16'})
        self.assertEqual(self.both, self.cloud.states())
        self.cloud.say(1, {}, {TARGET + 'b': None})
        self.assertEqual('pending', self.cloud.states()[1, 'b'])

    def test_rows(self):
        self.cloud.route(7, '172.16.0.0/16', '10.0.2.9')
        self.cloud.route(8, '172.17.0.0/16', '192.0.2.9')
        self.cloud.route(9, '0.0.0.0/0', '192.0.2.1')
        self.two(routes=(7, 8, 9), uplink=('198.51.100.7/24',))
        self.cloud.port(200, '10.0.2.1/24', '10.0.0.129/25', '2001:db8::1/64',
                        'fe80::1/64')
        found = self.cloud.look()
        one, two = str(peers.key(1)), str(peers.key(2))
        self.assertEqual(found[1, 'b'].sides, found[2, 'a'].sides)
        self.assertEqual(f'{one}~{two}', found[1, 'b'].pair)
        side, other = found[1, 'b'].sides
        self.assertEqual(model.Side(
            one, f'ona-peer-{one}-{two}', 'fa:16:3e:00:00:64',
            ('10.0.1.1/32',), (), (
                ('10.0.0.128/25', '10.0.0.129'),
                ('10.0.2.0/24', '10.0.0.129'),
                ('172.16.0.0/16', '10.0.0.129')), tuple(
                (family, f'ona_peer_{one.replace("-", "_")}_b_ip{family}')
                for family in (4, 6))), side)
        self.assertEqual((('10.0.1.0/24', '10.0.1.1'),), other.routes)
        self.assertEqual(('10.0.0.129/32',), other.addresses)
        self.assertEqual(('lrp-201',), other.uplinks)
        self.cloud.port(100, '10.0.1.1/24', '2001:db8:1::1/64')
        side, other = self.cloud.look()[1, 'b'].sides
        self.assertEqual(('10.0.0.129/32', '2001:db8::1/128'), other.addresses)
        self.assertEqual(('2001:db8::/64',), side.prefixes(6))
        self.assertIn(('2001:db8::/64', '2001:db8::1'), side.routes)

    def test_filters(self):
        self.two()
        self.cloud.port(200, '10.0.2.1/24', '10.0.3.1/24')
        for number, key, text, routes in (
                (2, EXPORT + 'a', '10.0.3.0/24',
                 (('10.0.3.0/24', '10.0.2.1'),)),
                (1, IMPORT + 'b', '10.0.2.0/24', ())):
            self.cloud.say(number, {key: text})
            side, other = self.cloud.look()[1, 'b'].sides
            self.assertEqual((routes, (('10.0.1.0/24', '10.0.1.1'),)),
                             (side.routes, other.routes))
        self.cloud.say(2, {EXPORT + 'a': '10.0.3/24'})
        found = self.cloud.look()
        self.assertEqual('error', found[2, 'a'].state.value)
        # The other router sees the same as if nobody had agreed.
        self.assertEqual('pending', found[1, 'b'].state.value)

    def test_what_is_pending_tells_nothing(self):
        self.cloud.router(2, '10.0.2.1/24')
        self.cloud.router(3, '10.0.3.1/24', label='twin')
        self.cloud.router(4, '10.0.3.1/24', label='twin')
        self.cloud.router(5, '10.0.1.1/24')
        self.cloud.router(6)
        self.cloud.router(1, '10.0.1.1/24')
        seen = set()
        for target in (str(peers.key(2)), str(peers.key(99)), 'r2', 'twin',
                       'nobody', 'a\nb', 'r5', 'r6', '%', '*'):
            self.cloud.say(1, {TARGET + 'b': target})
            found = self.cloud.look()[1, 'b']
            seen.add((found.state, found.why))
        (state, why), = seen
        self.assertIs(model.PeerState.PENDING, state)
        self.assertNotIn('2', why)

    def test_names_of_a_router(self):
        self.two()
        for text, state in (
                (str(peers.key(2)), 'created'),
                (str(peers.key(5002)), 'created'),
                (f'neutron-{peers.key(5002)}', 'created'),
                ('r2', 'created'), ('r3', 'pending'), ('R2', 'pending')):
            self.cloud.say(1, {TARGET + 'b': text})
            self.assertEqual(state, self.cloud.states()[1, 'b'], text)
        # A second router with the name of the first makes it nobody's.
        self.cloud.say(1, {TARGET + 'b': 'r2'})
        self.cloud.router(3, '10.0.3.1/24', label='r2')
        self.assertEqual('pending', self.cloud.states()[1, 'b'])
        # Nobody takes the name of another one's row.
        self.cloud.say(1, {TARGET + 'b': str(peers.key(5002))})
        self.cloud.router(3, '10.0.3.1/24', label=str(peers.key(5002)))
        self.assertEqual('created', self.cloud.states()[1, 'b'])

    def test_a_name_that_another_router_gets_later(self):
        """The rows of the peering tell which one has been meant."""
        self.two()
        self.cloud.say(1, {TARGET + 'b': 'r2', TARGET + 'c': 'r3'})
        self.cloud.router(3, '10.0.3.1/24', a=1)
        for number, name, other in ((1, 'b', 2), (1, 'c', 3), (2, 'a', 1),
                                    (3, 'a', 1)):
            self.cloud.rows(number, other, name=name)
        created = {(1, 'b'): 'created', (1, 'c'): 'created',
                   (2, 'a'): 'created', (3, 'a'): 'created'}
        self.assertEqual(created, self.cloud.states())
        self.cloud.router(4, '10.0.4.1/24', label='r2')
        self.cloud.say(2, {TARGET + 'a': 'r1'})
        self.cloud.router(5, '10.0.5.1/24', label='r1')
        self.assertEqual(created, self.cloud.states())
        # One that has rows with this router by another name, too.
        self.cloud.router(3, '10.0.3.1/24', label='r2')
        self.assertEqual({**created, (1, 'c'): 'pending',
                          (3, 'a'): 'pending'}, self.cloud.states())
        # The one that was meant has another name now.
        self.cloud.router(2, '10.0.2.1/24', label='other')
        self.assertEqual('pending', self.cloud.states()[1, 'b'])

    def test_bad_intents_cost_themselves(self):
        self.two()
        self.cloud.say(1, {TARGET + 'self': str(peers.key(1)),
                           TARGET + 'self2': 'r1',
                           TARGET + 'a\nb': 'r2',
                           TARGET + '': 'r2', TARGET + 'internal': 'r2',
                           TARGET + 'c': 'r2', EXPORT + 'typo': '10.0.0.0/8'})
        found = self.cloud.look()
        self.assertEqual(
            {'b': 'created', **dict.fromkeys(
                ('self', 'self2', 'a\\nb', '', 'internal', 'c', 'typo'),
                'error')},
            {name: each.state.value for (number, name), each in found.items()
             if number == 1})
        for each in found.values():
            self.assertTrue(each.why.isprintable())
        self.assertIn('peering b is with the same router', found[1, 'c'].why)

    def test_a_router_without_networks(self):
        self.cloud.router(1, b=2)
        self.cloud.router(2, '10.0.2.1/24', a=1)
        self.assertEqual({(1, 'b'): 'error', (2, 'a'): 'pending'},
                         self.cloud.states())
        self.cloud.port(100, '2001:db8::1/64')
        self.assertEqual({(1, 'b'): 'error', (2, 'a'): 'error'},
                         self.cloud.states())

    def test_a_router_that_is_bound_to_a_chassis(self):
        """It may come later, and the other router sees no reason."""
        self.two()
        self.cloud.say(1, {}, {'chassis': 'gw\n1'})
        found = self.cloud.look()
        self.assertEqual({(1, 'b'): 'error', (2, 'a'): 'pending'}, {
            where: each.state.value for where, each in found.items()})
        self.assertIn(r'(options:chassis=gw\n1)', found[1, 'b'].why)
        self.cloud.say(1, {}, {'chassis': None})
        self.assertEqual({'created'}, {*self.cloud.states().values()})

    def test_ports_that_are_not_internal(self):
        for columns in ({'gateway_chassis': [peers.key(9)]},
                        {'ha_chassis_group': [peers.key(9)]},
                        {'peer': 'lrp-x'},
                        {'external_ids': {'neutron:is_ext_gw': 'True'}}):
            self.two()
            self.cloud.port(100, '10.0.1.1/24', **columns)
            self.assertEqual('error', self.cloud.states()[1, 'b'], columns)

    def test_its_own_rows_count_for_nothing(self):
        """By their marks; without these, by the port that they name.

        It is that of this router to another one.
        """
        self.two()
        before = self.cloud.look()[1, 'b']
        one, two = before.pair.split('~')
        own, marks = peering_rows.port_name(one, two), peers.marks(1, 2)
        self.cloud.put('Logical_Router', 1, name='neutron-1',
                       ports=[peers.key(100), peers.key(700)],
                       static_routes=[peers.key(7)],
                       external_ids={'neutron:router_name': 'r1',
                                     TARGET + 'b': 'r2'})

        def rows(port, route, **external_ids):
            self.cloud.port(700, '10.0.1.1/32', peer='x',
                            external_ids=external_ids, **port)
            self.cloud.route(7, '10.0.2.0/24', '10.0.2.1', columns=route,
                             **external_ids)
        for columns in (({}, {}, marks), ({'name': own},
                                          {'output_port': own}, {})):
            rows(*columns[:2], **columns[2])
            self.assertEqual(before.sides, self.cloud.look()[1, 'b'].sides)
        for name in (f'ona-peer-{two}-{one}', f'{own}x', f'ona-peer-{one}-',
                     f'lrp-{one}', ''):
            rows({'name': own}, {'output_port': name})
            self.assertEqual('conflict', self.cloud.states()[1, 'b'], name)


class ManyTest(base.BaseTestCase):

    def test_ten_thousand_intents_of_a_router(self):
        cloud = peers.Cloud()
        cloud.router(1, '10.0.1.1/24')
        cloud.router(2, '10.0.2.1/24', a=1)
        cloud.say(1, {f'{TARGET}p{number}': 'r2' for number in range(10000)})
        begin = time.process_time()
        states = [*cloud.states().values()]
        self.assertLess(time.process_time() - begin, 10)
        self.assertEqual((2, 9999), (states.count('created'),
                                     states.count('error')))
