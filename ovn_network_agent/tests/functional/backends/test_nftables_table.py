# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The table: how it is loaded, recognised and replaced."""

import os
import subprocess
from unittest import mock

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.nft import values
from ovn_network_agent.privileged import nft
from ovn_network_agent.tests import programs
from ovn_network_agent.tests.functional.nft import base
from ovn_network_agent.tests.functional.nft import monitor

OTHER = ('tcp', '192.0.2.80', 80, '10.0.0.6', 8080)

# As the original program writes it.
ORIGINAL = '''\
table ip ovn-network-agent {
    chain prerouting_dnat {
        type nat hook prerouting priority dstnat; policy accept;
        ip daddr 192.0.2.53 udp dport 53 dnat to 10.0.0.5:53
    }
    chain forward_veth_guard {
        type filter hook forward priority filter; policy accept;
        oifname "veth-default" ip saddr 198.51.100.0/24 accept
        oifname "veth-default" drop
    }
}
'''


class TableTest(base.NftTestCase):

    def test_nothing_needs_nft_without_port_forwards(self):
        with mock.patch.dict(os.environ, PATH='/nowhere'):
            self.assertEqual([], self.backend.check())
            self.assertEqual(set(), self.read())

    def test_who_forwards_nothing_is_spared_the_processes(self):
        with programs.started() as found:
            self.assertEqual(set(), self.read())
        self.assertIn('nft', str(found))
        with programs.started() as found:
            for _repeat in range(3):
                self.assertEqual(set(), self.read())
        self.assertEqual([], found)

    def test_load(self):
        table = base.table(base.TARGET)
        self.load(table)
        self.assertIn('prerouting_dnat', self.chains())

    def test_it_is_known_after_a_restart(self):
        table = base.table(base.TARGET, OTHER)
        self.load(table, base.element('198.51.100.0/24'),
                  base.element('veth-default', 'guarded'),
                  base.element('198.51.100.7', 'snat_addresses'))
        again = type(self.backend)(self.conf)
        self.addCleanup(again.close)
        found = again.read(frozenset())
        self.assertEqual(
            {table, base.element('198.51.100.0/24'),
             base.element('veth-default', 'guarded'),
             base.element('198.51.100.7', 'snat_addresses')}, set(found))
        [read] = [r for r in found if isinstance(r, resources.NftTable)]
        self.assertEqual(table.targets, read.targets)

    def test_an_update_goes_through_both(self):
        """No packet finds neither: its chains are never unhooked.

        Elements of a set are gone at once even for a packet that is in the
        rule which looks into it, so rules are added before others go.
        """
        before = base.table(base.TARGET)
        self.former(before, more='\tchain extra {\n\t\tcounter\n\t}\n')
        self.change(self.backend,
                    create=[base.element('198.51.100.0/24')])
        chains = self.handles('chain')
        rules = set(self.handles('rule'))
        after = base.table(base.TARGET, OTHER)
        with monitor.watching() as told:
            self.change(self.backend, update=[(before, after)])
            extended, pruned, *rest = told.transactions()
        # All but the one of the extra chain, and what the table was from.
        self.assertEqual(len(rules) - 2, len(self.ours('add rule', extended)))
        for what in ('rule', 'chain', 'set', 'table'):
            self.assertEqual([], self.ours(f'delete {what}', extended))
        self.assertEqual(rules, {
            int(line.rpartition(' ')[2])
            for line in self.ours('delete rule', pruned)})
        self.assertEqual([f'delete chain ip {base.TABLE} extra'],
                         self.ours('delete chain', pruned))
        self.assertEqual([], self.ours('delete table', *rest))
        del chains['extra']
        self.assertEqual(chains, self.handles('chain'))
        self.assertEqual({after, base.element('198.51.100.0/24')},
                         self.read(after))

    def test_a_chain_that_becomes_another_one(self):
        """The kernel refuses to alter its hook: all is loaded in one step."""
        before = base.table(base.TARGET)
        self.former(before, 'type route hook output priority filter; '
                    'policy accept;', 'counter')
        self.change(self.backend,
                    create=[base.element('198.51.100.0/24')])
        after = base.table(base.TARGET, OTHER)
        with monitor.watching() as told:
            self.change(self.backend, update=[(before, after)])
            replaced, *rest = told.transactions()
        self.assertEqual(1, len(self.ours('delete table', replaced)))
        self.assertEqual(1, len(self.ours('add table', replaced)))
        self.assertEqual([], self.ours('delete table', *rest))
        self.assertEqual({after, base.element('198.51.100.0/24')},
                         self.read(after))

    def ours(self, what, *transactions):
        """Lines of transactions that do something to our table."""
        return [line for lines in transactions for line in lines
                if line.startswith(f'{what} ip {base.TABLE}')]

    def handles(self, kind):
        """Handle by name of the chains, or by itself of the rules."""
        return {value.get('name', value['handle']): value['handle']
                for of, value in self.listed('table', 'ip', base.TABLE)
                if of == kind}

    def test_a_changed_target_is_noticed(self):
        table = base.table(base.TARGET)
        self.load(table)
        self.nft('flush set ip ovn-network-agent targets')
        self.altered(table)

    def test_a_network_that_somebody_else_added_is_noticed(self):
        table = base.table(base.TARGET)
        self.load(table, base.element('198.51.100.0/24'))
        self.nft('add element ip ovn-network-agent provider_networks '
                 '{ 203.0.113.0/24 }')
        self.altered(table)
        self.assertEqual({'198.51.100.0/24'},
                         self.contents('provider_networks'))

    def test_no_comment_is_altered(self):
        table = base.table(base.TARGET)
        self.load(table)
        self.nft('flush chain ip ovn-network-agent loaded')
        self.altered(table)

    def altered(self, table):
        """It reads as altered, and an update makes it as it was."""
        found = resources.NftTable('ip', 'altered')
        self.assertIn(found, self.read(table))
        self.assertIn(table, self.change(
            self.backend, update=[(found, table)]))

    def test_traffic_does_not_alter_it(self):
        table = base.table(base.TARGET)
        self.former(table, more='\tchain extra {\n\t\ttype filter hook '
                    'prerouting priority filter; policy accept;\n'
                    '\t\tcounter\n\t}\n')
        subprocess.run(['ping', '-c', '1', '-W', '5', '127.0.0.1'],
                       check=True, stdout=subprocess.DEVNULL)
        [counted] = [value['expr'][0]['counter']['packets'] for kind, value
                     in self.listed('chain', 'ip', base.TABLE, 'extra')
                     if kind == 'rule']
        self.assertGreater(counted, 0)
        self.assertEqual({table}, self.read(table))

    def test_the_table_of_the_original_is_replaced(self):
        self.nft(ORIGINAL)
        found = resources.NftTable('ip', 'altered')
        self.assertEqual({found}, self.read())
        table = base.table(base.TARGET)
        self.assertEqual({table}, set(self.change(
            self.backend, update=[(found, table)])))
        self.assertIn('loaded', self.chains())

    def test_delete(self):
        table = base.table(base.TARGET)
        self.load(table, base.element('198.51.100.0/24'))
        self.assertEqual([], self.change(
            self.backend, delete=[table, base.element('198.51.100.0/24')]))
        self.assertEqual([], [v for k, v in self.listed('tables')
                              if k == 'table'])
        # What is gone is gone.
        self.assertEqual([], self.change(self.backend, delete=[table]))

    def test_both_families(self):
        six = base.table(('tcp', '2001:db8::53', 53, '2001:db8:1::5', 5353),
                         family='ip6')
        network = resources.NftElement('ip6', 'provider_networks',
                                       '2001:db8:2::/64')
        four = base.table(base.TARGET)
        self.load(four, six, network)
        [read] = [r for r in self.read() if r == six]
        self.assertEqual(six.targets, read.targets)
        self.assertEqual({six, network}, set(
            self.change(self.backend, delete=[four])))

    def test_tables_of_others_stay(self):
        self.nft('add table ip other\nadd table inet ovn-network-agent')
        table = base.table(base.TARGET)
        self.load(table)
        self.assertEqual([], self.change(self.backend, delete=[table]))
        self.assertEqual(
            {('ip', 'other'), ('inet', 'ovn-network-agent')},
            {(v['family'], v['name']) for k, v in self.listed('tables')
             if k == 'table'})


class FailureTest(base.NftTestCase):
    """Acceptance row PF-28: the former table stays."""

    def test_a_text_that_nft_refuses(self):
        before = base.table(base.TARGET)
        self.load(before, base.element('198.51.100.0/24'))
        after = base.table(base.TARGET, OTHER)
        with self.picky('192.0.2.80'):
            failures = self.backend.apply(backends.Delta(
                update=[(before, after)],
                create=[base.element('203.0.113.0/24')]))
        self.assertEqual({after.ref, base.element('203.0.113.0/24').ref},
                         set(failures))
        self.assertIn('syntax error', failures[after.ref])
        self.assertEqual({before, base.element('198.51.100.0/24')},
                         self.read(after))

    def test_nft_does_not_work(self):
        before = base.table(base.TARGET)
        self.load(before)
        after = base.table(OTHER)
        with mock.patch.dict(os.environ, PATH='/nowhere'):
            self.assertRaises(
                backends.BackendError, self.backend.apply,
                backends.Delta(update=[(before, after)]))
            self.assertRaises(backends.BackendError, self.read, after)
        self.assertEqual({before}, self.read(after))
        self.assertEqual({after}, set(self.change(
            self.backend, update=[(before, after)])))

    def test_nothing_but_a_table_of_ours(self):
        good = values.pack(base.table(base.TARGET).content)
        family, zone, vrf, ((vip, *flags, services),), vnis = good
        for bad in (
                '}\ntable ip x {\n', '', 'flush ruleset', None, 1, [], (),
                list(good), (family, zone, vrf), ('inet', *good[1:]),
                ('ip6', *good[1:]), (family, '64000', *good[2:]),
                (family, zone, 1, *good[3:]),
                (family, zone, vrf, (), vnis), (*good[:4], 1),
                *((family, zone, vrf, ((text, *flags, services),), vnis)
                  for text in ('x', f'{vip} }}\nflush ruleset\n',
                               '2001:db8::1%x }\nflush ruleset\n'))):
            with self.assertRaises(OSError) as caught:
                nft.replace_table(bad, {}, [])
            self.assertIn('refused', str(caught.exception))
        self.assertEqual([], [v for k, v in self.listed('tables')
                              if k == 'table'])
