# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The databases in memory of unit tests are as those of servers."""

import uuid

from ovs.db import types as ovs_types

from ovn_network_agent.ovsdb import columns
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import schemas as old
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds
from ovn_network_agent.tests.unit.ovn import memory
from ovn_network_agent.tests.unit.ovn import schemas


class Twin(ovsdb.Server):
    """A server, and the same in memory."""

    def __init__(self, name):
        super().__init__(name, {'sb': old.with_advertised}.get(name))
        self.memory = memory.Server(name)

    def transact(self, *steps):
        results = super().transact(*steps)
        if steps[0]['op'] not in ('comment', 'select'):
            self.memory.transact(*(
                {**step, 'key': uuid.UUID(result['uuid'][1])}
                if step['op'] == 'insert' else step
                for step, result in zip(steps, results, strict=True)))
        return results


class MemoryTest(base.OvsdbTestCase):

    server = staticmethod(Twin)

    def test_schemas(self):
        for name, server in self.servers.items():
            real = server._call('get_schema', [server.database])
            for table, what in schemas.of(name)['tables'].items():
                there = real['tables'][table]
                self.assertIs(what['isRoot'], there.get('isRoot', False))
                for column, wanted in what['columns'].items():
                    self.assertEqual(*(
                        self.kind(each['type']) for each in (
                            wanted, there['columns'][column])),
                        f'{table}.{column}')

    @staticmethod
    def kind(json):
        kind = ovs_types.Type.from_json(json)
        # Port.trunks has a limit of its own.
        return (kind.key.type, kind.key.ref_table_name, kind.key.ref_type,
                kind.value and kind.value.type, kind.n_min, kind.n_max > 1)

    def test_rows(self):
        options = {'drivers': ['provider_port', 'tenant_network'],
                   'tenant_network__extra_routes': True}
        real = self.eyes(**options)
        kept = clouds.Eyes({name: twin.memory for name, twin
                            in self.servers.items()}, **options)
        self.addCleanup(kept.stop)
        kept.start()
        for happens in self.history(self.cloud):
            happens()
            self.synchronise(real)
            self.assertEqual(self.content(real), self.content(kept))
        # The questions are answered alike, too.
        for eyes in real, kept:
            eyes.look()
        self.assertEqual(self.content(real), self.content(kept))

    def history(self, made):
        for name, group in (('r1', 'Gateway_Chassis'),
                            ('r2', 'HA_Chassis_Group')):
            yield lambda: made.add_router(name, chassis=cloud.CHASSIS,
                                          group=group)
        yield lambda: made.add_nat('r1', '198.51.100.10',
                                   external_mac='fa:16:3e:00:00:aa')
        yield lambda: made.add_nats('r2', ['198.51.100.11', '198.51.100.12'])
        yield lambda: made.add_static_route('r1', external_ids={'a': 'b'})
        yield lambda: made.add_tenant('r1', 'net', '10.0.0.1/24')
        yield lambda: made.add_balancer('r1', '10.0.0.200:80', group=True)
        yield lambda: made.add_machine('vm', cloud.CHASSIS, mac=['unknown'])
        yield lambda: made.apply_order('lrp-r1', {cloud.OTHER: 5})
        yield lambda: made.say('Logical_Router', {'name': 'neutron-r1'},
                               options={'a': 'b'}, external_ids={'c': 'd'})
        yield lambda: made.say('Logical_Router', {}, options={'a': None})
        yield lambda: made.remove_nat('r2', '198.51.100.12')
        yield lambda: made.move_machine('vm', cloud.OTHER, up=False)
        yield lambda: made.remove_balancers('r1')
        yield lambda: made.remove_tenant('r1', 'net')
        # Weak references to it go.
        yield lambda: made.sb.transact(
            {'op': 'delete', 'table': 'Chassis',
             'where': [['name', '==', cloud.OTHER]]})
        yield lambda: made.remove_router('r1')
        yield lambda: made.remove_router('r2')

    @staticmethod
    def content(eyes):
        """All rows of the replicas, but for the marks of the test."""
        found = {}
        for name, database in eyes.databases.items():
            with database.rows() as tables:
                found.update({
                    (name, table, row.uuid): {
                        column: columns.in_json(row, column)
                        for column in columns.names(row)}
                    for table, rows in tables.items()
                    if (name, table) not in {
                        (name, table)
                        for name, (table, _text) in base.MARKS.items()}
                    for row in rows.values()})
        return found
