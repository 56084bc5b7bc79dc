# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The word that a typo probably means."""

from oslotest import base

from ovn_network_agent.common import suggestions

KNOWN = ('bridge_dev', 'bridge_device', 'vrf_name')


class TyposTest(base.BaseTestCase):

    def test_the_nearest_of_several(self):
        for word, meant in (('brigde_dev', 'bridge_dev'),
                            ('bridge_devise', 'bridge_device'),
                            ('vrf-name', 'vrf_name')):
            self.assertEqual(meant, suggestions.nearest(word, KNOWN))
            self.assertEqual(f'; did you mean {meant}?',
                             suggestions.hint(word, KNOWN))

    def test_a_word_like_none(self):
        self.assertIsNone(suggestions.nearest('xyzzy', KNOWN))
        self.assertEqual('', suggestions.hint('xyzzy', KNOWN))

    def test_the_known_words_may_come_in_any_form(self):
        for known in (set(KNOWN), dict.fromkeys(KNOWN), iter(KNOWN)):
            self.assertEqual('vrf_name', suggestions.nearest('vrf_nam', known))
