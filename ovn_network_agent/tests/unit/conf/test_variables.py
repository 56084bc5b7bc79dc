# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Variables and values of the original program, which is in Go."""

import os

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import original_options
from ovn_network_agent.conf import reload
from ovn_network_agent.conf import unknown
from ovn_network_agent.conf import validate
from ovn_network_agent.tests.unit.conf import base


class FormerNamesTest(base.ConfTestCase):

    def test_they_count_with_the_values_of_the_original(self):
        conf = self.load(remotes=False, env={
            'OVN_NETWORK_OVN_NB_REMOTE': 'tcp:192.0.2.1:6641',
            'OVN_NETWORK_OVN_SB_REMOTE':
                'tcp:192.0.2.1:6642,tcp:192.0.2.2:6642',
            'OVN_NETWORK_RECONCILE_INTERVAL': '1m30s',
            'OVN_NETWORK_DRAIN_SETTLE_DELAY': '250ms',
            'OVN_NETWORK_DRY_RUN': 'T',
            'OVN_NETWORK_METRICS_LISTEN': ':9273'})
        self.assertEqual([], validate.problems(conf))
        self.assertEqual(
            (['tcp:192.0.2.1:6641'], 2, 90, 0.25, True, '0.0.0.0:9273'),
            (conf.ovn.ovn_nb_remote, len(conf.ovn.ovn_sb_remote),
             conf.reconcile_interval, conf.gateway_drain.drain_settle_delay,
             conf.dry_run, conf.metrics.listen))
        self.assertEqual(6, len(list(unknown.variables(conf))))

    def test_precedence(self):
        """Over the file; below the agent's variable and the command line."""
        text = '[frr]\nvrf_name = file\n[DEFAULT]\nbridge_dev = file\n'
        conf = self.load(text, argv=['--nodry-run'], env={
            'OVN_NETWORK_VRF_NAME': 'former', 'OVN_NETWORK_DRY_RUN': 'true',
            'OVN_NETWORK_BRIDGE_DEV': 'former',
            'OS_DEFAULT__BRIDGE_DEV': 'own', 'OVN_NETWORK_BRIDGE_IP': ''})
        self.assertEqual(
            ('former', 'own', False, '169.254.169.254'), (
                conf.frr.vrf_name, conf.bridge_dev, conf.dry_run,
                conf.bridge_ip))
        said = '\n'.join(unknown.variables(conf))
        for text in (
                'OVN_NETWORK_VRF_NAME in the environment is a name of the '
                'original program and counts as [frr] vrf_name; set '
                'OS_FRR__VRF_NAME instead',
                'OVN_NETWORK_BRIDGE_DEV in the environment is not read, '
                'because OS_DEFAULT__BRIDGE_DEV has precedence',
                'OVN_NETWORK_BRIDGE_IP in the environment is empty'):
            self.assertIn(text, said)

    def test_a_bad_value_is_named_with_its_variable(self):
        conf = self.load('[DEFAULT]\nreconcile_interval = 10\n', env={
            'OVN_NETWORK_RECONCILE_INTERVAL': '60',
            'OVN_NETWORK_DRAIN_TIMEOUT': 'long',
            'OVN_NETWORK_VETH_LEAK_RULE_PRIORITY': '3'})
        problems = validate.problems(conf)
        self.assertEqual(2, len(problems), problems)
        for text in ("drain_timeout: 'long' is not a number of seconds",
                     '(from OVN_NETWORK_DRAIN_TIMEOUT)',
                     '3 is not between 4 and 32764',
                     '(from OVN_NETWORK_VETH_LEAK_RULE_PRIORITY)'):
            self.assertIn(text, '\n'.join(problems))

    def test_what_has_no_counterpart(self):
        conf = self.load(env={'OVN_NETWORK_CONFIG': '/x.yaml',
                              'OVN_NETWORK_ROUTE_WATCH': 'false',
                              'OVN_NETWORK_BRIDGE_DEF': 'x'})
        self.assertEqual([], validate.problems(conf))
        for text, said in zip((
                'did you mean bridge_dev?', 'ovn-network-agent-migrate',
                'has no counterpart and is not read: the kernel'),
                unknown.variables(conf), strict=True):
            self.assertIn(text, said)

    def test_a_reload_keeps_them(self):
        conf = self.load('[DEFAULT]\nreconcile_interval = 10\n', env={
            'OVN_NETWORK_RECONCILE_INTERVAL': '20s'})
        with open(conf.config_file[0], 'w') as opened:
            opened.write('[DEFAULT]\nreconcile_interval = 30\n'
                         'log_level = warn\n')
        result = reload.reload(conf)
        self.assertEqual(['log_level'],
                         [change.option for change in result.changed])
        self.assertEqual(20, conf.reconcile_interval)
        os.environ.pop('OVN_NETWORK_RECONCILE_INTERVAL')


class ValuesTest(base.ConfTestCase):

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


class OptionsTest(base.ConfTestCase):

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
