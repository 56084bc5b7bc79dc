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

"""Agents with the driver egress_ip: from a file to rows of a real database."""

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import egress

SHOP = {'name': 'shop', 'addresses': ['198.51.100.50', '2001:db8::50'],
        'select': {'network': 'net1'}}


class RouterTest(egress.EgressTestCase):
    """Mode router: machines leave by NAT rows of their router."""

    def test_machines_come_and_go(self):
        self.cloud.add_ports('net1', a=['10.0.1.5', 'fd00:1::5'])
        self.put(SHOP)
        agent = self.agent()
        first = [('shop', '10.0.1.5', '198.51.100.50'),
                 ('shop', 'fd00:1::5', '2001:db8::50')]
        self.leave(*first)
        self.well(agent)
        before = self.ours().keys()
        self.transactions.since()
        self.cloud.add_ports('net1', b=['10.0.1.6'])
        self.leave(*first, ('shop', '10.0.1.6', '198.51.100.50'))
        # The port, and its row.
        self.assertEqual(2, self.transactions.since())
        self.assertEqual(set(), before - self.ours().keys())
        self.cloud.remove_port('net1', 'b')
        self.leave(*first)
        self.assertEqual(before, self.ours().keys())
        self.put()
        self.leave()
        self.well(agent)
        self.assertEqual({}, self.ours())

    def test_only_to_some_destinations(self):
        self.cloud.add_ports('net1', a=['10.0.1.5'])
        self.put({**SHOP, 'destinations': ['192.0.2.0/24', '2001:db8:2::/48']})
        agent = self.agent()
        self.leave(('shop', '10.0.1.5', '198.51.100.50'))
        nat, = (row for (table, _uuid), row in self.ours().items()
                if table == 'NAT')
        row, = (row for (table, _uuid), row in self.ours().items()
                if table == 'Address_Set')
        self.assertEqual(row['_uuid'], nat['allowed_ext_ips'])
        self.assertEqual('192.0.2.0/24', row['addresses'])
        self.well(agent)
        self.put(SHOP)
        self.eventually(lambda: [table for table, _uuid in self.ours()] ==
                        ['NAT'], self.ours)
        self.well(agent)

    def test_a_changed_row_is_repaired(self):
        self.cloud.add_ports('net1', a=['10.0.1.5'], b=['10.0.1.6'])
        self.put(SHOP)
        agent = self.agent()
        wanted = [('shop', '10.0.1.5', '198.51.100.50'),
                  ('shop', '10.0.1.6', '198.51.100.50')]
        self.leave(*wanted)
        self.well(agent)
        for change in (
                lambda: self.nb.transact(ovsdb.update(
                    'NAT', {'logical_ip': '10.0.1.5'},
                    external_ip='198.51.100.99')),
                lambda: self.cloud.remove_nat('r1', '198.51.100.50')):
            change()
            self.leave(*wanted)
        self.well(agent)
