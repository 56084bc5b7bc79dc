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

import types

from oslotest import base

from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.ovsdb import replica


class WatchersTest(base.BaseTestCase):
    """Who is told of which changes; real rows are in functional.ovn."""

    def told(self, *changes, counts=None, **watch):
        """How often somebody is told of (event, table, former columns)."""
        told = []
        watchers = replica.Watchers()
        watchers.add(drivers.Watch('nb', 'NAT', ('type', 'logical_ip'),
                                   **watch), lambda: told.append(1), counts)
        for event, table, columns in changes:
            watchers.tell(
                event, types.SimpleNamespace(
                    _table=types.SimpleNamespace(name=table)),
                types.SimpleNamespace(_data=dict.fromkeys(columns)))
        return len(told)

    def test_a_table_of_others(self):
        self.assertEqual(0, self.told(('create', 'Logical_Router', ())))

    def test_only_the_wanted_events(self):
        changes = [(event, 'NAT', ('type',))
                   for event in drivers.ALL_EVENTS]
        self.assertEqual(3, self.told(*changes))
        self.assertEqual(1, self.told(*changes, events=('update',)))
        self.assertEqual(0, self.told(*changes, events=()))

    def test_an_update_of_other_columns(self):
        self.assertEqual(1, self.told(('update', 'NAT', ('external_ip',)),
                                      ('update', 'NAT', ('logical_ip', 'x'))))

    def test_rows_that_do_not_count(self):
        change = 'update', 'NAT', ('type',)
        self.assertEqual(0, self.told(change, counts=lambda row, old: False))
        self.assertEqual(1, self.told(
            change, counts=lambda row, old: 'type' in old._data))
