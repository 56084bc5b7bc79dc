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

from ovn_network_agent.diagnosis.node import advertised
from ovn_network_agent.tests.unit.diagnosis.node import base


class AdvertisedTest(base.JudgeTestCase):

    def judge(self, verdict, *values):
        return self.judged(advertised.judge_advertised,
                           advertised.Advertised(*values), verdict)

    def test_off(self):
        self.assertIn('is off', self.judge(base.OK, False))

    def test_without_the_table(self):
        self.assertIn('25.03', self.judge(base.WARN, True))

    def test_routers_without_routes(self):
        self.assertIn('dynamic-routing-redistribute',
                      self.judge(base.WARN, True, True, 2, 0))

    def test_routes(self):
        for values in ((2, 5), (0, 0), (0, 3)):
            self.assertIn(f'{values[1]} routes for {values[0]} routers',
                          self.judge(base.OK, True, True, *values))
