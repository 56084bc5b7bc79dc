# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What needs a restart, and what the documentation says of it."""

import pathlib

from oslotest import base

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import reload

PAGE = (pathlib.Path(reload.__file__).parents[2] / 'doc' / 'source' /
        'configuration' / 'sources.rst')


class RestartTest(base.BaseTestCase):

    def test_the_reasons_are_about_options_that_need_a_restart(self):
        known = {(group, option.dest): option
                 for group, option in opts.everything()}
        groups = {group for group, _name in known}
        for key in reload.REASONS:
            if len(key) == 1:
                self.assertIn(key[0], groups)
            elif key != ('port_forward', 'rules_file'):
                self.assertFalse(known[key].mutable, key)
        for group, option in opts.everything():
            self.assertTrue(reload.reason(group, option))

    def test_the_page_has_each_reason_with_its_options(self):
        text = ' '.join(PAGE.read_text().split())
        for key, reason in reload.REASONS.items():
            self.assertIn(reason, text)
            self.assertIn(key[1] if len(key) > 1 else f'[{key[0]}]', text)
        # No other option goes without one.
        for group, option in opts.everything():
            if not option.mutable:
                self.assertNotEqual('is read at the start only',
                                    reload.reason(group, option),
                                    option.dest)

    def test_each_option_says_whether_a_change_needs_a_restart(self):
        """As the sample and the reference have it; the library says the rest.
        """
        for _group, options in opts.list_opts():
            for option in options:
                self.assertEqual(
                    not option.mutable,
                    option.help.endswith(' A change needs a restart.'),
                    option.name)
        # The help of the command line has no such sentence.
        for _group, option in opts.everything():
            self.assertNotIn('A change needs a restart.', option.help)
