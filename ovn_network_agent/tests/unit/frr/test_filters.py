# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from oslotest import base

from ovn_network_agent.common import ip_text
from ovn_network_agent.frr import filters
from ovn_network_agent.frr import output

ADDRESS = ip_text.address('198.51.100.10')
OTHER = ip_text.address('198.51.100.11')
MATCH = 'ip address prefix-list '
DENY = output.Entry(5, 'deny', '198.51.100.10/32', 0, 0)
REST = output.Entry(10, 'permit', '0.0.0.0/0', 0, 32)
LINE = 'seq 5 deny 198.51.100.10/32'


def rule(sequence, *lists, action='permit', **values):
    return filters.Rule(sequence, action,
                        tuple(MATCH + name for name in lists), **values)


class FiltersTest(base.BaseTestCase):

    def denial(self, kind, name, address=ADDRESS, **maps):
        known = filters.Filters('OWN', {
            'OWN': (DENY,), 'OTHER': (REST, DENY), 'EMPTY': (),
            'NARROW': (output.Entry(5, 'permit', '10.0.0.0/8', 32, 32),),
            'NONE': None}, maps)
        found = known.denial(kind, name, address)
        return found and (found.name, found.text, found.line)

    def test_a_list(self):
        self.assertEqual(('OTHER', LINE, True),
                         self.denial('prefix-list', 'OTHER'))
        self.assertIsNone(self.denial('prefix-list', 'OTHER', OTHER))
        self.assertIsNone(self.denial('prefix-list', 'EMPTY'))
        for name in ('NARROW', 'NONE'):
            self.assertFalse(self.denial('prefix-list', name)[2])

    def test_in_our_own_list_only_a_line_that_denies_counts(self):
        """The agent adds the line that permits."""
        self.assertEqual(('OWN', LINE, True),
                         self.denial('prefix-list', 'OWN'))
        self.assertIsNone(self.denial('prefix-list', 'OWN', OTHER))

    def of_map(self, *rules, address=ADDRESS, **maps):
        return self.denial('route-map', 'MAP', address,
                           **{'MAP': rules, **maps})

    def test_a_map(self):
        """The first entry that fits decides; at the end nothing passes."""
        self.assertIsNone(self.of_map(rule(10)))
        self.assertIsNone(self.of_map(rule(10, 'NARROW'), rule(20)))
        self.assertEqual(('MAP', 'deny 5', True), self.of_map(
            rule(10), rule(5, 'OWN', action='deny'), address=OTHER))
        self.assertEqual(('MAP', 'has no entry for the route', False),
                         self.of_map(rule(10, 'NARROW'), rule(20, 'NONE')))
        self.assertEqual(('OWN', LINE, True), self.of_map(
            rule(10, 'NARROW'), rule(20, 'OWN')))
        self.assertIsNone(self.of_map(rule(10, 'OWN'), rule(20)))
        self.assertEqual(('MAP', 'does not exist', False),
                         self.denial('route-map', 'MAP', MAP=None))

    def test_a_map_that_is_called(self):
        calls = rule(10, call='SUB')
        self.assertIsNone(self.of_map(calls, SUB=(rule(1),)))
        self.assertEqual(('SUB', 'deny 1', True), self.of_map(
            calls, SUB=(rule(1, action='deny'),)))

    def test_what_cannot_be_known(self):
        of_tag = filters.Rule(10, 'permit', ('tag 7',))
        for rules in ((of_tag,), (rule(10, ends=False),),
                      (rule(10, call='MAP'),)):
            self.assertRaises(filters.Undecided, self.of_map, *rules)
        self.assertRaises(filters.Undecided, self.denial,
                          'distribute-list', '7')

    def test_an_entry_that_changes_nothing_is_no_doubt(self):
        """The route fares the same, whether or not its tag is 7."""
        tagged = filters.Rule(10, 'permit', ('tag 7',))
        self.assertIsNone(self.of_map(tagged, rule(20)))
        self.assertIsNone(self.of_map(
            tagged._replace(matches=('tag 7', MATCH + 'OTHER')), rule(20)))
        self.assertEqual(('MAP', 'deny 20', True), self.of_map(
            tagged._replace(action='deny'), rule(20, action='deny')))
        for rules in ((tagged, rule(20, action='deny')),
                      (tagged._replace(action='deny'), rule(20)),
                      (tagged._replace(call='SUB'), rule(20)),
                      (tagged._replace(ends=False), rule(20))):
            self.assertRaises(filters.Undecided, self.of_map, *rules,
                              SUB=(rule(1, action='deny'),))

    def test_an_entry_whose_list_does_not_fit_is_no_doubt(self):
        """A match that cannot be judged counts only when the others fit."""
        self.assertIsNone(self.of_map(filters.Rule(
            10, 'deny', ('tag 7', MATCH + 'NARROW')), rule(20)))

    def test_the_notation_of_a_line(self):
        self.assertEqual('seq 7 deny 10.0.0.0/8 ge 9 le 32', filters.line(
            output.Entry(7, 'deny', '10.0.0.0/8', 9, 32)))
