# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A reload takes in what is good and leaves alone what is not."""

import os

import fixtures

from ovn_network_agent.conf import reload
from ovn_network_agent.conf import validate
from ovn_network_agent.tests.unit.conf import base


class ReloadTest(base.ConfTestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.conf = self.load('[DEFAULT]\nreconcile_interval = 5\n')

    def rewrite(self, text):
        with open(self.conf.config_file[0], 'w') as opened:
            opened.write(text)

    def refused(self, text):
        self.rewrite(text)
        error = self.assertRaises(validate.ConfigError, reload.reload,
                                  self.conf)
        self.assertEqual(5, self.conf.reconcile_interval)
        return str(error)

    def test_mutable_options_are_taken_in(self):
        self.rewrite('[DEFAULT]\nreconcile_interval = 7\n'
                     'cleanup_on_shutdown = false\n')
        reload.reload(self.conf)
        self.assertEqual((7, False), (self.conf.reconcile_interval,
                                      self.conf.cleanup_on_shutdown))

    def test_a_bad_value_of_an_argument_does_not_end_the_loop(self):
        # oslo.config raises SystemExit for it, when it is an argument.
        self.assertIn("[DEFAULT] dry_run: Unexpected boolean value 'maybe'",
                      self.refused('[DEFAULT]\ndry_run = maybe\n'))

    def test_others_stay_and_are_named(self):
        self.rewrite('[DEFAULT]\nreconcile_interval = 7\n'
                     'bridge_dev = br-new\n')
        reload.reload(self.conf)
        self.assertEqual((7, 'br-ex'), (self.conf.reconcile_interval,
                                        self.conf.bridge_dev))
        self.assertIn('bridge_dev', self.log.output)

    def test_a_bad_value_changes_nothing(self):
        self.assertIn('reconcile_interval', self.refused(
            '[DEFAULT]\nreconcile_interval = 0\ndebug = true\n'))
        self.assertIs(False, self.conf.debug)

    def test_what_contradicts_itself_changes_nothing(self):
        self.assertIn('veth_nexthop', self.refused(
            '[DEFAULT]\nreconcile_interval = 7\n'
            '[veth_leak]\nveth_nexthop = 169.254.0.2\n'))

    def test_a_file_that_cannot_be_parsed_changes_nothing(self):
        self.assertIn(self.conf.config_file[0],
                      self.refused('reconcile_interval\n'))

    def test_a_file_that_is_gone_changes_nothing(self):
        path = self.conf.config_file[0]
        os.unlink(path)
        error = self.assertRaises(validate.ConfigError, reload.reload,
                                  self.conf)
        self.assertIn(path, str(error))

    def test_a_file_that_is_no_text_changes_nothing(self):
        with open(self.conf.config_file[0], 'wb') as opened:
            opened.write(b'[DEFAULT]\n# l\xe4uft\nreconcile_interval = 7\n')
        error = self.assertRaises(validate.ConfigError, reload.reload,
                                  self.conf)
        self.assertIn('cannot be read', str(error))
        self.assertEqual(5, self.conf.reconcile_interval)

    def test_port_forwarding_neither_begins_nor_ends(self):
        self.assertIn('[port_forward] rules_file = /etc/rules.yaml: to '
                      'begin forwarding ports takes a restart',
                      self.refused('[port_forward]\n'
                                   'rules_file = /etc/rules.yaml\n'))
        self.assertEqual('', self.conf.port_forward.rules_file)
        self.conf = self.load('[DEFAULT]\nreconcile_interval = 5\n'
                              '[port_forward]\nrules_file = /etc/a.yaml\n')
        self.assertIn('(empty): to end forwarding',
                      self.refused('[DEFAULT]\nreconcile_interval = 7\n'))
        self.assertEqual('/etc/a.yaml', self.conf.port_forward.rules_file)

    def test_how_ports_are_forwarded_may_change(self):
        self.conf = self.load('[port_forward]\nrules_file = /etc/a.yaml\n')
        self.rewrite('[port_forward]\nrules_file = /etc/b.yaml\n'
                     'balance = consistent\nvip_announce = with-gateway\n'
                     'port_forward_table_id = 205\n')
        reload.reload(self.conf)
        values = self.conf.port_forward
        self.assertEqual(
            ('/etc/b.yaml', 'consistent', 'with-gateway', 201),
            (values.rules_file, values.balance, values.vip_announce,
             values.port_forward_table_id))

    def test_the_environment_counts_as_at_the_start(self):
        self.rewrite('[DEFAULT]\nreconcile_interval = 7\n')
        self.useFixture(fixtures.EnvironmentVariable(
            'OS_DEFAULT__RECONCILE_INTERVAL', '9'))
        reload.reload(self.conf)
        self.assertEqual(9, self.conf.reconcile_interval)
