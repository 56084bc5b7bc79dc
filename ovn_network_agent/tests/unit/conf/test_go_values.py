# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The options of the original, and values of Go."""

from oslotest import base

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import original_options


class SecondsTest(base.BaseTestCase):

    def test_durations(self):
        for given, seconds in (
                ('60s', '60'), ('500ms', '0.5'), ('5m', '300'),
                ('1m30s', '90'), ('1h0m1.5s', '3601.5'), ('0', '0'),
                ('0s', '0'), ('+2s', '2'), ('250us', '0.00025'),
                ('250\u00b5s', '0.00025'), ('.5s', '0.5'), ('100h', '360000')):
            self.assertEqual(seconds, original_options.seconds(given), given)

    def test_what_go_refuses(self):
        for given in ('60', '', 's', '1m 30s', '-5s', '5 s', '1d', 'x1s',
                      '1.2.3s'):
            error = self.assertRaises(
                ValueError, original_options.seconds, given)
            self.assertIn(repr(given), str(error))
            self.assertIn('60s', str(error))


class OthersTest(base.BaseTestCase):

    def test_booleans(self):
        for given in ('1', 't', 'T', 'TRUE', 'true', 'True'):
            self.assertEqual('true', original_options.boolean(given))
        for given in ('0', 'f', 'F', 'FALSE', 'false', 'False'):
            self.assertEqual('false', original_options.boolean(given))
        for given in ('yes', 'on', '', 'tRUE', '2'):
            self.assertRaises(ValueError, original_options.boolean, given)

    def test_listen(self):
        for given, here in ((':9273', '0.0.0.0:9273'),
                            ('localhost:9273', '127.0.0.1:9273'),
                            ('[::1]:9273', '[::1]:9273'),
                            ('192.0.2.1:80', '192.0.2.1:80'),
                            ('9273', '9273')):
            self.assertEqual(here, original_options.listen(given))


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
