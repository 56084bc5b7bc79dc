# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Variables with the names of the original program."""

import os

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
        self.assertEqual(['tcp:192.0.2.1:6641'], conf.ovn.ovn_nb_remote)
        self.assertEqual(2, len(conf.ovn.ovn_sb_remote))
        self.assertEqual(90, conf.reconcile_interval)
        self.assertEqual(0.25, conf.gateway_drain.drain_settle_delay)
        self.assertIs(True, conf.dry_run)
        self.assertEqual('0.0.0.0:9273', conf.metrics.listen)
        self.assertEqual(6, len(list(unknown.variables(conf))))

    def test_precedence(self):
        """Over the file; below the agent's variable and the command line."""
        text = '[frr]\nvrf_name = file\n[DEFAULT]\nbridge_dev = file\n'
        conf = self.load(text, argv=['--nodry-run'], env={
            'OVN_NETWORK_VRF_NAME': 'former', 'OVN_NETWORK_DRY_RUN': 'true',
            'OVN_NETWORK_BRIDGE_DEV': 'former',
            'OS_DEFAULT__BRIDGE_DEV': 'own', 'OVN_NETWORK_BRIDGE_IP': ''})
        self.assertEqual('former', conf.frr.vrf_name)
        self.assertEqual('own', conf.bridge_dev)
        self.assertIs(False, conf.dry_run)
        self.assertEqual('169.254.169.254', conf.bridge_ip)
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
