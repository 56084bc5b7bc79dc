# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The numbers of a node: each has one owner."""

import copy
from importlib import metadata
import os
import re

import fixtures
from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.conf import plugins
from ovn_network_agent.runtime import loader
from ovn_network_agent.tests import configs

# The kinds, and how a claim of each number of the agent is refused.
KINDS = {name: value for name, value in vars(ownership).items()
         if isinstance(value, ownership.Claims)}
TAKEN = {
    'PROTOCOLS': (44, 'kernel protocol 44', 'ovn-network-agent'),
    'TABLES': (201, 'routing table 201', 'port_forward'),
    'RULE_PRIORITIES': (1999, 'rule priority 1999', 'veth_leak'),
    'MARKS': (0x300, 'packet mark 0x300', 'port_forward: to a destination'),
    'ZONES': (64000, 'connection tracking zone 64000', 'port_forward'),
    'COOKIES': (0x998, 'flow cookie 0x998', 'fip_route: hairpin'),
    'FLOW_PRIORITIES': (920, 'flow priority 920', 'gateway_drain: relay'),
    'TUNNEL_KEYS': (0xfe1234, 'tunnel key 0xfe1234',
                    'gateway_drain: relays of further bridges'),
    'ROUTE_TAGS': (4400001, 'route tag 4400001', 'announced routes'),
    'POLICY_PRIORITIES': (600, 'priority of router policies 600',
                          'network_peer: allow')}
# The constants of the module, and the kind that has them.
CONSTANTS = (('MARK_', ownership.MARKS), ('COOKIE_', ownership.COOKIES),
             ('_PROTOCOL', ownership.PROTOCOLS))
# The options whose values must not be used twice.
OPTIONS = (('_table_id', ownership.TABLES),
           ('_rule_priority', ownership.RULE_PRIORITIES),
           ('_ct_zone', ownership.ZONES),
           ('allow_priority', ownership.POLICY_PRIORITIES),
           ('drop_priority', ownership.POLICY_PRIORITIES))
PLUGIN = '''\
from ovn_network_agent import ownership
from ovn_network_agent.drivers import base

COOKIE = ownership.COOKIES.claim(0x998, 'my_driver')


class Driver(base.Driver):
    pass
'''


class ClaimsTest(base.BaseTestCase):

    def check_taken(self, claims, number, *words):
        error = self.assertRaises(ValueError, claims.claim, number, 'another')
        for word in (*words, 'of another clashes with '):
            self.assertIn(word, str(error))

    def test_each_kind_refuses_a_second_claim(self):
        self.assertEqual(TAKEN.keys(), KINDS.keys())
        for name, (number, *words) in TAKEN.items():
            self.check_taken(KINDS[name], number, *words)

    def test_each_constant_is_claimed(self):
        for word, claims in CONSTANTS:
            found = [value for name, value in vars(ownership).items()
                     if word in name and isinstance(value, int)]
            self.assertGreater(len(found), 1)
            for number in found:
                self.check_taken(claims, number)

    def test_the_defaults_of_options_are_claimed(self):
        conf = configs.conf()
        found = set()
        for group in ('fip_route', 'veth_leak', 'port_forward',
                      'gateway_drain', 'network_peer'):
            for name, default in conf[group].items():
                for word, claims in OPTIONS:
                    # Table 0 is the main table.
                    if name.endswith(word) and default:
                        self.check_taken(claims, default, f' of {group}')
                        found.add(name)
        self.assertEqual(
            {'route_rule_priority', 'veth_leak_table_id',
             'veth_leak_rule_priority', 'port_forward_table_id',
             'port_forward_ct_zone', 'allow_priority', 'drop_priority'}, found)

    def test_another_project_claims_numbers(self):
        claims = copy.deepcopy(ownership.COOKIES)
        self.assertEqual(0x9a0, claims.claim(0x9a0, 'my_driver'))
        self.check_taken(claims, 0x9a0, '0x9a0', 'my_driver')

    def test_ranges(self):
        claims = ownership.Claims('number')
        self.assertEqual(range(5, 8), claims.claim(range(5, 8), 'one'))
        claims.claim(4, 'below')
        claims.claim(range(8, 10), 'above')
        self.check_taken(claims, range(7, 9), 'number 7 to 8', '5 to 7 of one')

    def test_marks_clash_by_their_bits(self):
        marks = copy.deepcopy(ownership.MARKS)
        self.assertEqual(0x1800, marks.claim(0x1800, 'my_driver'))
        self.check_taken(marks, 0x801, '0x801', '0x1800 of my_driver')

    def test_a_driver_with_a_number_of_the_agent_is_not_loaded(self):
        folder = self.useFixture(fixtures.TempDir()).path
        with open(os.path.join(folder, 'ovna_claims.py'), 'w') as opened:
            opened.write(PLUGIN)
        self.useFixture(fixtures.PythonPathEntry(folder))
        self.useFixture(fixtures.MockPatchObject(
            plugins, 'everything', lambda: metadata.EntryPoints([
                metadata.EntryPoint('claims', 'ovna_claims:Driver',
                                    loader.DRIVERS)])))
        error = self.assertRaises(loader.LoadError, loader.load_drivers,
                                  configs.conf(drivers=['claims']))
        self.assertTrue(re.search(
            'claims .*flow cookie 0x998 of my_driver clashes with 0x998 of '
            'fip_route: hairpin', str(error)), str(error))


class LeakTest(base.BaseTestCase):

    def test_the_rules_are_around_their_option(self):
        self.assertEqual([1997, 1998, 1999, 2000, 2001],
                         list(ownership.leak_priorities(2000)))
