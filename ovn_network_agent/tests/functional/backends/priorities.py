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

"""Candidates of two groups in real databases, for the tests of priorities."""

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import gateway_priority
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.unit import world

HERE, OTHER = cloud.CHASSIS, cloud.OTHER
TABLES = ('Gateway_Chassis', 'HA_Chassis_Group')
# Of the candidates in the test's cloud.
BEFORE = ((HERE, 2), (OTHER, 1))


class PriorityTestCase(base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        for number, table in enumerate(TABLES):
            self.cloud.add_router(table, chassis=HERE, group=table, networks=[
                f'198.51.100.{number + 1}/24'])
        self.eyes_ = self.eyes()
        self.backend = self.agent()

    def agent(self, chassis=HERE, timeout=5, eyes=None,
              backend=gateway_priority.GatewayPriorityBackend, groups=None):
        made = backend(world.conf(ovn__transaction_timeout=timeout))
        made.attach(backends.Context((eyes or self.eyes_).databases,
                                     lambda: 'gw1', lambda: chassis,
                                     groups=lambda: groups))
        return made

    def groups(self):
        """Groups by table, as they are seen."""
        return {group.table: group for group in self.eyes_.look().groups}

    def priority(self, table, priority, chassis=HERE, before=BEFORE,
                 **values):
        group = self.groups()[table]
        return resources.GatewayPriority(
            table, group.key, chassis, priority, **{
                'owned': tuple(port.redirect for port in group.ports),
                'before': before, 'after': ((chassis, priority),),
                **values})

    def update(self, *wanted, backend=None):
        return (backend or self.backend).apply(backends.Delta(
            update=tuple((r, r) for r in wanted)))

    def priorities(self, table):
        """As the server has them, dict of chassis to int."""
        found = self.nb.rows('HA_Chassis' if table == 'HA_Chassis_Group'
                             else table)
        return {row['chassis_name']: row['priority'] for row in found}
