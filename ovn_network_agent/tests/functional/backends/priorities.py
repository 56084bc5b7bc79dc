# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Candidates of two groups, for the tests of priorities."""

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import gateway_priority
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world

HERE, OTHER = cloud.CHASSIS, cloud.OTHER
TABLES = ('Gateway_Chassis', 'HA_Chassis_Group')
# Of the candidates in the test's cloud.
BEFORE = ((HERE, 2), (OTHER, 1))


class TooLate(gateway_priority.GatewayPriorityBackend):
    """Somebody writes between the decision and the transaction.

    :ivar meanwhile: called once, on the thread that keeps up the replica,
        which can therefore not have seen what it does
    """

    def command(self, verb, resource):
        made = super().command(verb, resource)

        def late(api):
            command = made(api)
            run_idl = command.run_idl

            def run(txn):
                meanwhile, self.meanwhile = self.meanwhile, lambda: None
                meanwhile()
                run_idl(txn)
            command.run_idl = run
            return command
        return late


class Candidates:
    """Mix-in for a test case with a cloud."""

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

    def external_ids(self, table, chassis=HERE):
        """As the server has them, a dict."""
        rows = self.nb.rows('HA_Chassis' if table == 'HA_Chassis_Group'
                            else table, 'external_ids', where=ovsdb.clauses(
                                {'chassis_name': chassis}))
        return dict(rows[0]['external_ids'][1])
