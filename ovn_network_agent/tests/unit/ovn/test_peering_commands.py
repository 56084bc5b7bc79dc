# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of peerings that have lost their marks, in tables of python-ovs."""

import types
import uuid

from oslotest import base
from ovs.db import data
from ovs.db import idl

from ovn_network_agent import resources
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.ovsdb import columns as columns_of
from ovn_network_agent.tests.unit.ovn import peers

PORT, ROUTE = peering_rows.PORT, peering_rows.ROUTE


def many(kind, **more):
    return {'type': {'key': kind, 'min': 0, 'max': 'unlimited', **more}}


def few(kind):
    return {'type': {'key': kind, 'min': 0, 'max': 1}}


def refer(table):
    return many({'type': 'uuid', 'refTable': table, 'refType': 'strong'})


TEXT, WORDS = {'type': 'string'}, many('string', value='string')
TABLES = {
    'Logical_Router': {
        'name': TEXT, 'ports': refer(PORT), 'static_routes': refer(ROUTE),
        'policies': refer(peering_rows.POLICY)},
    PORT: {'name': TEXT, 'mac': TEXT, 'networks': many('string'),
           'peer': few('string'), 'enabled': few('boolean')},
    ROUTE: {'ip_prefix': TEXT, 'nexthop': TEXT, 'output_port': few('string'),
            'policy': few('string'), 'route_table': TEXT},
    peering_rows.POLICY: {'match': TEXT, 'priority': {'type': 'integer'},
                          'action': TEXT},
    peering_rows.SET: {'name': TEXT, 'addresses': many('string')}}
ONE, TWO, THREE = (str(peers.key(number)) for number in (1, 2, 3))
MARKS = peers.marks(1, 2)


def side(router, other, number):
    return resources.PeerSide(
        router, peering_rows.port_name(router, other),
        f'0a:00:00:00:00:0{number}', (f'10.0.{number}.1/32',),
        ((f'10.0.{3 - number}.0/24', f'10.0.{3 - number}.1'),), (), ())


WANTED = resources.Peering(f'{ONE}~{TWO}', (side(ONE, TWO, 1),
                                           side(TWO, ONE, 2)))


class UnmarkedTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        schema = idl.SchemaHelper(schema_json={
            'name': 'OVN_Northbound', 'version': '1.0.0', 'tables': {
                table: {'columns': {**columns, 'external_ids': WORDS},
                        'isRoot': True}
                for table, columns in TABLES.items()}})
        schema.register_all()
        self.idl = idl.Idl('unix:nowhere', schema)
        self.addCleanup(self.idl.close)
        for router in (ONE, TWO, THREE):
            self.add('Logical_Router', key=router, name=router)
        self.row = {(values.table, values.router): self.add(
            values.table, values.router, external_ids=MARKS, **{
                name: list(atoms) for name, atoms in zip(
                    peering_rows.COLUMNS[values.table], values.atoms,
                    strict=True) if atoms})
            for values in peering_rows.wanted(WANTED)}

    def add(self, table, router=None, key=None, **columns):
        """A row as the server would send it, of a router."""
        key = uuid.UUID(key) if key else uuid.uuid4()
        made = idl.Row(self.idl, self.idl.tables[table], key, {})
        for name, column in self.idl.tables[table].columns.items():
            made._data[name] = data.Datum(column.type)
            empty = '' if column.type.is_scalar() else []
            self.put(made, name, columns.get(name, empty or (
                {} if column.type.is_map() else empty)))
        self.idl.tables[table].rows[key] = made
        if router:
            at = self.idl.tables['Logical_Router'].rows[uuid.UUID(router)]
            column = peering_rows.REFERENCES[table]
            self.put(at, column, [*columns_of.referenced(at, column), key])
        return made

    @staticmethod
    def put(row, column, value):
        """Another value, as the server would send it."""
        row._data[column] = data.Datum.from_python(
            row._data[column].type, value, lambda each: each)

    def read(self):
        return [*peering_rows.read({name: table.rows for name, table in
                                    self.idl.tables.items()})]

    def written(self, command=peering_rows.set_rows):
        """By UUID, the values that a command changes, or None; its refusal."""
        transaction = idl.Transaction(self.idl)
        made = command(types.SimpleNamespace(idl=self.idl), WANTED)
        made.run_idl(transaction)
        changed = {key: row._changes if row._changes is None else {
            column: getattr(row, column)
            for column in set(row._changes).union(*row._mutations.values())}
            for key, row in transaction._txn_rows.items()}
        transaction.abort()
        return {key: each for key, each in changed.items()
                if each is None or each}, made.refused

    def test_whole(self):
        self.assertEqual([WANTED], self.read())
        self.assertEqual(({}, ''), self.written())

    def test_each_row_gets_its_marks_back(self):
        for where, row in self.row.items():
            for words in ({}, {'note': 'x'},
                          *({key: text} for key, text in MARKS.items())):
                self.put(row, 'external_ids', words)
                found, = self.read()
                self.assertEqual(WANTED.ref, found.ref)
                self.assertNotEqual(WANTED, found, where)
                self.assertEqual(
                    ({row.uuid: {'external_ids': {**words, **MARKS}}}, ''),
                    self.written())
            self.put(row, 'external_ids', MARKS)

    def test_all_rows_have_lost_their_marks(self):
        for row in self.row.values():
            self.put(row, 'external_ids', {})
        self.assertEqual([WANTED.ref], [each.ref for each in self.read()])
        gone, _refused = self.written(peering_rows.remove_rows)
        self.assertEqual({row.uuid for row in self.row.values()},
                         {key for key, new in gone.items() if new is None})

    def test_a_second_route_goes(self):
        """As somebody has made it, or an agent while a mark was missing."""
        own = peering_rows.port_name(ONE, TWO)
        second = self.add(ROUTE, ONE, ip_prefix='10.0.2.0/24',
                          nexthop='10.0.2.1', output_port=own)
        found, = self.read()
        self.assertNotEqual(WANTED, found)
        changed, _refused = self.written()
        self.assertIsNone(changed[second.uuid])
        self.assertNotIn(self.row[ROUTE, ONE].uuid, changed)

    def test_rows_of_others_stay(self):
        """The name is that of the port of this router to another one."""
        own = peering_rows.port_name(ONE, TWO)
        for name in (own + 'x', own[:-1], own.upper(), f'lrp-{ONE}',
                     peering_rows.port_name(TWO, ONE), ''):
            self.add(ROUTE, ONE, ip_prefix='10.0.2.0/24', output_port=name)
        self.add(ROUTE, THREE, ip_prefix='10.0.2.0/24', output_port=own)
        for name in (own + 'x', peering_rows.port_name(TWO, THREE)):
            self.add(PORT, ONE, name=name, mac='0a:00:00:00:00:07')
        self.assertEqual([WANTED], self.read())
        self.assertEqual(({}, ''), self.written())
        # At another router, a port of the same name prevents the peering.
        row = self.row.pop((PORT, ONE))
        del self.idl.tables[PORT].rows[row.uuid]
        self.add(PORT, THREE, name=own, mac='0a:00:00:00:00:07')
        changed, refused = self.written()
        self.assertEqual({}, changed)
        self.assertIn(f'OVN has a {PORT} {own}', refused)
