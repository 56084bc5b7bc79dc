# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The nftables table as text: golden files, and what they cannot show."""

from oslotest import base

from ovn_network_agent.drivers import port_forward
from ovn_network_agent.model import port_forwards
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import values
from ovn_network_agent.tests.unit import golden

FIRST = (('udp', '192.0.2.53', 53, '10.0.0.1', 1053),)


class GoldenTest(base.BaseTestCase):

    def test_every_case_reads_as_its_file(self):
        for name, case in golden.cases().items():
            path = golden.DIRECTORY / (name + '.nft')
            self.assertEqual(path.read_text(), golden.text(*case), name)

    def test_every_file_is_a_case(self):
        self.assertEqual({name + '.nft' for name in golden.cases()},
                         {p.name for p in golden.DIRECTORY.glob('*.nft')})


class TableTest(base.BaseTestCase):

    def render(self, *vips, manner=golden.IN_VRF):
        return port_forward.wanted(4, vips, manner)

    def chain(self, table, name):
        """Lines of a chain, stripped; None when there is no such chain."""
        _before, found, body = golden.rendered(table).partition(
            f'\tchain {name} {{\n')
        return [line.strip() for line in body.partition('\n\t}\n')[
            0].split('\n')] if found else None

    def test_the_root_side_takes_every_case(self):
        for name, case in golden.cases().items():
            found = rendering.sets(values.unpack(values.pack(
                port_forward.wanted(*case).content)))
            self.assertLessEqual({'provider_networks', 'snat_addresses'},
                                 found, name)

    def test_the_order_of_the_file_does_not_matter(self):
        # So that a file that is written anew reloads nothing.
        first, second = golden.vip(), golden.vip(address='192.0.2.54')
        self.assertEqual(self.render(first, second),
                         self.render(second, first))

    def test_one_of_two_dead_is_as_if_it_were_alone(self):
        rule = golden.rule(1, 1)
        table = self.render(golden.vip(golden.without(rule, 1)))
        self.assertEqual(FIRST, table.targets)
        # What it still sends belongs to its connections.
        for chain, line in (
                ('dnat', '192.0.2.53 . udp . 53 : 10.0.0.1 . 1053'),
                ('ctzone', '10.0.0.2 . udp . 1053')):
            self.assertIn(line, self.chain(table, 'prerouting_' + chain))

    def test_all_dead_are_all_there(self):
        rule = golden.rule(1, 1)
        dead = golden.without(rule, 0, 1)
        self.assertEqual(self.render(golden.vip(rule)),
                         self.render(golden.vip(dead)))
        self.assertEqual(2, len(self.render(golden.vip(dead)).targets))

    def test_weight_0_gets_no_clients_and_keeps_connections(self):
        rule = golden.rule(0)
        table = self.render(golden.vip(rule))
        self.assertIsNone(self.chain(table, 'prerouting_dnat'))
        self.assertEqual(FIRST, table.targets)
        self.assertIn('10.0.0.1 . udp . 1053',
                      self.chain(table, 'output_ctzone'))

    def test_weights_are_reduced(self):
        text = golden.rendered(self.render(golden.vip(golden.rule(6, 2))))
        self.assertIn('jhash ip saddr mod 4 seed', text)
        self.assertIn('0-2 : 10.0.0.1 . 1053,', text)
        self.assertIn('3 : 10.0.0.2 . 1053', text)
    def test_extent(self):
        six = golden.vip(address='2001:db8::53', router_masquerade=True)
        for vips, expected in (
                ((), port_forwards.Extent()),
                ((golden.vip(),), port_forwards.Extent((4,))),
                ((six, golden.vip()), port_forwards.Extent((4, 6), (6,)))):
            self.assertEqual(expected, port_forwards.extent(
                port_forwards.Forwards(vips)))
