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

"""The options of the original have counterparts that exist."""

from oslotest import base

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import original


class OptionsTest(base.BaseTestCase):

    def test_each_counterpart_exists(self):
        here = {(section, option.dest)
                for section, option in opts.everything()}
        for option in original.OPTIONS:
            if option.option:
                self.assertIn((option.section, option.option), here)
                self.assertEqual('', option.why)
                self.assertIs(option, original.counterpart(
                    option.section, option.option))
            else:
                self.assertNotEqual('', option.why, option.name)

    def test_names(self):
        self.assertEqual(len(original.OPTIONS), len(original.BY_NAME))
        self.assertEqual('OVN_NETWORK_OVN_NB_REMOTE',
                         original.BY_NAME['ovn_nb_remote'].variable)
        self.assertIsNone(original.counterpart('ovn', 'transaction_timeout'))
