# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is sent to nft, and what its listing tells, without nft."""

import ipaddress
import json

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.nft import elements
from ovn_network_agent.nft import listing
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import transaction
from ovn_network_agent.nft import values

TABLE = values.Table('ip', 64000, True, (values.Vip(
    '192.0.2.53', False, False, (values.Service(
        'tcp', 53, 5353, False, (values.Destination('10.0.0.5'),),
        ((0, 1),)),)),))
# A router's table of an agent without a VRF has no guard.
NO_VRF = TABLE._replace(vrf=False)
TARGET = ['tcp', '192.0.2.53', 53, '10.0.0.5', 5353]


class Text(str):
    """Nothing that msgpack makes: its operators may say anything."""


class NamesTest(base.BaseTestCase):

    def test_of_a_table(self):
        self.assertEqual(
            {'provider_networks', 'snat_addresses', 'guarded',
             'provider_prefixes', 'targets', 'leaving_targets'},
            rendering.sets(TABLE))
        self.assertEqual({'guarded'},
                         rendering.sets(TABLE) - rendering.sets(NO_VRF))
        self.assertEqual(
            {'loaded', 'prerouting_ctzone', 'output_ctzone',
             'prerouting_dnat'},
            rendering.chains(rendering.text(NO_VRF)))

    def test_what_is_a_name(self):
        self.assertTrue(values.is_name('balance_0123456789abcdef'))
        for bad in ('', 'a b', 'a\n', 'a;', 'A', '1', 'a' * 64, 'a}', None, 1,
                    b'a', ['a'], Text('a')):
            self.assertFalse(values.is_name(bad))


class ElementsTest(base.BaseTestCase):

    def test_as_nft_reads_them(self):
        for name, element, written in (
                ('provider_networks', '10.0.0.0/8', '10.0.0.0/8'),
                ('provider_prefixes', '10.0.0.0/8', '10.0.0.0 . 8'),
                ('snat_addresses', '192.0.2.1', '192.0.2.1'),
                ('guarded', 'veth-default', '"veth-default"'),
                ('targets', TARGET,
                 'tcp . 192.0.2.53 . 53 . 10.0.0.5 . 5353')):
            self.assertEqual(written, elements.written('ip', name, element))

    def test_what_is_none(self):
        for name, bad in (
                ('provider_networks', '10.0.0.1/8'),
                ('provider_networks', '2001:db8::/32'),
                ('provider_networks', '0.0.0.0/0'),
                ('provider_networks', '10.0.0.0/8, 11.0.0.0/8'),
                ('snat_addresses', '10.0.0.0/8'),
                ('snat_addresses', '2001:db8::1'),
                ('guarded', ''), ('guarded', 'eth*'), ('guarded', 'a"b'),
                ('guarded', 'x' * 16), ('guarded', None),
                ('guarded', Text('eth0')), (Text('guarded'), 'eth0'),
                ('provider_networks', Text('10.0.0.0/8')),
                ('snat_addresses', Text('192.0.2.1')),
                ('targets', [Text('tcp'), *TARGET[1:]]),
                ('targets', ['icmp', *TARGET[1:]]),
                ('targets', [*TARGET[:2], 0, *TARGET[3:]]),
                ('targets', [*TARGET[:2], True, *TARGET[3:]]),
                ('targets', [*TARGET[:4], '80 }']),
                ('other', '10.0.0.0/8')):
            self.assertRaises(ValueError, elements.written, 'ip', name, bad)
        self.assertRaises(ValueError, elements.written, 'ip6',
                          'snat_addresses', 'fe80::1%eth0')

    networks = strategies.lists(strategies.builds(
        lambda number, length: str(ipaddress.ip_network(
            (number << 24, length), strict=False)),
        strategies.integers(0, 255), strategies.integers(1, 12)))

    @hypothesis.given(networks)
    def test_the_outer_ones_are_the_same_addresses(self, prefixes):
        outer = [ipaddress.ip_network(p) for p in elements.outer(prefixes)]
        self.assertEqual(
            list(ipaddress.collapse_addresses(
                map(ipaddress.ip_network, prefixes))),
            list(ipaddress.collapse_addresses(outer)))
        for first, second in zip(outer, outer[1:]):
            self.assertFalse(first.overlaps(second))
        self.assertLessEqual(set(map(str, outer)), set(prefixes))


class TransactionTest(base.BaseTestCase):

    def test_a_table_and_its_elements_are_one(self):
        sent = transaction.replacement(
            TABLE, {'guarded': ['veth-default']}, [])
        self.assertTrue(sent.startswith(
            'add table ip ovn-network-agent\n'
            'delete table ip ovn-network-agent\n'
            'table ip ovn-network-agent {\n'))
        self.assertIn(rendering.text(TABLE), sent)
        self.assertTrue(sent.endswith(
            'add element ip ovn-network-agent targets '
            '{ tcp . 192.0.2.53 . 53 . 10.0.0.5 . 5353 }\n'))

    def test_what_is_kept_is_not_touched(self):
        sent = transaction.extension(TABLE, {'guarded': ['b', 'veth-default']},
                                     {'guarded': ['a', 'b']}, [])
        self.assertNotIn('delete table', sent)
        self.assertIn('delete element ip ovn-network-agent guarded '
                      '{ "a" }\n', sent)
        self.assertIn('add element ip ovn-network-agent guarded '
                      '{ "veth-default" }\n', sent)

    def test_what_is_not_taken(self):
        for build, *args in (
                (transaction.replacement, TABLE, {'x': []}, []),
                (transaction.replacement, TABLE, {'targets': []}, []),
                (transaction.replacement, NO_VRF, {'guarded': []}, []),
                (transaction.replacement, TABLE, {Text('guarded'): []}, []),
                (transaction.replacement, TABLE, {}, [[*TARGET, 1]]),
                (transaction.extension, TABLE, {'x': []}, {}, []),
                (transaction.extension, TABLE, {}, {'guarded': ['a"']}, []),
                (transaction.pruning, 'ip', [['a b', 1]], [], []),
                (transaction.pruning, 'ip', [['a', '1;x']], [], []),
                (transaction.pruning, 'ip', [['a', True]], [], []),
                (transaction.pruning, 'ip', [['a', 0]], [], []),
                (transaction.pruning, 'ip', [['a', 1 << 64]], [], []),
                (transaction.pruning, 'ip', [], ['x; flush ruleset'], []),
                (transaction.pruning, 'ip', [], [], [None]),
                (transaction.pruning, 'bridge', [], [], []),
                (transaction.stamp, 'ip', 'x', 'b' * 40),
                (transaction.stamp, 'ip', 'a' * 32, 'b' * 41),
                (transaction.stamp, 'ip', 'a' * 32 + '\n', 'b' * 40),
                (transaction.stamp, 'ip', '"\nflush ruleset\n"', 'b' * 40),
                (transaction.stamp, 'ip', 'a' * 32, '"\nflush ruleset\n"'),
                (transaction.stamp, 'ip', Text('a' * 32), 'b' * 40),
                (transaction.change, 'ip', {'loaded': []}, {}),
                (transaction.change, 'ip', {Text('guarded'): []}, {}),
                (transaction.change, 'ip', {}, {'guarded': [Text('a')]}),
                (transaction.change, 'ip', {}, {'guarded': ['eth0']}),
                (transaction.replacement, TABLE, {'guarded': ['eth0']}, []),
                (transaction.extension, TABLE, {'guarded': ['eth0']}, {}, []),
                (transaction.change, 'arp', {}, {}),
                (transaction.change, Text('ip'), {}, {}),
                (rendering.removal, 'inet')):
            self.assertRaises(ValueError, build, *args)

    def test_a_device_of_somebody_else_can_only_go(self):
        self.assertEqual(
            'delete element ip ovn-network-agent guarded { "eth0" }\n',
            transaction.change('ip', {'guarded': ['eth0']}, {}))

    def test_the_comment_fits(self):
        """nft takes at most 127 bytes."""
        comment = listing.comment('a' * 64, 'b' * 40)
        self.assertLess(len(comment), 128)
        self.assertIn(comment, transaction.stamp('ip', 'a' * 64, 'b' * 40))


def printed(*items):
    return json.dumps({'nftables': [{'metainfo': {'version': '1.0.6'}},
                                    *items]})


def rule(chain, handle, **rest):
    return {'rule': {'chain': chain, 'handle': handle, **rest}}


class ListingTest(base.BaseTestCase):

    def digest(self, *items):
        return listing.parse(printed(*items)).listing

    def test_what_passes_is_no_change(self):
        one = self.digest(
            {'table': {'name': 't', 'handle': 1}},
            {'set': {'name': 'guarded', 'handle': 2, 'elem': ['a']}},
            rule('c', 3, expr=[{'counter': {'packets': 1, 'bytes': 9}},
                               {'match': {'right': {'set': [1, 2]}}}]))
        self.assertEqual(one, self.digest(
            {'table': {'name': 't', 'handle': 7}},
            {'set': {'name': 'guarded', 'handle': 8}},
            rule('loaded', 8, expr=[], comment='x'),
            {'set': {'name': 'leaving_targets', 'elem': [{'concat': TARGET}]}},
            rule('c', 9, expr=[{'counter': {'packets': 5, 'bytes': 7}},
                               {'match': {'right': {'set': [2, 1]}}}])))

    def test_what_counts_is_one(self):
        of = [self.digest(*items) for items in (
            (), [rule('c', 1, expr=[{'accept': None}])],
            [rule('c', 1, expr=[{'drop': None}])],
            [rule('d', 1, expr=[{'drop': None}])],
            [rule('c', 1, expr=[{'drop': None}, {'accept': None}])],
            [rule('c', 1, expr=[{'accept': None}, {'drop': None}])],
            [{'set': {'name': 'other', 'elem': ['a']}}],
            [{'set': {'name': 'other', 'elem': ['b']}}],
            [{'set': {'name': 'guarded', 'type': 'a'}}],
            [{'set': {'name': 'guarded', 'type': 'b'}}])]
        self.assertEqual(len(of), len(set(of)))

    def test_a_protocol_by_number_or_name(self):
        for proto in (6, 'tcp'):
            found = listing.parse(printed({'set': {
                'name': 'targets', 'elem': [
                    {'concat': [proto, *TARGET[1:]]}]}}))
            self.assertEqual({tuple(TARGET)}, found.targets)

    def test_what_is_not_understood(self):
        for bad in ('', '[]', '{}', '{"nftables": [{}]}', '{"nftables": 1}',
                    printed({'set': {}}), printed({'set': {
                        'name': 'targets', 'elem': [1]}}),
                    printed({'set': {'name': 'targets', 'elem': [
                        {'concat': [1, 2, 3, 4, 5]}]}})):
            self.assertRaises(listing.Unreadable, listing.parse, bad)
