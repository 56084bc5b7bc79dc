# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import uuid

from oslotest import base
from ovs.db import data
from ovs.db import types as ovs_types

from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.ovsdb import query

KEY = uuid.UUID('11111111-2222-4333-8444-555555555555')
MAP = ovs_types.Type.from_json({'key': 'string', 'value': 'string',
                                'min': 0, 'max': 'unlimited'})


def row(**columns):
    """A row with columns that are maps, as the server sends them."""
    return query.Row(KEY, {
        name: data.Datum.from_json(MAP, ['map', [*map(list, value.items())]])
        for name, value in columns.items()}, {})


def marked(value):
    return row(external_ids={'ovn-network-agent': 'managed', 'a': 'b',
                             'ovn-network-agent:announce': value})


def statement(*args):
    """The only statement of a row, or an empty one."""
    return next(iter(policies.read(*args)), policies.Policy())


class OwnTest(base.BaseTestCase):

    def announces(self, value):
        word, = statement('NAT row', marked(value)).own
        return word.announce

    def test_its_word(self):
        """In doubt an address is announced."""
        for texts, announces in ((('false', 'False', ' FALSE '), False),
                                 (('true', 'TRUE ', 'True'), True)):
            for text in texts:
                self.assertIs(announces, self.announces(text), text)
                self.assertEqual((), statement('NAT row',
                                               marked(text)).problems)
        for text in ('', 'no', '0', 'flase', 'false true', 'f\u0430lse'):
            self.assertTrue(self.announces(text), text)
            problem, = statement('NAT row', marked(text)).problems
            for part in (f'NAT row {KEY}', repr(text), 'counts as true',
                         'set it to one of them'):
                self.assertIn(part, problem)
        word, = statement('NAT row', marked('false')).own
        self.assertEqual(f'NAT row {KEY} has ovn-network-agent:announce='
                         'false in its external_ids', word.where)

    def test_a_row_without_the_key_says_nothing(self):
        for other in (row(external_ids={}), row(external_ids={
                'ovn-network-agent': 'false'}), row()):
            self.assertEqual((), policies.read('NAT row', other))


class TagTest(base.BaseTestCase):

    def statement(self, kind, value):
        return statement(kind, row(
            external_ids={'ovn-network-agent:tag': value}))

    def test_routers_and_networks_have_tags(self):
        for kind in policies.TAGGED:
            for text, number in (('4400000', 4400000), (' 4499999 ', 4499999),
                                 ('0', 0)):
                tag, = self.statement(kind, text).tags
                self.assertEqual(number, tag.number)
                self.assertIn(f'{kind} {KEY} has ovn-network-agent:tag=',
                              tag.where)

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

    def advertises(self, value):
        word, = statement('NAT row', row(options={
            'dynamic-routing-advertise': value})).native
        return word.announce

    def test_as_ovn_reads_it(self):
        """smap_get_bool() with the default true."""
        for text in ('false', 'FALSE', 'False'):
            self.assertFalse(self.advertises(text), text)
        for text in ('true', '', 'no', '0', ' false'):
            self.assertTrue(self.advertises(text), text)
        for other in (row(options={'a': 'false'}), row()):
            self.assertEqual((), policies.read('NAT row', other))

    def test_a_router_that_ovn_routes(self):
        """smap_get_bool() with the default false; the agent's word wins."""
        for text, routed in (('true', True), ('True', True), ('false', False),
                             ('1', False), ('', False), (' true', False)):
            self.assertIs(routed, policies.is_routed(row(
                options={'dynamic-routing': text})), text)
        self.assertFalse(policies.is_routed(row()))
        for text, routed in (('true', False), ('false', True)):
            self.assertIs(routed, policies.is_routed(row(
                options={'dynamic-routing': 'true'},
                external_ids={'ovn-network-agent:announce': text})), text)
        self.assertFalse(policies.is_routed(row(options={
            'dynamic-routing': 'true',
            'ovn-network-agent:announce': 'true'})))


class RouterTest(base.BaseTestCase):
    """Neutron replaces external_ids of a router, and leaves its options."""

    def test_options_win_over_external_ids(self):
        for ids, options, announces in (
                ({}, 'false', False), ({}, 'true', True),
                ({'ovn-network-agent:announce': 'true'}, 'false', False)):
            found = statement('router', row(external_ids=ids, options={
                'ovn-network-agent:announce': options}))
            self.assertIs(announces, found.own[0].announce)
            self.assertIn('in its options', found.own[0].where)
        found = statement('router', row(
            external_ids={'ovn-network-agent:tag': '4400001'},
            options={'ovn-network-agent:tag': '4400002',
                     'ovn-network-agent:announce': 'maybe'}))
        self.assertEqual(4400002, found.tags[0].number)
        self.assertIn('options:ovn-network-agent:announce', found.problems[0])

    def test_they_say_nothing_in_other_rows(self):
        for kind in ('network', 'NAT row', 'port'):
            self.assertEqual((), policies.read(kind, row(options={
                'ovn-network-agent:announce': 'false'})))


class PolicyTest(base.BaseTestCase):

    def test_of_several_rows(self):
        both = statement('router', marked('false')) + statement('network', row(
            external_ids={'ovn-network-agent:announce': 'nonsense'},
            options={'dynamic-routing-advertise': 'false'}))
        self.assertEqual([False, True], [word.announce for word in both.own])
        self.assertEqual([False], [word.announce for word in both.native])
        self.assertEqual(1, len(both.problems))
