# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Databases whose schema lacks what the agent reads."""

from ovn_network_agent.ovsdb import time_limits
from ovn_network_agent.tests.functional.ovn import base


class OlderSchemaTest(base.OvsdbTestCase):

    @staticmethod
    def _older_nb(tables):
        for table in ('Static_MAC_Binding', 'HA_Chassis_Group',
                      'HA_Chassis'):
            del tables[table]
        for table in tables.values():
            for column in ('ha_chassis_group', 'gateway_port',
                           'route_table'):
                table['columns'].pop(column, None)

    @staticmethod
    def _older_sb(tables):
        for table in tables.values():
            for column in ('additional_chassis', 'additional_encap'):
                table['columns'].pop(column, None)

    schema_changes = {'nb': _older_nb, 'sb': _older_sb}

    def test_what_is_missing_reads_as_empty(self):
        self.cloud.add_router('r1', chassis=base.cloud.CHASSIS)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.cloud.add_static_route('r1')
        eyes = self.eyes()
        router = eyes.router('r1')
        self.assertEqual({'198.51.100.10'}, eyes.fips('r1'))
        self.assertEqual(['Gateway_Chassis'],
                         [g.table for g in eyes.look().groups])
        self.assertTrue(router.ports[0].local)
        self.assertEqual(['198.51.100.9'],
                         [r.nexthop for r in router.default_routes])


class SchemaTest(base.OvsdbTestCase):

    def test_each_remote_has_its_reason(self):
        error = self.assertRaises(
            time_limits.NoSchema, time_limits.fetch_schema,
            f'unix:/nowhere/sock,{self.sb.remote}', 'OVN_Northbound', 5)
        self.assertIn('unix:/nowhere/sock: No such file', str(error))
        self.assertIn(self.sb.remote, str(error))
