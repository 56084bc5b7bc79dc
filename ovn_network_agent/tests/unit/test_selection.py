# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import types

from oslotest import base

from ovn_network_agent.common import ip_text
from ovn_network_agent.model import selection

YES = selection.Word(True, 'a row wants it')
NO = selection.Word(False, 'a row does not want it')
FIP = '198.51.100.10'
OTHER = '4fce1b7a-8c1f-4e0e-9a53-25d3ac0f2a11'


def subject(**values):
    return selection.Subject(**{
        'address': FIP, 'router_names': frozenset({'r1'}),
        'network_names': frozenset({'public'}), **values})


def selected(**options):
    """A selection by options; those that are not named are empty."""
    return selection.read(types.SimpleNamespace(advertised_routes=False, **{
        f'{what}_tags': options.get(f'{what}_tags', [])
        for what in ('router', 'network')}, **{
        f'{verb}_{what}': options.get(f'{verb}_{what}', [])
        for verb in ('include', 'exclude')
        for what in ('cidrs', 'routers', 'networks')}))


class RowsTest(base.BaseTestCase):

    def reason(self, options=None, **words):
        return selected(**options or {}).objection(subject(**words))

    def test_the_first_rank_with_a_word_decides(self):
        """Where rows of a rank contradict each other, nothing is withheld."""
        ranks = ('own', 'router', 'network', 'native')
        for number, rank in enumerate(ranks):
            for words, reason in (((YES,), ''), ((NO,), NO.where),
                                  ((NO, YES), '')):
                for later in ({}, *({each: other} for each in
                                    ranks[number + 1:] for other in (
                                        (YES,), (NO,)))):
                    self.assertEqual(reason, self.reason(
                        **{rank: words, **later}), (rank, words, later))

    def test_rows_come_before_options(self):
        for option, value in (('cidrs', '198.51.100.0/24'),
                              ('routers', 'r1'), ('networks', 'public')):
            options = {'exclude_' + option: [value]}
            for rank in ('own', 'router', 'network'):
                self.assertEqual('', self.reason(options, **{rank: (YES,)}))
            self.assertNotEqual('', self.reason(options))

    def test_the_default_of_ovn_is_no_exception_of_an_option(self):
        options = {'exclude_routers': ['r1']}
        for words in ((YES,), (YES, NO)):
            self.assertIn('exclude_routers',
                          self.reason(options, native=words))


class OptionsTest(base.BaseTestCase):

    def test_options(self):
        """An exclusion wins, and an address has to pass all of them.

        As long as SB does not say which network that is, an unknown network
        withholds nothing.
        """
        for wanted, options in (
                ('exclude_cidrs has 198.51.100.8/29',
                 {'exclude_cidrs': ['192.0.2.0/24', '198.51.100.8/29']}),
                ('exclude_routers has r1', {'exclude_routers': ['r0', 'r1']}),
                ('exclude_networks has public',
                 {'exclude_networks': ['public']}),
                ('', {'exclude_cidrs': ['198.51.100.0/29'],
                      'exclude_routers': ['r2'],
                      'exclude_networks': ['private']}),
                ('include_cidrs has it', {'include_cidrs': ['192.0.2.0/24']}),
                ('include_routers does not have its router',
                 {'include_routers': ['r2']}),
                ('include_networks does not have its network',
                 {'include_networks': ['private']}),
                ('', {'include_cidrs': ['192.0.2.0/24', '198.51.100.0/24'],
                      'include_routers': ['r1', 'r2'],
                      'include_networks': ['public']}),
                ('include_routers does not have its router',
                 {'include_cidrs': ['198.51.100.0/24'],
                  'include_routers': ['r2']}),
                ('exclude_cidrs has 198.51.100.10/32',
                 {'include_cidrs': ['198.51.100.0/24'],
                  'exclude_cidrs': ['198.51.100.10/32']}),
                ('exclude_routers has r1',
                 {'include_cidrs': ['198.51.100.0/24'],
                  'exclude_routers': ['r1']})):
            said = selected(**options).objection(subject())
            self.assertEqual(bool(wanted), '[announce] ' in said)
            self.assertTrue(said.endswith(wanted), said)
        self.assertEqual('', selected(
            include_networks=['private'], exclude_networks=['public']
            ).objection(subject(network_names=frozenset())))

    def test_a_selection_is_a_value(self):
        one, two = (selected(exclude_cidrs=['198.51.100.0/24'],
                             include_routers=['a', 'b']) for _time in 'xx')
        self.assertEqual(one, two)
        self.assertEqual(hash(one), hash(two))
        self.assertEqual((ip_text.network('198.51.100.0/24'),),
                         one.exclude_cidrs)
        self.assertNotEqual(one, selected())


class TagTest(base.BaseTestCase):

    def tag(self, options=None, router=(), network=(),
            router_names=('r1', 'uuid'), network_names=('public',)):
        return selected(**options or {}).tag(
            router, network, frozenset(router_names),
            frozenset(network_names)).number

    def test_the_nearest_wins(self):
        options = {'router_tags': ['r1:4400001'],
                   'network_tags': ['public:4400002']}
        row, other = (selection.Tag(n, 'row') for n in (4400003, 4400004))
        self.assertEqual(4400001, self.tag(options))
        self.assertEqual(4400002, self.tag(options, router_names=['r2']))
        self.assertEqual(4400003, self.tag(options, network=(row,)))
        self.assertEqual(4400004, self.tag(options, (other,), (row,)))

    def test_a_row_may_take_the_tag_away(self):
        self.assertEqual(0, self.tag({'router_tags': ['r1:4400001']},
                                     (selection.Tag(0, 'row'),)))

    def test_names_with_colons_and_unknown_ones(self):
        options = {'router_tags': ['a:b:4400001', 'uuid:4400002'],
                   'network_tags': ['other:4400003']}
        self.assertEqual(4400001, self.tag(options, router_names=['a:b']))
        self.assertEqual(4400002, self.tag(options))
        self.assertEqual(0, self.tag(options, router_names=(),
                                     network_names=()))


class NamesTest(base.BaseTestCase):

    def test_all_names_an_operator_may_use(self):
        self.assertEqual(
            {'row', 'neutron-uuid', 'uuid', 'label'},
            selection.names('neutron-', 'row', 'neutron-uuid', 'label'))

    def test_the_uuid_of_another_router_is_no_name(self):
        """Whoever names a router chooses any text."""
        for label in (OTHER, OTHER.upper(), f'neutron-{OTHER}'):
            self.assertEqual({'row', 'neutron-uuid', 'uuid'}, selection.names(
                'neutron-', 'row', 'neutron-uuid', label))

    def test_there_is_no_empty_name(self):
        """An empty one would be equal to that of another router."""
        self.assertEqual({'row', 'neutron-'},
                         selection.names('neutron-', 'row', '', 'neutron-'))
