# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import uuid

from oslotest import base

from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.tests.unit.ovn import atoms

KEY = uuid.UUID('11111111-2222-4333-8444-555555555555')
ANNOUNCE, TAG = 'ovn-network-agent:announce', 'ovn-network-agent:tag'


def row(**columns):
    """A row with columns that are maps."""
    return atoms.made(KEY, **columns)


def marked(value):
    return row(external_ids={'ovn-network-agent': 'managed', 'a': 'b',
                             ANNOUNCE: value})


def statement(*args):
    """The only statement of a row, or an empty one."""
    return next(iter(policies.read(*args)), policies.Policy())


class OwnTest(base.BaseTestCase):

    def test_its_word(self):
        """In doubt an address is announced."""
        for texts, announces, parts in (
                (('false', 'False', ' FALSE '), False, ()),
                (('true', 'TRUE ', 'True'), True, ()),
                (('', 'no', '0', 'flase', 'false true', 'f\u0430lse'), True,
                 (f'NAT row {KEY}', 'counts as true',
                  'set it to one of them'))):
            for text in texts:
                found = statement('NAT row', marked(text))
                word, = found.own
                self.assertIs(announces, word.announce, text)
                self.assertEqual(bool(parts), bool(found.problems), text)
                for part in (repr(text), *parts) if parts else ():
                    self.assertIn(part, *found.problems)
        word, = statement('NAT row', marked('false')).own
        self.assertEqual(f'NAT row {KEY} has {ANNOUNCE}=false in its '
                         'external_ids', word.where)

    def test_a_row_without_the_key_says_nothing(self):
        for other in (row(external_ids={}), row(external_ids={
                'ovn-network-agent': 'false'}), row()):
            self.assertEqual((), policies.read('NAT row', other))


class TagTest(base.BaseTestCase):

    def statement(self, kind, value):
        return statement(kind, row(external_ids={TAG: value}))

    def test_routers_and_networks_have_tags(self):
        for kind in policies.TAGGED:
            for text, number in (('4400000', 4400000), (' 4499999 ', 4499999),
                                 ('0', 0)):
                tag, = self.statement(kind, text).tags
                self.assertEqual(number, tag.number)
                self.assertIn(f'{kind} {KEY} has {TAG}=', tag.where)

    def test_what_is_no_tag_says_nothing(self):
        for text in ('', '5', '4399999', '4500000', '04400001', '-4400001',
                     '4400001.0', 'x', '4\u0664\u066000001'):
            found = self.statement('router', text)
            self.assertEqual((), found.tags, text)
            problem, = found.problems
            for part in (f'router {KEY}', repr(text), '4400000', '4499999'):
                self.assertIn(part, problem)

    def test_an_address_has_no_tag_of_its_own(self):
        found = self.statement('NAT row', '4400001')
        self.assertEqual(((), ()), (found.tags, found.own))
        self.assertIn('no effect', found.problems[0])


class OvnTest(base.BaseTestCase):

    def test_as_ovn_reads_it(self):
        """smap_get_bool() with the default true."""
        for text in ('false', 'FALSE', 'False',
                     'true', '', 'no', '0', ' false'):
            word, = statement('NAT row', row(options={
                'dynamic-routing-advertise': text})).native
            self.assertIs(text.lower() != 'false', word.announce, text)
        for other in (row(options={'a': 'false'}), row()):
            self.assertEqual((), policies.read('NAT row', other))

    def test_a_router_that_ovn_routes(self):
        """smap_get_bool() with the default false; the agent's word wins."""
        on = {'dynamic-routing': 'true'}
        for columns, routed in (
                *(({'options': {'dynamic-routing': text}}, routed)
                  for text, routed in (
                      ('true', True), ('True', True), ('false', False),
                      ('1', False), ('', False), (' true', False))),
                ({}, False),
                ({'options': on, 'external_ids': {ANNOUNCE: 'true'}}, False),
                ({'options': on, 'external_ids': {ANNOUNCE: 'false'}}, True),
                ({'options': {**on, ANNOUNCE: 'true'}}, False)):
            self.assertIs(routed, policies.is_routed(row(**columns)), columns)


class RouterTest(base.BaseTestCase):
    """Neutron replaces external_ids of a router, and leaves its options."""

    def test_options_win_over_external_ids(self):
        for ids, options, announces in (
                ({}, 'false', False), ({}, 'true', True),
                ({ANNOUNCE: 'true'}, 'false', False)):
            found = statement('router', row(
                external_ids=ids, options={ANNOUNCE: options}))
            self.assertIs(announces, found.own[0].announce)
            self.assertIn('in its options', found.own[0].where)
        found = statement('router', row(
            external_ids={TAG: '4400001'},
            options={TAG: '4400002', ANNOUNCE: 'maybe'}))
        self.assertEqual(4400002, found.tags[0].number)
        self.assertIn(f'options:{ANNOUNCE}', found.problems[0])

    def test_they_say_nothing_in_other_rows(self):
        for kind in ('network', 'NAT row', 'port'):
            self.assertEqual((), policies.read(
                kind, row(options={ANNOUNCE: 'false'})))


class PolicyTest(base.BaseTestCase):

    def test_of_several_rows(self):
        both = statement('router', marked('false')) + statement('network', row(
            external_ids={ANNOUNCE: 'nonsense'},
            options={'dynamic-routing-advertise': 'false'}))
        self.assertEqual([False, True], [word.announce for word in both.own])
        self.assertEqual([False], [word.announce for word in both.native])
        self.assertEqual(1, len(both.problems))
