# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver gateway_drain in the whole service; OVN is played by the test."""

from ovn_network_agent.backends.northbound import gateway_priority
from ovn_network_agent.drivers import gateway_drain
from ovn_network_agent.gateways import drain
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.unit import world as worlds

HERE, OTHER = cloud.CHASSIS, cloud.OTHER
TABLES = {'Gateway_Chassis': 'Gateway_Chassis',
          'HA_Chassis_Group': 'HA_Chassis'}
# Nothing here may be found out by the pass that comes anyhow.
NEVER = 3600


class OrderTestCase(services.ServiceTestCase):

    drivers = {**services.ServiceTestCase.drivers,
               'gateway_drain': gateway_drain.GatewayDrainDriver}
    real = {**services.ServiceTestCase.real,
            'gateway_priority': gateway_priority.GatewayPriorityBackend}

    # Nobody makes any here, and a drain would wait for them.
    relay = False
    # Three seconds of each drain; its own tests have it.
    overlap = False

    def setUp(self):
        super().setUp()
        for number, table in enumerate(TABLES, 1):
            self.cloud.add_router(table, chassis=HERE, group=table, networks=[
                f'198.51.100.{number}/24'])
        self.moves = []

    def running(self, **options):
        """The agent of this chassis, once all is in place."""
        agent = self.agent(**{
            'drivers': list(self.drivers), 'reconcile_interval': NEVER,
            'gateway_drain__drain_settle_delay': 0,
            'gateway_drain__relay': self.relay,
            'gateway_drain__overlap': self.overlap, **options})
        self.eventually(
            lambda: agent.status.reasons == () and agent._loop._phase is
            agent._loop._serving, lambda: agent.status.reasons)
        return agent

    def set(self, chassis, **row):
        """Somebody else changes the candidates of a chassis."""
        for table in TABLES.values():
            self.nb.transact(ovsdb.update(table, {'chassis_name': chassis},
                                          **row))

    def candidates(self, table):
        """As the server has them: dict of chassis to (priority, marks)."""
        found = {}
        for row in self.nb.rows(TABLES[table]):
            marks = dict(row['external_ids'][1])
            found[row['chassis_name']] = (row['priority'], *(
                marks[key] for key in ('ovn-network-agent-drained',
                                       'ovn-network-agent-priority')
                if key in marks))
        return found

    def become(self, here, other, tables=tuple(TABLES)):
        """Wait for the candidates of both chassis."""
        wanted = {HERE: here, OTHER: other}
        self.eventually(lambda: all(
            self.candidates(table) == wanted for table in tables),
            lambda: [self.candidates(table) for table in TABLES])

    def ovn(self):
        """What ovn-northd and the ovn-controllers make of the priorities."""
        for table in TABLES:
            best = max((priority, name) for name, (priority, *_marks)
                       in self.candidates(table).items())[1]
            port = self.sb.rows('Port_Binding', 'chassis',
                                where=ovsdb.clauses({
                                    'logical_port': 'cr-lrp-' + table}))[0]
            wanted = self.sb.rows('Chassis', '_uuid', where=ovsdb.clauses(
                {'name': best}))[0]['_uuid']
            if port['chassis'] != wanted:
                self.moves.append((table, best))
                self.cloud.move('lrp-' + table, best)

    def with_ovn(self, condition, what):
        """Wait for a condition while OVN follows."""
        return self.eventually(lambda: self.ovn() or condition(), what)

    def completes(self, agent):
        """Assert that a stop ends with a complete drain; OVN follows."""
        self.with_ovn(lambda: agent.wait(0), 'the end')
        self.assertIs(drain.Result.COMPLETED, agent.drain.result)

    def elsewhere(self, chassis, **values):
        """The agent of another chassis, on its own node."""
        server = ovsdb.Server('ovs')
        self.addCleanup(server.close)
        server.start()
        cloud.Cloud(self.nb, self.sb, server).fill_ovs()
        server.transact(ovsdb.update(
            'Open_vSwitch', {}, external_ids=ovsdb.ovsdb_dict({
                'system-id': chassis,
                'ovn-bridge-mappings': f'physnet1:{cloud.BRIDGE}'})))
        mine, self.world = self.world, worlds.World()
        self.addCleanup(setattr, self, 'world', mine)
        agent = self.running(ovs__ovsdb_connection=server.remote, **values)
        self.world = mine
        return agent
