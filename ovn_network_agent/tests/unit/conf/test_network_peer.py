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
from ovn_network_agent.conf import validate
from ovn_network_agent.tests.unit.conf import base


class NetworkPeerTest(base.ConfTestCase):

    def test_priorities_have_an_order(self):
        text = '[DEFAULT]\ndrivers = {}\n[network_peer]\nallow_priority = {}'
        for priority in (499, 500):
            found, = validate.problems(self.load(text.format(
                'network_peer', priority)))
            self.assertIn('[network_peer] allow_priority', found)
            self.assertIn('drop_priority (500)', found)
        for drivers, priority in (('network_peer', 501), ('fip_route', 1)):
            self.assertEqual([], validate.problems(self.load(text.format(
                drivers, priority))))

    def test_egress_addresses_come_behind_what_drops(self):
        text = ('[DEFAULT]\ndrivers = {}\n[egress_ip]\npolicy_priority = {}'
                '\n[network_peer]\ndrop_priority = 200\n')
        both = 'network_peer,egress_ip'
        for priority in (200, 600):
            found, = validate.problems(self.load(text.format(both, priority)))
            self.assertIn(f'[egress_ip] policy_priority = {priority}', found)
            self.assertIn('drop_priority is 200', found)
            self.assertIn('choose a number below it', found)
        for drivers, priority in ((both, 199), ('network_peer', 600),
                                  ('egress_ip', 600)):
            self.assertEqual([], validate.problems(self.load(text.format(
                drivers, priority))))
