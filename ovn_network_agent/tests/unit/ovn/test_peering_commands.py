# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of peerings that have lost their marks, in a replica of NB."""

import types
import uuid

from ovs.db import idl

from ovn_network_agent import resources
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds
from ovn_network_agent.tests.unit.ovn import peers

PORT, ROUTE = peering_rows.PORT, peering_rows.ROUTE
ONE, TWO, THREE = (str(peers.key(number)) for number in (1, 2, 3))
MARKS = peers.marks(1, 2)


def side(router, other, number):
    return resources.PeerSide(
        router, peering_rows.port_name(router, other),
        f'0a:00:00:00:00:0{number}', (f'10.0.{number}.1/32',),
        ((f'10.0.{3 - number}.0/24', f'10.0.{3 - number}.1'),), (), ())


WANTED = resources.Peering(f'{ONE}~{TWO}', (side(ONE, TWO, 1),
                                           side(TWO, ONE, 2)))


class UnmarkedTest(clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        for router in (ONE, TWO, THREE):
            self.nb.transact({'key': uuid.UUID(router), **ovsdb.insert(
                'Logical_Router', name=router)})
        self.row = {(values.table, values.router): self.add(
            values.table, values.router, external_ids=MARKS, **dict(zip(
                peering_rows.COLUMNS[values.table], values.atoms,
                strict=True)))
            for values in peering_rows.wanted(WANTED)}
        self.database = self.eyes(drivers=['network_peer']).databases['nb']

    def refer(self, router, table, how, row):
        return ovsdb.mutate('Logical_Router', {'_uuid': ['uuid', router]},
                            peering_rows.REFERENCES[table], how, row)

    def add(self, table, router, external_ids, **columns):
        """A row of a router, whose columns are lists; its UUID."""
        made, _referred = self.nb.transact(
            ovsdb.insert(table, 'row', external_ids=ovsdb.ovsdb_dict(
                external_ids), **{
                    name: ovsdb.ovsdb_set(values)
                    for name, values in columns.items() if values}),
            self.refer(router, table, 'insert', ['named-uuid', 'row']))
        return uuid.UUID(made['uuid'][1])

    def mark(self, where, words):
        """Other external_ids of the row of a table and router."""
        self.nb.update(where[0], {'_uuid': ['uuid', str(self.row[where])]},
                       external_ids=words)

    def read(self):
        with self.database.rows() as nb:
            return [*peering_rows.read(nb)]

    def written(self, command=peering_rows.set_rows):
        """By UUID, the values that a command changes, or None; its refusal."""
        replica = self.database._connection.idl
        transaction = idl.Transaction(replica)
        made = command(types.SimpleNamespace(idl=replica), WANTED)
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
        for where, key in self.row.items():
            for words in ({}, {'note': 'x'},
                          *({name: text} for name, text in MARKS.items())):
                self.mark(where, words)
                found, = self.read()
                self.assertEqual(WANTED.ref, found.ref)
                self.assertNotEqual(WANTED, found, where)
                self.assertEqual(
                    ({key: {'external_ids': {**words, **MARKS}}}, ''),
                    self.written())
            self.mark(where, MARKS)

    def test_all_rows_have_lost_their_marks(self):
        for where in self.row:
            self.mark(where, {})
        self.assertEqual([WANTED.ref], [each.ref for each in self.read()])
        gone, _refused = self.written(peering_rows.remove_rows)
        self.assertEqual({*self.row.values()},
                         {key for key, new in gone.items() if new is None})

    def test_a_second_route_goes(self):
        """As somebody has made it, or an agent while a mark was missing."""
        own = peering_rows.port_name(ONE, TWO)
        second = self.add(ROUTE, ONE, {}, ip_prefix=['10.0.2.0/24'],
                          nexthop=['10.0.2.1'], output_port=[own])
        found, = self.read()
        self.assertNotEqual(WANTED, found)
        changed, _refused = self.written()
        self.assertIsNone(changed[second])
        self.assertNotIn(self.row[ROUTE, ONE], changed)

    def test_rows_of_others_stay(self):
        """The name is that of the port of this router to another one."""
        own = peering_rows.port_name(ONE, TWO)
        for name in (own + 'x', own[:-1], own.upper(), f'lrp-{ONE}',
                     peering_rows.port_name(TWO, ONE), ''):
            self.add(ROUTE, ONE, {}, ip_prefix=['10.0.2.0/24'],
                     output_port=[name])
        self.add(ROUTE, THREE, {}, ip_prefix=['10.0.2.0/24'],
                 output_port=[own])

        def add_port(router, name):
            self.add(PORT, router, {}, name=[name], networks=['10.9.0.1/24'],
                     mac=['0a:00:00:00:00:07'])
        for name in (own + 'x', peering_rows.port_name(TWO, THREE)):
            add_port(ONE, name)
        self.assertEqual([WANTED], self.read())
        self.assertEqual(({}, ''), self.written())
        # At another router, a port of the same name prevents the peering.
        self.nb.transact(self.refer(ONE, PORT, 'delete', [
            'uuid', str(self.row[PORT, ONE])]))
        add_port(THREE, own)
        changed, refused = self.written()
        self.assertEqual({}, changed)
        self.assertIn(f'OVN has a {PORT} {own}', refused)
