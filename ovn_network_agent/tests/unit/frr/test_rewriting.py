# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lines that write entries of a prefix list again."""

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines

LIST = 'ANNOUNCED-NETWORKS'


def entry(network, number=None):
    """The agent's entry of a network, with its preferred number."""
    if number is None:
        number = ownership.prefix_list_numbers(network)[0]
    return output.Entry(number, 'permit', network,
                        *prefix_list_lines.hosts(network))


class RenewalTest(base.BaseTestCase):

    def renewed(self, *networks, others=()):
        """The lines for these networks of a list."""
        entries = [entry(network) for network in networks]
        return prefix_list_lines.renewal(
            LIST, {each.prefix: each.sequence for each in entries},
            {'BGP': [*entries, *others], 'ZEBRA': [*entries, *others]})

    def play(self, configuration, *networks):
        """The list after each line, as a set of permitted networks.

        FRR replaces an entry that has the number of a new entry.
        """
        present = {entry(each).sequence: each for each in networks}
        for line in configuration:
            words = line.split()
            network = words[words.index('permit') + 1]
            if words[0] == 'no':
                present = {number: each for number, each in present.items()
                           if each != network}
            else:
                number = int(words[words.index('seq') + 1])
                self.assertNotIn(number, present, line)
                present[number] = network
            yield present

    def test_each_address_is_permitted_after_each_line(self):
        networks = ('198.51.100.0/24', '203.0.113.8/30', '2001:db8::/64')
        _renewed, configuration = self.renewed(*networks)
        wanted = [ip_text.network(each) for each in networks]
        for present in self.play(configuration, *networks):
            permitted = [ip_text.network(each) for each in present.values()]
            for network in wanted:
                for half in network.subnets():
                    self.assertTrue(any(
                        half.version == each.version and half.subnet_of(each)
                        for each in permitted), (half, present))
        self.assertEqual(
            {(ownership.prefix_list_numbers(each)[1], each)
             for each in networks}, set(present.items()))

    def test_the_numbers_before_and_after_are_told(self):
        numbers = ownership.prefix_list_numbers('198.51.100.0/24')
        renewed, _configuration = self.renewed('198.51.100.0/24')
        self.assertEqual([('198.51.100.0/24', numbers[0], numbers[1])],
                         renewed)

    def test_a_network_without_halves_that_a_line_could_name(self):
        for network in ('198.51.100.10/31', '2001:db8::/127'):
            renewed, configuration = self.renewed(network)
            self.assertEqual([network], [each[0] for each in renewed])
            self.assertEqual(2, len(configuration))

    def test_an_entry_of_the_operator_for_a_half_is_not_touched(self):
        his = output.Entry(5, 'permit', '198.51.100.128/25', 0, 0)
        _renewed, configuration = self.renewed('198.51.100.0/24',
                                               others=[his])
        self.assertEqual(2, len(configuration))
        self.assertNotIn('/25', ' '.join(configuration))

    def test_a_copy_that_differs_is_left_alone(self):
        ours = entry('198.51.100.0/24')
        self.assertEqual(([], []), prefix_list_lines.renewal(
            LIST, {ours.prefix: ours.sequence}, {'BGP': [ours], 'ZEBRA': []}))

    def test_no_number_is_left(self):
        network = '198.51.100.0/24'
        others = [entry(f'192.0.2.{last}/32', number) for last, number
                  in enumerate(ownership.prefix_list_numbers(network)[1:])]
        self.assertEqual(([], []), self.renewed(network, others=others))
