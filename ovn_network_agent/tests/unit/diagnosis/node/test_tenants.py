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

"""The check of networks of tenants."""

from ovn_network_agent.diagnosis.node import tenants
from ovn_network_agent.tests.unit.diagnosis.node import base


class TenantsTest(base.JudgeTestCase):

    def test_all_is_well(self):
        self.assertIn('3 prefixes of tenants can be announced', self.judged(
            tenants.judge_tenants, tenants.Tenants(3, {}), base.OK))

    def test_each_fault(self):
        said = self.judged(
            tenants.judge_tenants, tenants.Tenants(9, {
                ('overlaps with x', 'change it'): [
                    f'10.0.{n:d}.0/24' for n in range(9)],
                ('overlaps with y', 'change it'): ['10.9.0.0/24']}),
            base.WARN, base.WARN)
        self.assertIn('more: overlaps with x', said)
        self.assertIn('10.9.0.0/24: overlaps with y', said)
