# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A dry run of the whole service."""

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services

HERE = services.HERE


class DryRunTest(services.ServiceTestCase):

    def test_it_writes_nothing_and_tells_all(self):
        """Trap T22: least of all to the databases."""
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.nb.transact(ovsdb.update('Gateway_Chassis', {}, priority=0))
        before = [server.content() for server in self.servers.values()]
        agent = self.agent(start=False)
        steps, outcome = agent.plan(ovsdb.DEADLINE)
        self.assertTrue(outcome.settled, outcome)
        self.assertLess(
            {('create', 'announcement'), ('create', 'default_route'),
             ('create', 'advertised'),
             ('create', 'mac_binding'), ('create', 'kernel_route')},
            {(verb, resource.kind) for verb, resource in steps})
        self.assertEqual(set(), self.world.values())
        self.assertEqual(before, [server.content()
                                  for server in self.servers.values()])
