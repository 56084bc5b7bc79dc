# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Elements of the sets: what the routers contribute."""

from ovn_network_agent.backends import base as backends
from ovn_network_agent.privileged import nft
from ovn_network_agent.tests.functional.nft import base

WIDE = base.element('10.0.0.0/8')
NARROW = base.element('10.1.0.0/16')
SAME_START = base.element('10.0.0.0/16')
LOW = base.element('198.51.100.0/25')
HIGH = base.element('198.51.100.128/25')
GUARDED = base.element('veth-default', 'guarded')
SNAT = base.element('203.0.113.7', 'snat_addresses')


class ElementsTest(base.NftTestCase):

    def setUp(self):
        super().setUp()
        self.table = base.table(base.TARGET)
        self.load(self.table)

    def becomes(self, create=(), delete=(), networks=()):
        """Change, and look at what rules see.

        :param networks: texts, what the set of networks holds then
        """
        before = self.read() | set(create)
        found = self.change(self.backend, create=create, delete=delete)
        self.assertEqual(before - set(delete), set(found))
        self.assertEqual(set(networks), self.contents(base.NETWORKS))

    def test_again(self):
        """What is there, or gone, is no failure."""
        self.becomes([LOW, SNAT], networks=['198.51.100.0/25'])
        self.becomes([LOW, SNAT], networks=['198.51.100.0/25'])
        self.becomes(delete=[LOW, SNAT])
        self.becomes(delete=[LOW, SNAT])

    def test_neighbours(self):
        self.becomes([LOW, HIGH],
                     networks=['198.51.100.0/25', '198.51.100.128/25'])
        self.becomes(delete=[LOW], networks=['198.51.100.128/25'])

    def test_the_wide_one_comes_and_goes_first(self):
        self.becomes([WIDE], networks=['10.0.0.0/8'])
        self.becomes([NARROW, SAME_START], networks=['10.0.0.0/8'])
        self.becomes(delete=[WIDE],
                     networks=['10.0.0.0/16', '10.1.0.0/16'])
        self.becomes(delete=[NARROW], networks=['10.0.0.0/16'])

    def test_the_narrow_one_comes_and_goes_first(self):
        self.becomes([NARROW, SAME_START],
                     networks=['10.0.0.0/16', '10.1.0.0/16'])
        self.becomes([WIDE], networks=['10.0.0.0/8'])
        self.becomes(delete=[NARROW], networks=['10.0.0.0/8'])
        self.becomes(delete=[WIDE], networks=['10.0.0.0/16'])

    def test_a_table_that_is_replaced_keeps_them(self):
        """Trap T63: nothing is known of the routers at a start."""
        self.becomes([WIDE, NARROW, GUARDED, SNAT], networks=['10.0.0.0/8'])
        after = base.table(base.TARGET, ('tcp', base.VIP, 80,
                                         base.BACKEND, 80))
        self.assertEqual(
            {after, WIDE, NARROW, GUARDED, SNAT, LOW},
            set(self.change(self.backend, update=[(self.table, after)],
                            create=[LOW])))
        self.assertEqual({'10.0.0.0/8', '198.51.100.0/25'},
                         self.contents(base.NETWORKS))

    def test_a_device_that_somebody_else_guards_goes(self):
        """With its element, or with the former table."""
        for after in (self.table, base.table(base.TARGET, (
                'tcp', base.VIP, 80, base.BACKEND, 80))):
            self.nft('add element ip ovn-network-agent guarded { eth0 }')
            other = base.element('eth0', 'guarded')
            self.assertIn(other, self.read())
            if after == self.table:
                self.change(self.backend, delete=[other])
            else:
                self.change(self.backend, update=[(self.table, after)])
            self.assertEqual(set(), self.contents('guarded'))

    def test_those_of_a_set_that_is_no_more_go_with_it(self):
        self.becomes([LOW, GUARDED], networks=['198.51.100.0/25'])
        # A node that has no VRF any more.
        self.fix_limits(self.configure(''))
        after = base.table(base.TARGET, vrf=False)
        self.assertEqual(
            {after, LOW}, set(self.change(
                self.backend, update=[(self.table, after)])))
        # They are still to be removed, which is done already.
        self.assertEqual({}, self.backend.apply(
            backends.Delta(delete=[GUARDED])))

    def test_a_bad_one_costs_only_itself(self):
        bad = [base.element('not a network'), base.element('2001:db8::/64'),
               base.element('0.0.0.0/0'), base.element('203.0.113.0'),
               base.element('198.51.100.7', 'unheard_of'),
               base.element('x" }; flush ruleset; {', 'guarded'),
               base.element('eth*', 'guarded'),
               base.element('eth0', 'guarded')]
        self.assertEqual(
            {r.ref for r in bad if r.element != '203.0.113.0'},
            set(self.backend.apply(backends.Delta(
                create=[LOW, *bad, GUARDED]))))
        self.assertEqual({'198.51.100.0/25', '203.0.113.0'},
                         self.contents(base.NETWORKS))
        self.assertEqual({'veth-default'}, self.contents('guarded'))

    def test_one_that_only_nft_refuses(self):
        # A table whose SNAT addresses are not what we take them for.
        after = base.table(base.TARGET)
        self.former(
            after, 'set snat_addresses {\n\t\ttype ipv4_addr',
            'set snat_addresses {\n\t\ttype ipv6_addr')
        self.assertEqual({SNAT.ref}, set(self.backend.apply(
            backends.Delta(create=[LOW, SNAT, GUARDED]))))
        self.assertEqual({after, LOW, GUARDED}, self.read())

    def test_one_that_nft_refuses_with_the_table(self):
        after = base.table(base.TARGET, ('tcp', base.VIP, 80, base.BACKEND,
                                         80))
        with self.picky(SNAT.element):
            self.assertEqual({SNAT.ref}, set(self.backend.apply(
                backends.Delta(update=[(self.table, after)],
                               create=[LOW, SNAT]))))
        self.assertEqual({after, LOW}, self.read())

    def test_the_table_is_gone(self):
        self.nft('delete table ip ovn-network-agent')
        self.assertEqual([LOW.ref], list(self.backend.apply(
            backends.Delta(create=[LOW]))))
        self.assertEqual({}, self.backend.apply(
            backends.Delta(delete=[LOW])))

    def test_only_of_these_sets(self):
        for name in ('targets', 'loaded', 'other', 'x { } ; flush ruleset'):
            with self.assertRaises(OSError) as caught:
                nft.change_elements('ip', {}, {name: ['198.51.100.0/25']})
            self.assertIn('refused', str(caught.exception))
