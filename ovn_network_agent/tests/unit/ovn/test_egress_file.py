# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The file of egress addresses: what it says, and what becomes of it."""

import pathlib

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.files import file_problems
from ovn_network_agent.ovn.egress import egress_file
from ovn_network_agent.tests import tools
from ovn_network_agent.tests.unit.ovn import egress

SAMPLES = pathlib.Path(tools.ROOT, 'etc', 'ovn-network-agent')
UUID = '0d1b6a2e-7c44-4c1f-9a52-5f0c9b1f6a11'
SELECTS = {
    '{router: r1}': {'router': 'r1'},
    '{network: n1}': {'network': 'n1'},
    f'{{subnet: {UUID}}}': {'subnet': UUID},
    '{network: n1, subnet: 10.0.0.0/24}': {
        'network': 'n1', 'cidrs': (ip_text.network('10.0.0.0/24'),)},
    '{ports: [a, b]}': {'ports': ('a', 'b')},
    '{port_group: pg}': {'groups': ('pg',)},
    f'{{security_group: {UUID}}}': {
        'groups': ('pg_' + UUID.replace('-', '_'),)},
    f'{{port_group: pg, security_group: {UUID}, router: r1}}': {
        'router': 'r1', 'groups': ('pg', 'pg_' + UUID.replace('-', '_'))},
    '{router: r1, cidrs: [10.0.0.7, "fd00::/64"]}': {
        'router': 'r1', 'cidrs': (ip_text.network('10.0.0.7'),
                                  ip_text.network('fd00::/64'))}}
#: (an entry in the third line, path of the flaw, a part of the text)
FLAWS = (
    ('7', '', 'it must be a mapping with "name", "addresses" and "select"'),
    ('{addresses: [192.0.2.1]}', '.name', 'is missing'),
    ('{name: x}', '.addresses', 'is missing'),
    ('{name: 1x, addresses: [192.0.2.1]}', '.name = "1x"',
     'is no name of an egress address; take 1 to 63 letters'),
    ('{name: x-, addresses: [192.0.2.1]}', '.name', 'is no name'),
    ('{name: FIRST, addresses: [192.0.2.1]}', '.name',
     'line 2 has this name already'))
#: Likewise of an entry that has a name; (its addresses, ...)
ADDRESSES = (
    ('', '', 'is empty'), ('one', '[0] = "one"', 'is no address'),
    ('"192.0.2.0/24"', '[0]', 'is no address'),
    ('192.0.2.1, 192.0.2.1', '[1]', 'is here twice'),
    ('198.51.100.1', '[0]', 'line 2 has this address already'),
    ('224.0.0.1', '[0]', 'cannot be the source'),
    ('"fe80::1"', '[0]', 'cannot be the source'))
#: Likewise of an entry that has a name and an address; (its other keys, ...)
KEYS = (
    ('mode: both', '.mode = "both"', 'one of router, ecmp, host'),
    ('gateway: [x]', '.gateway', 'did you mean "gateways"?'),
    ('gateways: [x]', '.gateways', 'is not possible in mode router'),
    ('mode: host, destinations: [10.0.0.0]', '.destinations',
     'is not possible in mode host'),
    ('destinations: [10.0.0.1/8]', '.destinations[0]', 'is no prefix'),
    ('select: {}', '.select', 'a mapping with one or more of router'),
    ('select: {subnets: x}', '.select.subnets', 'did you mean "subnet"?'),
    ('select: {cidrs: [10.0.0.0/24]}', '.select.cidrs',
     'name "router" or "network" beside'),
    ('select: {subnet: 10.0.0.0/24}', '.select.subnet',
     'or take the UUID of the subnet'),
    ('select: {router: r, cidrs: [x]}', '.select.cidrs[0]', 'is no prefix'),
    ('select: {router: r, cidrs: [10.0.0.1], subnet: 10.0.0.0/24}',
     '.select.cidrs', 'leave one of both out'))


class ContentTest(base.BaseTestCase):

    def select(self, text):
        found = egress.parsed('egress_ips: [{name: x, addresses: [192.0.2.1],'
                              f' select: {text}}}]')
        self.assertEqual((), found.flaws)
        entry, = found.rows.values()
        return entry.select

    def test_selections(self):
        for text, wanted in SELECTS.items():
            self.assertEqual(egress_file.Select(**wanted), self.select(text),
                             text)

    def test_all_keys(self):
        found = egress.parsed("""\
            egress_ips:
            - name: x-1
              addresses: [192.0.2.1, "2001:DB8::1"]
              mode: ecmp
              gateways: [lrp-1, lrp-2]
              destinations: [203.0.113.0/24]
            - {name: y, addresses: [192.0.2.2]}
            """)
        self.assertEqual((), found.flaws)
        self.assertEqual({
            'x-1': egress_file.Entry(
                'x-1', ('192.0.2.1', '2001:db8::1'), model.EgressMode.ECMP,
                None, ('lrp-1', 'lrp-2'),
                (ip_text.network('203.0.113.0/24'),)),
            'y': egress_file.Entry('y', ('192.0.2.2',))}, dict(found.rows))

    def test_a_flaw_costs_the_entry(self):
        for entry, path, part in (*FLAWS, *(
                (f'{{name: x, addresses: [{addresses}]}}',
                 f'.addresses{path}', part)
                for addresses, path, part in ADDRESSES), *(
                (f'{{name: x, addresses: [192.0.2.1], {keys}}}', path, part)
                for keys, path, part in KEYS)):
            found = egress.parsed(f"""\
                egress_ips:
                - {{name: first, addresses: [198.51.100.1]}}
                - {entry}
                - {{name: last, addresses: [198.51.100.2]}}
                """)
            self.assertEqual(['first', 'last'], [*found.rows], entry)
            flaw, = found.flaws
            self.assertIn(f'{egress.FILE}, line 3: egress_ips[1]{path}', flaw)
            self.assertIn(part, flaw)
            self.assertIn('; this egress address is left out', flaw)

    def test_the_sample_can_be_used_as_it_is(self):
        sample = SAMPLES / 'egress-ips.yaml.sample'
        found = egress.parsed(sample.read_text())
        self.assertEqual(((), {*model.EgressMode}), (found.flaws, {
            each.mode for each in found.rows.values()}))

    def test_none(self):
        self.assertEqual({}, egress.parsed('egress_ips: []').rows)

    def test_a_file_that_cannot_be_used(self):
        for text in ('', '- x', 'egress_ips: [', 'egress_ips: {}',
                     'egress_ip: []', 'egress_ips: []\nmore: 1'):
            self.assertRaises(file_problems.BadFile, egress.parsed, text)
