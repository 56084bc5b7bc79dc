# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The prefix list that lets our networks out."""

from unittest import mock

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.privileged.routing import vty
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.tests.functional.backends import prefix_lists as lists
from ovn_network_agent.tests.functional.frr import base

entry = lists.entry
written = lists.written


class TestPrefixList(lists.PrefixListTestCase):

    def test_created_and_removed(self):
        self.assertEqual(set(), self.read())
        two = {entry(), entry('203.0.113.0/25')}
        self.assertEqual({}, self.create(*sorted(two, key=str)))
        self.assertEqual(two, self.read())
        self.assertEqual(
            sorted(map(written, ('198.51.100.0/24', '203.0.113.0/25'))),
            sorted(self.shown()))
        self.assertEqual({}, self.delete(*two))
        self.assertEqual(set(), self.read())
        self.assertEqual([], self.shown())

    def test_twice_is_once(self):
        # Trap T34: the documents of zebra and bgpd follow each other.
        for _attempt in range(2):
            self.assertEqual({}, self.create(entry()))
            self.assertEqual(1, len(self.shown()))
        for _attempt in range(2):
            self.assertEqual({}, self.delete(entry()))
            self.assertEqual([], self.shown())

    def test_the_operators_entries_survive(self):
        self.foreign()
        before = self.shown()
        self.assertEqual(set(), self.read())
        self.assertEqual({}, self.create(entry()))
        # Behind his, so that his "deny" decides.
        self.assertEqual([*before, written()], self.shown())
        self.assertEqual({}, self.delete(entry()))
        self.assertEqual(before, self.shown())

    def test_ipv6(self):
        """Rows of the list of the same name, numbered by themselves."""
        self.frr.configure(
            f'ipv6 prefix-list {base.LIST} seq 5 permit 2001:db8::/32 le 64',
            f'ipv6 prefix-list {base.LIST} seq 7 permit any')
        six = resources.PrefixListEntry(base.LIST, '2001:db8::53/128', 128,
                                        128)
        both = {entry('192.0.2.53/32'), six}
        self.assertEqual({}, self.create(*both))
        self.assertEqual(both, self.read())
        self.assertEqual([written('192.0.2.53/32')], self.shown())
        self.assertEqual(
            ['seq 5 permit 2001:db8::/32 le 64', 'seq 7 permit any',
             written('2001:db8::53/128')],
            self.shown('ipv6'))
        self.assertEqual({}, self.delete(*both))
        self.assertEqual(2, len(self.shown('ipv6')))
        self.assertEqual(set(), self.read())

    def test_add_before_remove(self):
        """Row FIP-19: in one transaction, and in this order."""
        self.create(entry())
        self.frr.log_commands()
        self.addCleanup(self.frr.forget_commands)
        other = entry('203.0.113.0/24')
        self.assertEqual({}, self.backend.apply(
            backends.Delta(create=(other,), delete=(entry(),))))
        self.assertEqual([written(other.network)], self.shown())
        self.assertEqual(
            [f'ip prefix-list {base.LIST} {written(other.network)}',
             f'no ip prefix-list {base.LIST} permit '
             f'{entry().network} ge 32 le 32'],
            [line.partition('# ')[2] for line in self.frr.commands()
             if ' BGP: ' in line and 'prefix-list' in line and
             'show' not in line])

    def test_bgpd_has_lost_it(self):
        # Trap T35.
        self.foreign()
        self.create(entry())
        before = self.shown()
        self.frr.restart_bgpd()
        found, = self.read()
        self.assertEqual((entry().ref, ('BGP',)),
                         (found.ref, found.missing_in))
        self.assertNotEqual(entry(), found)
        self.assertEqual({}, self.backend.apply(
            backends.Delta(update=((found, entry()),))))
        self.assertEqual({entry()}, self.read())
        # With the number it had.
        self.assertEqual(before, self.shown())

    def test_zebra_has_no_list(self):
        """Trap T35: vtysh asks bgpd no more once zebra has said no."""
        self.assert_restored()

    def test_zebra_has_no_list_behind_a_wrapper(self):
        self.root_side(vtysh_wrapper='env')
        self.assert_restored()

    def assert_restored(self):
        six = resources.PrefixListEntry(base.LIST, '2001:db8::53/128', 128,
                                        128)
        for family, network in (('ip', entry().network),
                                ('ipv6', six.network)):
            self.frr.configure_one('bgpd', f'{family} prefix-list '
                                   f'{base.LIST} {written(network)}')
        lost = {found.ref: found for found in self.read()}
        self.assertEqual({each.ref: ('ZEBRA',) for each in (entry(), six)},
                         {ref: found.missing_in
                          for ref, found in lost.items()})
        self.assertEqual({}, self.backend.apply(backends.Delta(update=tuple(
            (lost[each.ref], each) for each in (entry(), six)))))
        self.assertEqual({entry(), six}, self.read())
        for daemon in 'zebra', 'bgpd':
            self.assertIn(entry().network, self.frr.ask(
                daemon, f'show ip prefix-list {base.LIST}'))

    def test_left_in_bgpd_only(self):
        self.frr.configure_one(
            'bgpd', f'ip prefix-list {base.LIST} {written()}')
        self.assertEqual({}, self.delete(*self.read()))
        self.assertEqual([], self.shown())

    def test_bad_items_cost_only_themselves(self):
        bad = [resources.PrefixListEntry('OTHER', '198.51.100.0/24'),
               resources.PrefixListEntry(base.LIST, '198.51.100.0/24', 24),
               entry('198.51.100.1/24'), entry('any'),
               entry('0.0.0.0/0 le 32\nip prefix-list X permit any'),
               entry('2001:db8::53/128')]
        failed = self.create(*bad, entry())
        self.assertEqual({e.ref for e in bad}, set(failed))
        self.assertEqual({entry()}, self.read())

    def test_a_number_that_the_operator_uses_is_left_to_him(self):
        numbers = ownership.prefix_list_numbers(entry().network)
        for taken, number in enumerate(numbers):
            self.line(f'seq {number} deny 192.0.2.{taken}/32')
            before = self.shown()
            failed = self.create(entry())
            if number == numbers[-1]:
                self.assertIn('are in use', failed[entry().ref])
            else:
                self.assertEqual({}, failed)
                self.assertEqual({*before, written(attempt=taken + 1)},
                                 set(self.shown()))
            self.delete(entry())
            self.assertEqual(before, self.shown())

    def test_thousands(self):
        """Each transaction has few of them, and the whole time limit.

        FRR 8.4 takes 4 s for these entries in one transaction.
        """
        sizes = []

        def counted(real):
            def change(some, *args, **kwargs):
                sizes.append(len(some))
                return real(some, *args, **kwargs)
            return change
        for module, name in (vty, 'configure_each'), (vtysh, 'configure'):
            self.enterContext(mock.patch.object(
                module, name, counted(getattr(module, name))))
        many = [resources.PrefixListEntry(
            base.LIST, f'10.{n // 256}.{n % 256}.0/24', 24, 24)
            for n in range(600)]
        self.assertEqual({}, self.create(*many))
        self.assertEqual(set(many), self.read())
        self.assertEqual({}, self.delete(*many))
        self.assertEqual([], self.shown())
        self.assertLessEqual(max(sizes), len(many) / 3)
        self.assertEqual(2 * len(many), sum(sizes))

    def test_what_frr_does_not_take_is_no_success(self):
        # vtysh is content, and no daemon has it.
        self.assertEqual({}, self.create(entry()))
        self.root_side(vtysh_wrapper='env')
        self.frr.write_vtysh(
            '#!/bin/sh\ncase " $* " in *" -f "*) exit 0; esac\n'
            f'exec {self.frr.real_vtysh} "$@"\n')
        self.addCleanup(self.frr.restore_vtysh)
        other = entry('203.0.113.0/25')
        failures = self.backend.apply(backends.Delta(
            create=(other,), delete=(entry(),)))
        self.assertEqual({other.ref, entry().ref}, set(failures))
        self.assertIn('FRR rejected it', failures[other.ref])
        self.assertEqual({entry()}, self.read())

    def test_not_managed(self):
        self.conf.set_override('frr_prefix_list', '', 'frr')
        self.create(entry())
        self.assertEqual(set(), self.read())

    def test_bgpd_is_gone(self):
        self.frr.kill('bgpd')
        try:
            for operation in (self.read, lambda: self.create(entry())):
                with self.assertRaisesRegex(backends.BackendError,
                                            'bgpd of FRR not running'):
                    operation()
        finally:
            self.frr.start('bgpd', config=base.BGP)
        self.assertEqual([], self.shown())

    def test_hanging_bgpd(self):
        with self.wedged('bgpd'):
            with self.assertRaisesRegex(backends.BackendError,
                                        'did not answer within 1 s'):
                self.read()
        self.assertEqual({}, self.create(entry()))
