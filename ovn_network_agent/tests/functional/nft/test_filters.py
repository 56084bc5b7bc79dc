# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What a real nft lists of the filters of other programs."""

import ipaddress
import os
import shutil
import subprocess
import unittest

from ovn_network_agent import ownership
from ovn_network_agent.nft import filters
from ovn_network_agent.nft import listing
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs

HOOK = 'type filter hook forward priority -10; policy accept;'
SETS = """
set quarantine { type ipv4_addr; flags interval; elements = {
    198.51.100.13, 192.0.2.0/28, 203.0.113.5-203.0.113.9 }; }
map verdicts { type ipv4_addr : verdict; elements = {
    198.51.100.77 : drop, 198.51.100.78 : accept }; }
"""
# A rule, addresses that it drops, and whether it drops all their packets.
RULES = (
    ('ip daddr @quarantine counter drop',
     ('198.51.100.13', '192.0.2.7', '203.0.113.9'), True),
    ('ip saddr { 198.51.100.20, 198.51.100.32/28 } tcp dport 80 reject',
     ('198.51.100.20', '198.51.100.40'), False),
    ('ip daddr vmap @verdicts', ('198.51.100.77',), True),
    ('ip saddr vmap { 198.51.100.90 : drop, 198.51.100.91 : accept }',
     ('198.51.100.90',), True),
    ('ip daddr 198.51.100.44 log prefix "x" drop', ('198.51.100.44',), True),
    ('ip daddr 198.51.100.45 limit rate 5/second drop', ('198.51.100.45',),
     False),
    ('ip6 daddr { 2001:db8::1, 2001:db8:1::/48 } drop',
     ('2001:db8::1', '2001:db8:1::7'), True),
    ('ip saddr 192.0.2.1 ip daddr 198.51.100.46 drop', ('198.51.100.46',),
     False))
# Rules that drop nothing by an address.
OTHERS = ('ip daddr 198.51.100.50 accept', 'iifname "eth9" drop',
          'ct state invalid drop', 'ip daddr != 198.51.100.0/24 drop',
          'ip daddr 198.51.100.50 counter')
NOBODY = ('198.51.100.78', '198.51.100.91', '198.51.100.50', '192.0.2.99',
          '2001:db8::2')


@needs.needs(os.geteuid() == 0 and shutil.which('nft'), 'needs root and nft')
class FiltersTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.new())

    def listed(self, text):
        """The filters of a ruleset."""
        subprocess.run(['nft', 'flush', 'ruleset'], check=True)
        subprocess.run(['nft', '-f', '-'], check=True, input=text, text=True)
        return filters.parse(subprocess.run(
            ['nft', '-j', '-n', 'list', 'ruleset'], check=True,
            capture_output=True, text=True).stdout)

    def chain(self, *rules, hook=HOOK, more=''):
        return self.listed(
            f'table inet guard {{\n{SETS}\n{more}\nchain transit {{ {hook}\n'
            + '\n'.join(rules) + '\n}\n}\n')

    def test_each_kind_of_rule(self):
        for rule, addresses, certain in RULES:
            with self.subTest(rule):
                one, = self.chain(rule).filters
                self.assertEqual('inet guard transit', one.chain)
                self.assertEqual(certain, one.certain)
                for address in addresses:
                    self.assertTrue(covers(one, address), address)
                for address in NOBODY:
                    self.assertFalse(covers(one, address), address)

    def test_rules_that_drop_nothing_by_an_address(self):
        self.assertEqual((), self.chain(*OTHERS).filters)

    def test_an_address_may_be_accepted_before(self):
        one, = self.chain('ip saddr 192.0.2.1 accept',
                          'ip daddr 198.51.100.44 drop').filters
        self.assertFalse(one.certain)

    def test_only_chains_that_forwarded_packets_reach(self):
        rule = 'ip daddr 198.51.100.44 drop'
        own = f'chain own {{\n{rule}\n}}\n'
        self.assertEqual((), self.chain('accept', more=own).filters)
        self.assertEqual((), self.chain(
            rule, hook=HOOK.replace('forward', 'output')).filters)
        one, = self.chain('meta l4proto tcp jump own', more=own).filters
        self.assertEqual('inet guard own', one.chain)
        self.assertFalse(one.certain)
        one, = self.chain('tcp dport vmap { 80 : jump own }',
                          more=own).filters
        self.assertEqual('inet guard own', one.chain)

    def test_a_chain_that_is_closed(self):
        found = self.chain('ct state established accept',
                           hook=HOOK.replace('accept', 'drop'))
        self.assertEqual(('inet guard transit',), found.closed)
        self.assertEqual((), found.filters)

    def test_our_own_table_is_left_out(self):
        self.assertEqual(filters.Found(), self.listed(
            f'table ip {ownership.NFT_TABLE} {{\nchain c {{ {HOOK}\n'
            'ip daddr 198.51.100.44 drop\n}\n}\n'))

    @needs.needs(shutil.which('iptables-nft'), 'needs iptables-nft')
    def test_iptables(self):
        for words in ('-s 198.51.100.7 -m comment --comment hi -j DROP',
                      '-d 198.51.100.8 -p tcp --dport 80 -j REJECT'):
            subprocess.run(['iptables-nft', '-A', 'FORWARD', *words.split()],
                           check=True)
        every, some = filters.parse(subprocess.run(
            ['nft', '-j', '-n', 'list', 'ruleset'], check=True,
            capture_output=True, text=True).stdout).filters
        self.assertTrue(covers(every, '198.51.100.7') and every.certain)
        self.assertTrue(covers(some, '198.51.100.8') and not some.certain)

    def test_what_is_no_listing(self):
        for text in ('', '{}', '[]', '{"nftables": [{"rule": 7}]}',
                     '{"nftables": [{"rule": {"table": "guard"}}]}',
                     '{"nftables": ' + '[' * 100000):
            self.assertRaises(listing.Unreadable, filters.parse, text)


def covers(one, address):
    return one.covers(ipaddress.ip_address(address))
