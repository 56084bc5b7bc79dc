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


from oslotest import base

from ovn_network_agent.ovs import wiring

_KEY = 'ovn-bridge-mappings'
_ALL = {'system-id': 'gw1', _KEY: 'physnet1:br-ex'}


class OfChassisTest(base.BaseTestCase):
    """ovn-controller(8): the keys of one chassis override the others."""

    def mappings(self, **external_ids):
        return wiring.bridge_mappings({**_ALL, **external_ids})

    def test_the_key_of_this_chassis_comes_first(self):
        self.assertEqual((('physnet1', 'br-ex'),), self.mappings())
        self.assertEqual((('physnet2', 'br-own'),), self.mappings(
            **{f'{_KEY}-gw1': 'physnet2:br-own'}))

    def test_the_key_of_another_chassis_does_not_count(self):
        self.assertEqual((('physnet1', 'br-ex'),), self.mappings(
            **{f'{_KEY}-gw2': 'physnet2:br-own'}))

    def test_an_empty_value_counts(self):
        self.assertEqual((), self.mappings(**{f'{_KEY}-gw1': ''}))

    def test_other_keys(self):
        own = {**_ALL, 'hostname': 'a', 'hostname-gw1': 'b'}
        self.assertEqual('b', wiring.of_chassis(own, 'hostname'))
        self.assertEqual('', wiring.of_chassis(_ALL, 'hostname'))
        self.assertEqual('hostname-gw1',
                         wiring.key_of_chassis(own, 'hostname'))
        self.assertEqual('hostname', wiring.key_of_chassis(_ALL, 'hostname'))
