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


"""What the command log-level refuses."""

from oslotest import base

from ovn_network_agent.control import commands
from ovn_network_agent.control import log_level


class CommandTest(base.BaseTestCase):

    def refused(self, *argv):
        arguments = commands.arguments('log-level', log_level.USAGE)
        return str(self.assertRaises(commands.Refused, log_level.run,
                                     arguments, list(argv)))

    def test_what_cannot_be(self):
        self.assertIn('there is no logger', self.refused(
            'debug', '--logger', 'ovn_network_agent.nothing'))
        self.assertIn('--for needs a LEVEL', self.refused('--for', '5'))
        for seconds in ('0', '-1', '86401', 'nan'):
            self.assertIn('more than 0', self.refused('debug', '--for',
                                                      seconds))
        self.assertIn('invalid choice', self.refused('loud'))
