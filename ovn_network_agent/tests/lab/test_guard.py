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
"""The withdrawal guard, with traffic; decision record 0021."""

from lab import node as nodes
from lab import withdrawals
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.lab import base

# Seconds of traffic while the Northbound database is empty.
EMPTY = 3


class TestGuard(base.LabTestCase):
    """Router alpha on gw1."""

    CONFIG = {'DEFAULT': {'withdrawal_guard_minimum': '2'}}

    @classmethod
    def build(cls):
        cls.alpha = cls.cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.vm, cls.fip = cls.machine(cls.alpha)

    def test_an_emptied_northbound_database(self):
        """While northd is away, OVN forwards, and the agent announces.

        The rows come back from a copy, with other UUIDs.
        """
        central = self.cloud['central']
        copy = central.out('ovsdb-client', 'backup',
                           'unix:/run/ovn/ovnnb_db.sock', 'OVN_Northbound')
        mark, before = self.mark('gw1'), self.state('gw1')
        with (withdrawals.Withdrawals(self.cloud) as withdrawn,
              self.probing(self.fip.address) as running):
            central.pause('northd')
            try:
                central.run(['ovn-nbctl', '--', '--all', 'destroy',
                             'Logical_Router'])
                self.wait_said('gw1', 'the withdrawal guard holds 2 of 2 '
                               'announced addresses', mark)
                waiting.lasts(lambda: self.assertEqual(
                    [self.cloud.route(self.fip.address)],
                    self.hops(self.fip.address)), EMPTY)
                self.assertIn('has no router at all',
                              self.cloud.agents['gw1'].ctl('status').stdout)
                # The program wants a file, and no pipe.
                central.run(['sh', '-ec', 'cat > /tmp/nb.copy; ovsdb-client '
                             'restore unix:/run/ovn/ovnnb_db.sock '
                             'OVN_Northbound < /tmp/nb.copy; '
                             'rm /tmp/nb.copy'], input=copy)
                self.wait_said('gw1', 'The withdrawal guard holds nothing '
                               'any more', mark)
                base.note('an emptied database: '
                          f'{self.lossless(running)}')
            finally:
                central.resume('northd')
            self.assertEqual([], withdrawn.seen())
        self.assertEqual([], [change for change in self.changes('gw1', mark)
                              if self.fip.address + '/32' in change])
        self.reach(self.client, 'icmp', self.fip.address)
        nodes.wait_until('gw1 has what it had', lambda:
                         self.state('gw1') == before, base.SETTLE)
