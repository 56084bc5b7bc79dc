# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Databases that go, hang and come back: said at once, nothing withdrawn."""

import time

from ovn_network_agent import ownership
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import loss

HERE = loss.HERE
PROBE = loss.PROBE


class LossTest(loss.LossTestCase):
    """Row EVT-09, trap T6."""

    def test_each_that_goes_and_each_that_hangs(self):
        agent = self.running()
        before = self.world.values()
        for name, server in self.servers.items():
            database = ovsdb.DATABASES[name]
            started = time.monotonic()
            server.kill()
            self.degraded(agent, database, 'not connected')
            self.assertLess(time.monotonic() - started, 3)
            self.assertEqual(before, self.world.values())
            server.start()
            self.well(agent)
        # The probe notices this, also on a Unix socket, which python-ovs
        # alone never probes.
        for server in self.servers.values():
            server.pause()
        names = ovsdb.DATABASES.values()
        self.degraded(agent, 'not connected', *names)
        # They accept connections: that alone is no reason to trust them.
        waiting.lasts(lambda: [
            self.assertIn(name, str(agent.status.reasons))
            for name in names], 2 * PROBE / 1000)
        self.assertEqual(before, self.world.values())
        for server in self.servers.values():
            server.resume()
        self.well(agent)
        self.assertEqual(before, self.world.values())

    def test_rows_that_another_chassis_takes(self):
        """Whether the port is still here can only be seen with SB."""
        agent = self.running(ovn__ovsdb_probe_interval=60000)
        self.addCleanup(self.sb.resume)
        for goes, returns, said in (
                (self.sb.pause, self.sb.resume,
                 'OVN_Southbound has not answered'),
                (self.sb.kill, self.sb.start, 'OVN_Southbound')):
            self.eventually(lambda: self.routes() == [cloud.HOSTNAME],
                            self.routes)
            goes()
            self.taken()
            self.degraded(agent, said, f'{cloud.OTHER_HOSTNAME} has the '
                          'default route')
            self.assertEqual([cloud.OTHER_HOSTNAME], self.routes())
            returns()
            # The port is still here.
            self.eventually(lambda: self.routes() == [cloud.HOSTNAME],
                            self.routes)
            self.well(agent)
        self.cloud.move('lrp-r1', cloud.OTHER)
        self.eventually(lambda: not self.announced(), self.announced)
        self.taken()
        self.cloud.move('lrp-r1', loss.HERE)
        self.eventually(lambda: self.routes() == [cloud.HOSTNAME], self.routes)
        self.well(agent)

    def test_what_changed_meanwhile_is_done_afterwards(self):
        agent = self.running()
        self.lose_both(agent)
        # Behind its back: other members of the cluster took these.
        for server in (self.nb, self.sb):
            server.start()
            server.transact({'op': 'comment', 'comment': 'up'})
        self.cloud.add_nat('r1', '198.51.100.11')
        self.cloud.remove_nat('r1', '198.51.100.10')
        self.eventually(lambda: self.announced() == {
            '198.51.100.1/32', '198.51.100.11/32'}, self.announced)
        self.well(agent)

    def taken(self):
        """Another chassis takes the rows of the router."""
        self.nb.transact({
            'op': 'mutate', 'table': 'Logical_Router_Static_Route',
            'where': [], 'mutations': [
                ['external_ids', 'delete',
                 ['set', [ownership.EXT_ID_CHASSIS]]],
                ['external_ids', 'insert',
                 ['map', [[ownership.EXT_ID_CHASSIS,
                           cloud.OTHER_HOSTNAME]]]]]})

    def test_a_database_of_another_birth(self):
        # Its rows are other rows; the reload must not be half of both.
        agent = self.running()
        self.nb.kill()
        self.degraded(agent, 'OVN_Northbound')
        self.nb.create()
        self.sb.kill()
        self.sb.create()
        self.nb.start()
        self.sb.start()
        self.cloud.ports.clear()
        self.fill_again()
        self.eventually(lambda: self.announced() == {
            '198.51.100.1/32', '198.51.100.20/32'}, self.announced)
        self.well(agent)

    def fill_again(self):
        ovs, self.ovs.transact = self.ovs.transact, lambda *_ops: None
        try:
            self.cloud.fill()
        finally:
            self.ovs.transact = ovs
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.20')
