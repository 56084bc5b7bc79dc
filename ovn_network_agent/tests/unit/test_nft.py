# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What is sent to nft, and what its listing tells, without nft."""

import ipaddress
import json

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.nft import elements
from ovn_network_agent.nft import listing
from ovn_network_agent.nft import text
from ovn_network_agent.nft import transaction

GOOD = '''\
\tset guarded {
\t\ttype ifname
\t}
\tchain balance_0123456789abcdef {
\t\tmeta l4proto { tcp, udp } dnat ip to jhash ip saddr mod 3 seed 0x6f6e61 \
map {
\t\t\t0-1 : 10.0.0.5 . 53,
\t\t\t2 : 10.0.0.6 . 53
\t\t}
\t}
\tchain forward_veth_guard {
\t\ttype filter hook forward priority filter; policy accept;
\t\toifname "veth-default" ip6 saddr 2001:db8::/32 accept
\t\tip daddr . meta l4proto vmap { 192.0.2.53 . tcp : goto \
balance_0123456789abcdef }
\t\toifname @guarded drop
\t}
'''
TARGET = ['tcp', '192.0.2.53', 53, '10.0.0.5', 5353]


class TextTest(base.BaseTestCase):

    def refused(self, changed):
        self.assertRaises(text.Refused, text.check, changed)

    def test_one_of_ours(self):
        self.assertEqual({'guarded'}, text.check(GOOD))
        self.assertEqual(set(), text.check(''))

    def test_names(self):
        self.assertEqual(
            {'guarded', 'provider_prefixes', 'targets', 'leaving_targets'},
            text.sets(GOOD))
        self.assertEqual({'loaded', 'balance_0123456789abcdef',
                          'forward_veth_guard'}, text.chains(GOOD))

    def test_what_ends_the_table(self):
        for bad in ('}', '} table ip x {', GOOD + '}', '}' + GOOD,
                    GOOD + '{', GOOD.replace('\t}', '\t}}', 1),
                    GOOD + '\n}\ntable ip filter {\n\tchain c {\n\t}\n'):
            self.refused(bad)

    def test_where_no_chain_of_ours_is_hooked_in(self):
        """It could lock the node out, or lead its connections elsewhere."""
        good = 'type filter hook forward priority filter; policy accept;'
        self.assertIn(good, GOOD)
        for bad in (good.replace('forward', 'input'),
                    good.replace('priority filter', 'priority -300'),
                    good.replace('accept', 'drop'),
                    good.replace(' policy accept;', ''),
                    good.replace('; ', ';\n\t\t'),
                    good + ' ' + good.replace('accept', 'drop'),
                    'type nat hook output priority dstnat; policy accept;'):
            self.refused(GOOD.replace(good, bad))

    def test_what_stands_between_chains(self):
        for bad in ('flush ruleset', 'include "/etc/passwd"', 'counter;',
                    'map m {\n}', 'flowtable f {\n}', 'ct helper h {\n}',
                    'chain {\n}', 'chain A {\n}', 'chain a b {\n}', '"x"'):
            self.refused(GOOD + bad + '\n')
            self.refused(bad + '\n' + GOOD)

    def test_words_that_are_not_ours(self):
        for bad in ('include', 'define', '$x', 'flush', 'delete', 'queue',
                    'log', 'reject', 'tproxy', 'redirect', 'helper',
                    'notrack', 'elements', '@other', 'jump other',
                    '/etc/passwd', '10.0.0.0/33', 'fe80::1%eth0', 'ip@x'):
            self.refused(GOOD.replace('accept\n', bad + '\n', 1))
            # Without blanks around it, too.
            self.refused(GOOD.replace('drop\n', f'drop;{bad};\n', 1))

    def test_characters_that_are_not_ours(self):
        for bad in '#\\\'`$%?~[]^\r\0\x1b\u00e9':
            self.refused(GOOD.replace('accept\n', f'accept {bad}\n', 1))

    def test_strings(self):
        for bad in ('"', '"a', '"a\nb"', '"a\\"', '"{"', f'"{65 * "x"}"'):
            self.refused(GOOD.replace('"veth-default"', bad))

    def test_names_that_the_agent_needs(self):
        for bad in ('targets', 'provider_prefixes', 'leaving_targets'):
            self.refused(GOOD + f'set {bad} {{\ntype ifname\n}}\n')
        self.refused(GOOD + 'chain loaded {\n}\n')
        self.refused(GOOD + GOOD)

    def test_no_text(self):
        for bad in (None, 1, b'', ['x'], ' ' * (text.LIMIT + 1)):
            self.refused(bad)


class ElementsTest(base.BaseTestCase):

    def test_as_nft_reads_them(self):
        for name, element, written in (
                ('provider_networks', '10.0.0.0/8', '10.0.0.0/8'),
                ('provider_prefixes', '10.0.0.0/8', '10.0.0.0 . 8'),
                ('snat_addresses', '192.0.2.1', '192.0.2.1'),
                ('guarded', 'veth-default', '"veth-default"'),
                ('targets', TARGET,
                 'tcp . 192.0.2.53 . 53 . 10.0.0.5 . 5353')):
            self.assertEqual(written,
                             elements.written('ip', name, element))

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
            'ip', GOOD, {'guarded': ['veth-default']}, [TARGET], [])
        self.assertTrue(sent.startswith(
            'add table ip ovn-network-agent\n'
            'delete table ip ovn-network-agent\n'
            'table ip ovn-network-agent {\n'))
        self.assertIn(GOOD, sent)
        self.assertTrue(sent.endswith(
            'add element ip ovn-network-agent targets '
            '{ tcp . 192.0.2.53 . 53 . 10.0.0.5 . 5353 }\n'))

    def test_what_is_kept_is_not_touched(self):
        sent = transaction.extension(
            'ip', GOOD, {'guarded': ['b', 'c']}, {'guarded': ['a', 'b']},
            [], [])
        self.assertNotIn('delete table', sent)
        self.assertIn('delete element ip ovn-network-agent guarded '
                      '{ "a" }\n', sent)
        self.assertIn('add element ip ovn-network-agent guarded { "c" }\n',
                      sent)

    def test_what_is_not_taken(self):
        for build, *args in (
                (transaction.replacement, 'inet', GOOD, {}, [], []),
                (transaction.replacement, 'ip', GOOD, {'x': []}, [], []),
                (transaction.replacement, 'ip', GOOD, {'targets': []}, [],
                 []),
                (transaction.pruning, 'ip', [['a b', 1]], [], []),
                (transaction.pruning, 'ip', [['a', '1;x']], [], []),
                (transaction.pruning, 'ip', [], ['x; flush ruleset'], []),
                (transaction.pruning, 'ip', [], [], [None]),
                (transaction.pruning, 'bridge', [], [], []),
                (transaction.stamp, 'ip', 'text:x list:y'),
                (transaction.stamp, 'ip', '"\nflush ruleset\n"'),
                (transaction.change, 'ip', {'loaded': []}, {}),
                (transaction.change, 'arp', {}, {}),
                (transaction.removal, 'inet')):
            self.assertRaises(ValueError, build, *args)

    def test_the_comment_fits(self):
        """nft takes at most 127 bytes."""
        comment = listing.comment('a' * 64, 'b' * 40)
        self.assertLess(len(comment), 128)
        self.assertIn(comment, transaction.stamp('ip', comment))


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
            {'set': {'name': 'leaving_targets', 'elem': [
                {'concat': TARGET}]}},
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
