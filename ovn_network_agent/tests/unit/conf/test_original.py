# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The options of the original have counterparts that exist."""

from oslotest import base

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import original_options


class OptionsTest(base.BaseTestCase):

    def test_each_counterpart_exists(self):
        here = {(section, option.dest)
                for section, option in opts.everything()}
        for option in original_options.OPTIONS:
            if option.option:
                self.assertIn((option.section, option.option), here)
                self.assertEqual('', option.why)
                self.assertIs(option, original_options.counterpart(
                    option.section, option.option))
            else:
                self.assertNotEqual('', option.why, option.name)

    def test_names(self):
        self.assertEqual(len(original_options.OPTIONS),
                         len(original_options.BY_NAME))
        self.assertEqual('OVN_NETWORK_OVN_NB_REMOTE',
                         original_options.BY_NAME['ovn_nb_remote'].variable)
        self.assertIsNone(
            original_options.counterpart('ovn', 'transaction_timeout'))
