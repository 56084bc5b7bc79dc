# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Entries of an operator and of the Go program in the prefix list."""

import subprocess

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.privileged.routing import prefix_lists
from ovn_network_agent.tests.functional.backends import prefix_lists as lists
from ovn_network_agent.tests.functional.frr import base

FOREIGN = lists.FOREIGN
entry = lists.entry
written = lists.written


class TestOwnership(lists.PrefixListTestCase):
    """Entries of our shape that we have not written, row FIP-20."""

    OURS = entry('203.0.113.0/24')
    HIS = entry('192.0.2.0/24')

    def test_the_operators_stays_while_ours_come_and_go(self):
        self.foreign()
        before = self.shown()
        for known in ((), (self.OURS,)):
            self.assertEqual(set(), self.read(*known))
        self.create(self.OURS)
        self.assertEqual({self.OURS}, self.read(self.OURS))
        self.assertEqual({}, self.delete(self.OURS))
        self.assertEqual(before, self.shown())

    def test_numbered_by_frr_is_the_operators(self):
        """FRR counts on from the highest number, which is one of ours."""
        self.create(self.OURS)
        self.line('permit 192.0.2.0/24 ge 32 le 32',
                  'permit 192.0.2.128/25 ge 32 le 32')
        ours = ownership.prefix_list_numbers(self.OURS.network)[0]
        self.assertEqual(
            [written(self.OURS.network),
             f'seq {ours + 5} permit 192.0.2.0/24 ge 32 le 32',
             f'seq {ours + 10} permit 192.0.2.128/25 ge 32 le 32'],
            self.shown())
        self.assertEqual({self.OURS}, self.read())
        self.assertEqual({}, self.delete(*self.read()))
        self.assertEqual(2, len(self.shown()))

    def test_of_a_network_that_is_announced_here(self):
        """It lets our addresses out, and stays when they go."""
        for number in (5, 7, 10, 1234):
            self.line(f'seq {number} permit 203.0.113.0/24 ge 32 le 32')
            before = self.shown()
            # There is no room for one of ours, and no need.
            self.assertEqual({self.OURS}, self.read(self.OURS))
            self.assertEqual({}, self.create(self.OURS))
            self.assertEqual({}, self.delete(self.OURS))
            self.assertEqual(before, self.shown())
            self.clear()

    def test_of_a_node_where_the_go_program_ran(self):
        """What it cannot have numbered is the operator's there, too."""
        self.enter_namespace()
        self.former_leak(self.OURS.network)
        self.line('seq 7 permit 203.0.113.0/24 ge 32 le 32')
        before = self.shown()
        self.assertEqual({self.OURS}, self.read(self.OURS))
        self.assertEqual({}, self.delete(self.OURS))
        self.assertEqual(before, self.shown())

    def test_nobody_removes_the_operators(self):
        """The wall itself."""
        self.foreign()
        self.create(self.OURS)
        before = self.shown()
        refused, _said = prefix_lists.change(base.LIST, [], [
            ['192.0.2.0/24', 32, 32], ['192.0.2.128/25', 32, 32]])
        self.assertEqual([0, 1], [item[1] for item in refused])
        self.assertIn('no entry 192.0.2.0/24 of ours', refused[0][2])
        self.assertEqual(before, self.shown())

    def test_a_later_line_is_another_one(self):
        """Proof is of what is there; a network may come again."""
        self.enter_namespace()
        self.former_leak(self.OURS.network)
        text = 'seq 20 permit 203.0.113.0/24 ge 32 le 32'
        self.line(text)
        self.read(self.OURS)
        self.assertEqual({}, self.delete(self.OURS))
        self.frr_ip('rule del pref 2000')
        self.line(text)
        self.assertEqual({}, self.delete(self.OURS))
        self.assertEqual([text], self.shown())

    def frr_ip(self, command):
        """Change the kernel of FRR's namespace."""
        subprocess.run(['ip', *command.split()], check=True)

    def test_upgrade(self):
        """From the Go program, with a number that it gives."""
        self.enter_namespace()
        self.former_leak(self.OURS.network)
        self.foreign()
        before = self.shown()
        self.line('seq 20 permit 203.0.113.0/24 ge 32 le 32')
        left = self.shown()
        # Not wanted here.
        self.assertEqual(set(), self.read())
        self.assertEqual({self.OURS}, self.read(self.OURS))
        # What proves it may be gone before the line.
        self.frr_ip('rule del pref 2000')
        self.assertEqual({}, self.create(self.OURS))
        # With its number: there is no moment without it.
        self.assertEqual(left, self.shown())
        self.assertEqual({}, self.delete(self.OURS))
        self.assertEqual(before, self.shown())

    def test_of_ipv6(self):
        """The Go program writes none, so all of them are the operator's."""
        six = resources.PrefixListEntry(base.LIST, '2001:db8::53/128', 128,
                                        128)
        self.frr.configure(*(
            f'ipv6 prefix-list {base.LIST} seq {number} permit '
            f'2001:db8::{number}/128 ge 128 le 128' for number in (50, 53)))
        before = self.shown('ipv6')
        self.assertEqual(set(), self.read())
        self.assertEqual({six}, self.read(six))
        self.assertEqual({}, self.create(six))
        self.assertEqual({}, self.delete(six))
        self.assertEqual(before, self.shown('ipv6'))

    def test_bgpd_has_lost_one_with_another_number(self):
        self.line('seq 20 permit 203.0.113.0/24 ge 32 le 32')
        before = self.shown()
        self.frr.restart_bgpd()
        found, = self.read(self.OURS)
        self.assertEqual(('BGP',), found.missing_in)
        self.assertEqual({}, self.backend.apply(
            backends.Delta(update=((found, self.OURS),))))
        self.assertEqual({self.OURS}, self.read(self.OURS))
        self.assertEqual(before, self.shown())

    def test_nobody_writes_over_another_entry(self):
        """The wall itself: FRR would replace what has the number."""
        self.foreign()
        before = self.shown()
        for number in (7, 15, 17):
            (refused,), _said = prefix_lists.change(
                base.LIST, [['203.0.113.0/24', 32, 32, number]], [])
            self.assertIn(f'sequence number {number} is neither', refused[2])
        self.assertEqual(before, self.shown())
