# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend peering on a real database."""

import os
import threading

import fixtures

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.ovsdb import lock
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.tests.functional.backends import peerings
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

PORT, ROUTE, POLICY, SET = peerings.TABLES
REFERENCES = {PORT: 'ports', ROUTE: 'static_routes', POLICY: 'policies'}


class WriteTest(peerings.PeeringTestCase):

    def test_both_sides_come_and_go_in_one_transaction_each(self):
        before = self.nb.content()
        wanted = self.peering()
        self.assertEqual({}, self.create(wanted))
        self.assertEqual(1, self.transactions.since())
        self.read_until(wanted)
        self.assertEqual(2 + 4 + 6 + 4, len(self.ours()))
        # Once more: nothing to do.
        self.assertEqual({}, self.create(wanted))
        self.assertEqual(0, self.transactions.since())
        self.assertEqual({}, self.delete(wanted))
        self.assertEqual(1, self.transactions.since())
        self.read_until()
        self.assertEqual({}, self.ours())
        after = self.nb.content()
        for rows in (*before['Logical_Router'], *after['Logical_Router']):
            del rows['_version']
        self.assertEqual(before, after)

    def test_rows_that_are_right_stay(self):
        """One more prefix is one more route and a longer address set."""
        old, new = self.peering(), self.peering(extra=['10.9.0.0/16'])
        self.create(old)
        self.read_until(old)
        before = self.ours()
        self.transactions.since()
        self.assertEqual({}, self.change(old, new))
        self.assertEqual(1, self.transactions.since())
        self.read_until(new)
        after = self.ours()
        come = [after[key] for key in after.keys() - before.keys()]
        self.assertEqual([('10.9.0.0/16', '10.0.2.1')],
                         [(row['ip_prefix'], row['nexthop']) for row in come])
        self.assertEqual(set(), before.keys() - after.keys())
        self.assertEqual(['peer_1_x_ip4'], [
            row['name'] for key, row in before.items()
            if row['_version'] != after[key]['_version']])
        self.assertEqual({}, self.change(new, old))
        self.read_until(old)
        self.assertEqual(before.keys(), self.ours().keys())

    def damages(self):
        """(what, operations): by hand, one row of each kind."""
        keys = {table: next(key for key, row in self.ours().items()
                            if row in self.nb.rows(table))
                for table in peerings.TABLES}

        def of(table):
            return [['_uuid', '==', ['uuid', keys[table]]]]

        def change(table, **row):
            return {'op': 'update', 'table': table, 'where': of(table),
                    'row': row}
        for table, column in REFERENCES.items():
            yield f'{table} taken out', [{
                'op': 'mutate', 'table': 'Logical_Router', 'where': [],
                'mutations': [[column, 'delete', ['uuid', keys[table]]]]}]
        yield 'no set', [{'op': 'delete', 'table': SET, 'where': of(SET)}]
        yield 'less in a set', [change(SET, addresses=ovsdb.ovsdb_set([]))]
        yield 'set without side', [{
            'op': 'mutate', 'table': SET, 'where': of(SET), 'mutations': [[
                'external_ids', 'delete', ovsdb.ovsdb_set(
                    [ownership.EXT_ID_PEER_SIDE])]]}]
        yield 'off', [change(PORT, enabled=False)]
        yield 'no peer', [change(PORT, peer='other')]
        yield 'networks', [change(PORT, networks='10.7.7.7/32')]
        yield 'by the source', [change(ROUTE, policy='src-ip')]
        yield 'table', [change(ROUTE, route_table='other')]
        yield 'no port', [change(ROUTE, output_port=ovsdb.ovsdb_set([]))]
        yield 'action', [change(POLICY, action='allow', priority=5000)]
        marks = ovsdb.ovsdb_dict({
            ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
            peerings.PEER: self.peering().pair})
        yield 'second route', [
            ovsdb.insert(ROUTE, 'r', ip_prefix='10.0.2.0/24',
                         nexthop='10.0.2.1', external_ids=marks),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-r1'},
                         'static_routes', 'insert', ['named-uuid', 'r'])]
        yield 'second port', [
            ovsdb.insert(PORT, 'r', name='second', mac='0a:00:00:00:00:07',
                         networks='10.0.1.1/32', external_ids=marks),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-r1'},
                         'ports', 'insert', ['named-uuid', 'r'])]
        yield 'in a third router', [
            ovsdb.insert(POLICY, 'r', priority=1, match='1', action='drop',
                         external_ids=marks),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-r3'},
                         'policies', 'insert', ['named-uuid', 'r'])]

    def test_each_damage_is_mended_by_one_transaction(self):
        wanted = self.peering()
        self.create(wanted)
        self.read_until(wanted)
        for what, _operations in list(self.damages()):
            operations = dict(self.damages())[what]
            self.nb.transact(*operations)
            found = self.eventually(
                lambda: [each for each in self.backend.read(frozenset())
                         if each != wanted], what)
            self.assertEqual([wanted.ref], [each.ref for each in found])
            self.transactions.since()
            self.assertEqual({}, self.change(found[0], wanted), what)
            self.assertEqual(1, self.transactions.since(), what)
            self.read_until(wanted)
            self.assertEqual(16, len(self.ours()), what)


class TroubleTest(peerings.PeeringTestCase):

    def test_the_driver_is_off(self):
        wanted = self.peering()
        self.create(wanted)
        self.read_until(wanted)
        other = self.agent()
        other.conf.set_override('drivers', ['fip_route'])
        self.assertEqual([], other.read(frozenset()))

    def test_a_router_is_deleted(self):
        """As Neutron does it; the far side and both address sets stay."""
        wanted = self.peering()
        self.create(wanted)
        self.read_until(wanted)
        self.nb.transact(ovsdb.delete('Logical_Router',
                                      {'name': 'neutron-r1'}))
        self.assertEqual(16 - 6, len(self.ours()))
        orphan, = self.eventually(
            lambda: [each for each in self.backend.read(frozenset())
                     if each != wanted], 'the far side')
        self.assertEqual(wanted.ref, orphan.ref)
        self.assertEqual({wanted.ref: 'a router is gone'},
                         self.change(orphan, wanted))
        self.transactions.since()
        self.assertEqual({}, self.delete(orphan))
        self.assertEqual(1, self.transactions.since())
        self.assertEqual({}, self.ours())
        self.read_until()

    def test_marks_that_name_no_pair(self):
        """Rows with our marks go, whatever somebody has made of these."""
        self.nb.transact(
            *(ovsdb.insert(POLICY, f'p{n}', priority=n, match='1',
                           action='drop', external_ids=self.marks(pair))
              for n, pair in enumerate(('odd', '~', 'a~b~c'))),
            *(ovsdb.mutate('Logical_Router', {'name': 'neutron-r3'},
                           'policies', 'insert', ['named-uuid', f'p{n}'])
              for n in range(3)),
            ovsdb.insert(SET, name='odd', external_ids=self.marks('odd')))
        self.synchronise(self.eyes_)
        found = self.backend.read(frozenset())
        self.assertEqual({'odd', '~', 'a~b~c'}, {each.pair for each in found})
        self.assertEqual({}, self.delete(*found))
        self.assertEqual({}, self.ours())
        self.read_until()

    @staticmethod
    def marks(pair):
        return ovsdb.ovsdb_dict({
            ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
            peerings.PEER: pair})

    def test_names_of_others(self):
        """One peering fails, with the row; the row stays, the others come."""
        self.nb.transact(
            ovsdb.insert(PORT, 'p', name='peer-1-2', mac='0a:00:00:00:00:07',
                         networks='10.0.1.1/32'),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-r3'},
                         'ports', 'insert', ['named-uuid', 'p']),
            ovsdb.insert(SET, name='peer_3_x_ip6'))
        self.synchronise(self.eyes_)
        before = self.nb.rows(PORT, where=ovsdb.clauses({'name': 'peer-1-2'}))
        wanted = [self.peering(1, 2), self.peering(1, 3, name='y', back='y'),
                  self.peering(2, 3, name='y')]
        failures = self.create(*wanted)
        self.assertIn('OVN has a Logical_Router_Port peer-1-2 (',
                      failures.pop(wanted[0].ref))
        self.assertIn('Address_Set peer_3_x_ip6', failures.pop(wanted[2].ref))
        self.assertEqual({}, failures)
        self.read_until(wanted[1])
        self.assertEqual(before, self.nb.rows(
            PORT, where=ovsdb.clauses({'name': 'peer-1-2'})))
        self.nb.transact(ovsdb.delete(SET, {'name': 'peer_3_x_ip6'}))
        self.synchronise(self.eyes_)
        self.assertEqual([wanted[0].ref], [*self.create(*wanted)])
        self.read_until(*wanted[1:])

    def test_a_name_goes_to_another_peer(self):
        """Router 1 has another router as peer x: the sets change hands."""
        old, new = self.peering(1, 2), self.peering(1, 3)
        self.assertIn('peer_1_x_ip4', str(old))
        self.assertIn('peer_1_x_ip4', str(new))
        self.create(old)
        self.read_until(old)
        self.assertEqual({}, self.create(new))
        self.assertEqual({}, self.delete(old))
        self.read_until(new)

    def test_written_by_another_before_the_replica_hears_of_it(self):
        """Also without the lock, as after a pause of a writer."""
        wanted = self.peering()
        eyes = self.eyes(drivers=['network_peer'])
        other = self.agent(eyes)
        other.lock.ask = lambda timeout: lock_state.State.HELD
        base.meanwhile(self.backend, lambda: self.assertEqual(
            {}, self.create(wanted, backend=other)))
        self.assertEqual({}, self.create(wanted))
        self.assertEqual(1, self.transactions.since())
        self.read_until(wanted)


class LockTest(peerings.PeeringTestCase):

    def test_one_agent_writes(self):
        """The other one leaves it to that, and is woken when it may."""
        woken = threading.Event()
        wanted = self.peering()
        self.assertEqual({}, self.create(wanted))
        other = self.agent(wake=lambda reason, revived=(): (
            revived == ('peering',) and woken.set()))
        self.read_until(wanted)
        answer = self.delete(wanted, backend=other)
        self.assertEqual([wanted.ref], [*answer])
        self.assertIsInstance(answer[wanted.ref], backends.LeftToAnother)
        self.assertFalse(woken.is_set())
        # What is lost meanwhile is repaired by the writer.
        self.assertEqual((set(), {wanted.ref}), tuple(
            each.taken_over([wanted.ref]) for each in (self.backend, other)))
        self.backend.close()
        self.assertTrue(woken.wait(1))
        self.assertEqual({}, self.delete(wanted, backend=other))
        self.assertEqual({}, self.ours())

    def test_a_writer_that_cannot_write_passes_the_lock_on(self):
        eyes = self.eyes(drivers=['network_peer'])
        first = self.agent(eyes)
        wanted = self.peering()
        self.assertEqual({}, self.create(wanted, backend=first))
        self.read_until(wanted)
        woken = threading.Event()
        other = self.agent(wake=lambda reason, revived=(): woken.set())
        self.assertEqual([wanted.ref], [*self.delete(wanted, backend=other)])
        eyes.databases['nb'].stop()
        self.assertRaises(backends.BackendError, self.delete, wanted,
                          backend=first)
        self.assertTrue(woken.wait(1))
        self.assertEqual({}, self.delete(wanted, backend=other))
        self.eventually(lambda: first.lock.state is lock_state.State.WAITING,
                        'it is the last in the queue')

    def test_a_writer_without_work_passes_the_lock_on(self):
        """It has nothing to write that would fail."""
        link = self.useFixture(fixtures.TempDir()).join('nb')
        target = self.nb.remote.removeprefix('unix:')
        os.symlink(target, link)
        eyes = base.Eyes({**self.remotes(), 'nb': f'unix:{link}'},
                         drivers=['network_peer'])
        self.addCleanup(eyes.stop)
        first = self.agent(eyes.start())
        wanted = self.peering()
        self.assertEqual({}, self.create(wanted, backend=first))
        woken = threading.Event()
        other = self.agent(wake=lambda reason, revived=(): woken.set())
        self.read_until(wanted)
        self.assertEqual([wanted.ref], [*self.delete(wanted, backend=other)])
        os.unlink(link)
        eyes.databases['nb'].connection.idl.force_reconnect()
        # The thread of the connection runs for it.
        self.cloud.add_router('new')
        self.assertTrue(woken.wait(lock.PATIENCE + 2))
        self.assertEqual({}, self.delete(wanted, backend=other))
        self.assertIn('OVN_Northbound is not connected', first.lock.problem)
        os.symlink(target, link)
        self.eventually(lambda: first.lock.state is lock_state.State.WAITING,
                        lambda: first.lock.problem)

    def test_reading_asks_for_no_lock(self):
        self.backend.read(frozenset())
        self.assertFalse(self.backend.lock.started)

    def test_the_lock_cannot_be_asked_for(self):
        """The main connection works, and that of the lock does not."""
        self.backend.lock._remotes = 'tcp:127.0.0.1:1'
        error = self.assertRaises(backends.BackendError, self.create,
                                  self.peering())
        self.assertIn('the lock ovn_network_agent_network_peer of '
                      'OVN_Northbound: no leader has answered at '
                      'tcp:127.0.0.1:1', str(error))


class NeutronTest(peerings.PeeringTestCase):
    """What neutron-ovn-db-sync-util removes in its mode repair.

    From rows of routers with neutron:router_name: ports with this key that it
    does not know, routes with any key neutron:... that it does not know, all
    address sets with a key neutron:...; and whole routers that it does not
    know.  No policy.
    """

    def unknown(self, table, chosen):
        """UUIDs of rows that the utility takes for its own."""
        return {row['_uuid'][1] for row in self.nb.rows(table)
                if any(map(chosen, dict(row['external_ids'][1])))}

    def test_the_rows_survive(self):
        wanted = self.peering()
        self.create(wanted)
        self.read_until(wanted)
        chosen = {
            'ports': (PORT, lambda key: key == 'neutron:router_name'),
            'static_routes': (ROUTE, lambda key: key.startswith('neutron'))}
        for column, (table, is_theirs) in chosen.items():
            rows = self.unknown(table, is_theirs)
            self.nb.transact(*({
                'op': 'mutate', 'table': 'Logical_Router', 'where': [],
                'mutations': [[column, 'delete', ['uuid', key]]]}
                for key in rows))
        self.nb.transact(*({'op': 'delete', 'table': SET, 'where': [
            ['_uuid', '==', ['uuid', key]]]} for key in self.unknown(
                SET, lambda key: key.startswith('neutron'))))
        self.assertEqual([], [
            row for row in self.nb.rows(PORT)
            if 'neutron:router_name' in dict(row['external_ids'][1])])
        self.synchronise(self.eyes_)
        self.assertEqual(16, len(self.ours()))
        self.read_until(wanted)
