# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What may become a line of configuration, and how entries are renewed."""

import re
import unittest

from hypothesis import given
from hypothesis import strategies as st
from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines

anything = st.one_of(st.none(), st.booleans(), st.integers(), st.text(),
                     st.binary(), st.ip_addresses().map(str),
                     st.from_regex(r'[A-Za-z0-9_.-]{1,20}'))
_STATIC = re.compile(r'ip route [0-9.]+/32 [A-Za-z0-9_.-]+')
_ENTRY = re.compile(
    r'(ip prefix-list [A-Za-z0-9_.-]+ (seq [0-9]+ )?permit [0-9.]+|'
    r'ipv6 prefix-list [A-Za-z0-9_.-]+ (seq [0-9]+ )?permit [0-9a-f.:]+)'
    r'/[0-9]+ '
    r'ge [0-9]+ le [0-9]+')


class TestLines(unittest.TestCase):

    @given(st.one_of(anything, st.just('198.51.100.1/32')), anything)
    def test_static_route_is_one_clean_line(self, prefix, nexthop):
        try:
            line = lines.static_route(prefix, nexthop)
        except ValueError:
            return
        self.assertTrue(_STATIC.fullmatch(line), line)

    @given(st.lists(st.integers(-1, 300).map(str) | st.sampled_from(
        ('', '01', '1 ', '\N{ARABIC-INDIC DIGIT ONE}', '1\n')), min_size=3,
                    max_size=5).map('.'.join),
           st.sampled_from(('/32', '/32\n', '/032', '/31', '/3', '', ' /32')))
    def test_the_same_routes_as_of_the_library(self, address, length):
        prefix = address + length
        try:
            lines.check_network(prefix)
        except ValueError:
            with self.assertRaises(ValueError):
                lines.static_route(prefix, 'br-ex')
        else:
            self.assertEqual(f'ip route {prefix} br-ex',
                             lines.static_route(prefix, 'br-ex'))

    @given(anything)
    def test_a_tag_is_one_of_the_agent(self, tag):
        try:
            line = lines.static_route('198.51.100.1/32', 'br-ex', tag)
        except ValueError:
            return
        self.assertRegex(line, r'\Aip route [0-9.]+/32 br-ex'
                               r'( tag (44[0-9]{5}|4500000))?\Z')

    @given(st.one_of(anything, st.just('L')),
           st.one_of(anything, st.just('198.51.100.0/24'),
                     st.just('2001:db8::/64'),
                     st.text().map('fe80::%{}/64'.format)),
           st.one_of(anything, st.just(32)), st.one_of(anything, st.just(32)),
           anything)
    def test_entry_is_one_clean_line(self, name, network, ge, le, sequence):
        try:
            line = lines.prefix_list_entry(name, network, ge, le, sequence)
        except ValueError:
            return
        self.assertTrue(_ENTRY.fullmatch(line), line)

    def test_good(self):
        self.assertEqual('ip route 198.51.100.1/32 169.254.0.1',
                         lines.static_route('198.51.100.1/32', '169.254.0.1'))
        self.assertEqual('ip route 198.51.100.1/32 br-ex.100',
                         lines.static_route('198.51.100.1/32', 'br-ex.100'))
        self.assertEqual(
            'ipv6 route 2001:db8::1/128 fe80::a9fe:1 veth-provider tag '
            '4400001', lines.static_route(
                '2001:db8::1/128', 'fe80::a9fe:1 veth-provider', 4400001))
        self.assertEqual(
            'ip prefix-list A.B_c-1 seq 5 permit 198.51.100.0/24 ge 32 le 32',
            lines.prefix_list_entry('A.B_c-1', '198.51.100.0/24', 32, 32, 5))
        self.assertEqual(
            'ipv6 prefix-list L permit 2001:db8::1/128 ge 128 le 128',
            lines.prefix_list_entry('L', '2001:db8::1/128', 128, 128))

    def test_networks(self):
        self.assertEqual(
            'ip route 10.0.0.0/24 169.254.0.1 tag 4500000',
            lines.static_route('10.0.0.0/24', '169.254.0.1', 4500000))
        for prefix, nexthop in (('10.0.0.0/24', '198.51.100.1 br-ex onlink'),
                                ('10.0.0.5/32', '198.51.100.1 br-ex onlink')):
            self.assertEqual(f'ip route {prefix} {nexthop}',
                             lines.static_route(prefix, nexthop))
        self.assertEqual(
            'ipv6 route 2001:db8:1::/64 2001:db8::1 br-ex onlink',
            lines.static_route('2001:db8:1::/64', '2001:db8::1 br-ex onlink'))
        self.assertEqual(
            'ip prefix-list L seq 7 permit 10.0.0.0/24',
            lines.prefix_list_entry('L', '10.0.0.0/24', 24, 24, 7))

    def test_bad(self):
        for prefix, nexthop in (
                ('198.51.100.7/24', 'br-ex'), ('198.51.100.1', 'br-ex'),
                ('0.0.0.0/0', 'br-ex'), ('::/0', 'br-ex'),
                ('198.51.100.1/32', ''),
                ('198.51.100.1/32', '10.0.0.1 onlink'),
                ('198.51.100.1/32', '2001:db8::2 br-ex onlink'),
                ('2001:db8::1/128', '10.0.0.1 br-ex onlink'),
                ('198.51.100.1/32', '10.0.0.1 br-ex  onlink'),
                ('198.51.100.1/32', 'br-ex onlink'),
                ('198.51.100.1/32', '10.0.0.1 blackhole onlink'),
                ('2001:db8::1/128', '192.0.2.1'),
                ('2001:db8::1/128', 'fe80::1'),
                ('2001:db8::1/128', 'fe80::1 '),
                ('2001:db8::1/128', 'fe80::1 br-ex tag 5'),
                ('2001:db8::1/128', 'fe80::1%x br-ex'),
                ('2001:db8::1/128', '2001:db8::2 br-ex'),
                ('198.51.100.1/32', 'fe80::1 br-ex'),
                ('198.51.100.1/32', 'blackhole'), ('198.51.100.1/32', '7'),
                ('198.51.100.1/32', 'br-ex\n'), ('198.51.100.1/32', 'a b'),
                ('198.51.100.1/32', '1.2.3.256'),
                ('198.51.100.1/32', 'x' * 16), ('198.51.100.1/32', None)):
            with self.subTest((prefix, nexthop)), self.assertRaises(
                    ValueError):
                lines.static_route(prefix, nexthop)
        for values in (('L', '198.51.100.0/24', 24, 32),
                       ('L', '198.51.100.0/24', 25, 25),
                       ('L', '198.51.100.0/24', 20, 32),
                       ('L', '198.51.100.0/24', 32, 33),
                       ('L', '2001:db8::/64', 32, 128),
                       ('L', '2001:db8::/64', 128, 129),
                       ('L', 'fe80::%a b/64', 128, 128),
                       ('L', '198.51.100.0/24', True, 32),
                       ('L', '198.51.100.0/24', 32, 32, 0),
                       ('L', '198.51.100.0/24', 32, 32, 1 << 32),
                       ('L L', '198.51.100.0/24', 32, 32),
                       ('', '198.51.100.0/24', 32, 32)):
            with self.subTest(values), self.assertRaises(ValueError):
                lines.prefix_list_entry(*values)


LIST = 'ANNOUNCED-NETWORKS'


def entry(network, number=None):
    """The agent's entry of a network, with its preferred number."""
    if number is None:
        number = ownership.prefix_list_numbers(network)[0]
    return output.Entry(number, 'permit', network,
                        *prefix_list_lines.hosts(network))


class RenewalTest(base.BaseTestCase):

    def renewed(self, *networks, others=()):
        """The lines for these networks of a list."""
        entries = [entry(network) for network in networks]
        return prefix_list_lines.renewal(
            LIST, {each.prefix: each.sequence for each in entries},
            {'BGP': [*entries, *others], 'ZEBRA': [*entries, *others]})

    def play(self, configuration, *networks):
        """The list after each line, as a set of permitted networks.

        FRR replaces an entry that has the number of a new entry.
        """
        present = {entry(each).sequence: each for each in networks}
        for line in configuration:
            words = line.split()
            network = words[words.index('permit') + 1]
            if words[0] == 'no':
                present = {number: each for number, each in present.items()
                           if each != network}
            else:
                number = int(words[words.index('seq') + 1])
                self.assertNotIn(number, present, line)
                present[number] = network
            yield present

    def test_each_address_is_permitted_after_each_line(self):
        networks = ('198.51.100.0/24', '203.0.113.8/30', '2001:db8::/64')
        _renewed, configuration = self.renewed(*networks)
        wanted = [ip_text.network(each) for each in networks]
        for present in self.play(configuration, *networks):
            permitted = [ip_text.network(each) for each in present.values()]
            for network in wanted:
                for half in network.subnets():
                    self.assertTrue(any(
                        half.version == each.version and half.subnet_of(each)
                        for each in permitted), (half, present))
        self.assertEqual(
            {(ownership.prefix_list_numbers(each)[1], each)
             for each in networks}, set(present.items()))

    def test_the_numbers_before_and_after_are_told(self):
        numbers = ownership.prefix_list_numbers('198.51.100.0/24')
        renewed, _configuration = self.renewed('198.51.100.0/24')
        self.assertEqual([('198.51.100.0/24', numbers[0], numbers[1])],
                         renewed)

    def test_a_network_without_halves_that_a_line_could_name(self):
        for network in ('198.51.100.10/31', '2001:db8::/127'):
            renewed, configuration = self.renewed(network)
            self.assertEqual([network], [each[0] for each in renewed])
            self.assertEqual(2, len(configuration))

    def test_an_entry_of_the_operator_for_a_half_is_not_touched(self):
        his = output.Entry(5, 'permit', '198.51.100.128/25', 0, 0)
        _renewed, configuration = self.renewed('198.51.100.0/24', others=[his])
        self.assertEqual(2, len(configuration))
        self.assertNotIn('/25', ' '.join(configuration))

    def test_a_copy_that_differs_is_left_alone(self):
        ours = entry('198.51.100.0/24')
        self.assertEqual(([], []), prefix_list_lines.renewal(
            LIST, {ours.prefix: ours.sequence}, {'BGP': [ours], 'ZEBRA': []}))

    def test_no_number_is_left(self):
        network = '198.51.100.0/24'
        others = [entry(f'192.0.2.{last}/32', number) for last, number
                  in enumerate(ownership.prefix_list_numbers(network)[1:])]
        self.assertEqual(([], []), self.renewed(network, others=others))
