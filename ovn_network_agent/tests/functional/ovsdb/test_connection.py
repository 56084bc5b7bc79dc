# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Connecting to databases: late, stopped, older, gone and back."""

import contextlib
import fcntl
import os
import select
import socket
import sys
import termios
import threading
import time

from ovsdbapp.backend.ovs_idl import event

from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb


class Seen(event.RowEvent):
    """The names of new routers."""

    def __init__(self):
        super().__init__((self.ROW_CREATE,), 'Logical_Router', None)
        self.names = []

    def run(self, event, row, old):
        self.names.append(row.name)


@ovsdb.needs_ovsdb
class StartTest(base.base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.server = ovsdb.Server('nb', tcp=True)
        self.addCleanup(self.server.close)

    def database(self, remote, timeout=base.TIMEOUT, name='nb',
                 probe=5000, watched=()):
        handler = replica.Handler()
        handler.watch_events(watched)
        self.addCleanup(handler.stop)
        made = connection.Database(name, remote, handler, timeout, probe)
        made.require('Logical_Router', ('name',))
        self.addCleanup(made.stop)
        return made

    def names(self, database):
        with database.rows() as tables:
            return sorted(row.name for row in
                          tables['Logical_Router'].values())

    def test_unix_and_tcp(self):
        self.server.start()
        self.server.transact(ovsdb.insert('Logical_Router', name='r1'))
        for remote in (self.server.remote, self.server.remote_tcp):
            database = self.database(remote)
            self.assertFalse(database.started)
            database.start()
            self.assertTrue(database.started)
            self.assertTrue(database.connected)
            self.assertEqual(['r1'], self.names(database))

    def test_equal_values_of_rows_change_alone(self):
        self.server.start()
        router = ovsdb.insert('Logical_Router', name='r1', nat=ovsdb.ovsdb_set(
            ['named-uuid', name] for name in ('a', 'b', 'c')))
        self.server.transact(router, *(
            ovsdb.insert('NAT', name, type='dnat_and_snat', logical_ip='::5',
                         external_ip=f'2001:db8::{name}')
            for name in ('a', 'b', 'c')))
        database = self.database(self.server.remote)
        database.require('Logical_Router', ('nat',))
        database.require('NAT', ('type', 'external_ip', 'options'))
        database.start()

        def types():
            with database.rows() as tables:
                return {row.external_ip[-1]: (row.type, row.options)
                        for row in tables['NAT'].values()}
        usual, other = ('dnat_and_snat', {}), ('snat', {'stateless': 'true'})
        for changed in 'b', 'a':
            self.server.transact(ovsdb.update(
                'NAT', {'external_ip': f'2001:db8::{changed}'}, type='snat',
                options=ovsdb.ovsdb_dict({'stateless': 'true'})))
            waiting.eventually(lambda changed=changed:
                               types()[changed] == other, types)
        self.assertEqual({'a': other, 'b': other, 'c': usual}, types())

    def test_never_there_and_then_there(self):
        database = self.database(self.server.remote)
        for _attempt in range(3):
            error = self.assertRaises(connection.Unavailable,
                                      database.start)
            self.assertIn('No such file', str(error))
        self.server.start()
        self.server.transact(ovsdb.insert('Logical_Router', name='r1'))
        database.start()
        self.assertEqual(['r1'], self.names(database))

    def test_rows_of_the_first_load_are_no_events(self):
        """Nobody could read them, and there are tens of thousands."""
        self.server.start()
        self.server.transact(*(ovsdb.insert('Logical_Router', name=f'r{n}')
                               for n in range(3)))
        seen = Seen()
        database = self.database(self.server.remote, watched=[seen])
        database.start()
        with database.rows() as tables:
            self.assertEqual(3, len(tables['Logical_Router']))
        self.server.transact(ovsdb.insert('Logical_Router', name='r3'))
        waiting.eventually(lambda: seen.names, lambda: 'an event')
        self.assertEqual(['r3'], seen.names)

    def test_a_list_of_remotes_needs_only_one(self):
        self.server.start()
        self.server.transact(ovsdb.insert('Logical_Router', name='r1'))
        database = self.database(
            f'unix:/nowhere/sock,{self.server.remote_tcp}')
        database.start()
        self.assertEqual(['r1'], self.names(database))

    def test_a_server_that_says_nothing_costs_one_time_limit(self):
        self.server.start()
        self.server.pause()
        for remote in (self.server.remote, self.server.remote_tcp):
            database = self.database(remote, timeout=1)
            started = time.monotonic()
            self.assertRaises(connection.Unavailable, database.start)
            self.assertLess(time.monotonic() - started, 5)
        self.server.resume()
        database.start()
        self.assertTrue(database.connected)

    @contextlib.contextmanager
    def listener(self):
        accepted = threading.Event()
        with socket.create_server(('127.0.0.1', 0)) as listening:
            def accept():
                with contextlib.suppress(OSError):
                    while True:
                        listening.accept()[0].close()
                        accepted.set()
            thread = threading.Thread(target=accept, daemon=True,
                                      name='fake-listener')
            thread.start()
            yield listening.getsockname()[1], accepted
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
        thread.join(5)

    def test_a_server_without_that_database(self):
        self.server.start()
        error = self.assertRaises(
            connection.Unavailable,
            self.database(self.server.remote, name='sb').start)
        self.assertIn('OVN_Southbound', str(error))

    def test_in_a_hurry_a_silent_server_is_noticed(self):
        """Also when the thread of the connection sleeps for an hour."""
        self.server.start()
        database = self.database(self.server.remote_tcp, probe=3600000)
        database.ask_often(True)
        database.start()
        database.ask_often(False)
        self.server.pause()
        self.addCleanup(self.server.resume)
        self.assertTrue(database.connected)
        database.ask_often(True)
        waiting.eventually(lambda: not database.connected,
                           'the silence is noticed')
        self.server.resume()
        waiting.eventually(lambda: database.connected, 'it is back')
        database.ask_often(False)
        reconnect = database.connection.idl.session.reconnect
        waiting.eventually(
            lambda: reconnect.get_probe_interval() == 3600000,
            'the usual interval')
        self.assertGreaterEqual(reconnect.get_max_backoff(), 4000)

    def test_each_connection_has_other_pauses(self):
        """All agents lose a server at once, and come back one by one."""
        self.server.start()
        pauses = set()
        for _agent in range(8):
            database = self.database(self.server.remote)
            database.start()
            reconnect = database.connection.idl.session.reconnect
            least, most = (reconnect.get_min_backoff(),
                           reconnect.get_max_backoff())
            self.assertTrue(1000 <= least <= 2000, least)
            self.assertTrue(4000 <= most <= 8000, most)
            pauses |= {least, most}
        self.assertGreater(len(pauses), 8)

    def test_without_probes_a_hurry_has_none(self):
        self.server.start()
        database = self.database(self.server.remote, probe=0)
        database.start()
        database.ask_often(True)
        reconnect = database.connection.idl.session.reconnect
        waiting.eventually(lambda: reconnect.get_max_backoff() == 1000,
                           'short pauses')
        # The thread sleeps again.
        alert = database.connection.txns.alert_fileno
        waiting.eventually(
            lambda: not select.select([alert], [], [], 0)[0], 'no alert')
        self.assertEqual(0, reconnect.get_probe_interval())

    def test_twenty_failed_attempts_leave_nothing_behind(self):
        """Trap T7: no connection, no thread, no open file."""
        self.server.start()
        with (self.listener() as (port, _accepted),
              FrozenAfterSchema(self.server.remote_tcp) as frozen):
            for remote in ('unix:/nowhere/sock', 'tcp:127.0.0.1:1',
                           f'tcp:127.0.0.1:{port:d}',
                           'tcp:no-such-host.invalid:1', frozen.remote):
                database = self.database(remote, timeout=0.2)
                self.assertRaises(connection.Unavailable, database.start)
                waiting.eventually(lambda: not frozen.open_now(), 'closed')
                before = self.open_files()
                for _attempt in range(20):
                    self.assertRaises(connection.Unavailable,
                                      database.start)
                # The other end, which is here too, closes a bit later.
                waiting.eventually(
                    lambda most=before: all(
                        now <= then for now, then in
                        zip(self.open_files(), most)),
                    f'{remote}: no more than before')

    def open_files(self):
        """(open files of ours, threads that are not the test's)."""
        return (len(os.listdir('/proc/self/fd')), sum(
            1 for t in threading.enumerate()
            if not t.name.startswith('fake-')))

    def test_a_change_behind_the_doubt_does_not_end_it(self):
        """Trap T3: all is loaded again, and not only what is new.

        Only members of a cluster can send what is new alone.
        """
        self.server.create_cluster()
        self.server.start()
        for name in ('r1', 'r2'):
            self.server.transact(ovsdb.insert('Logical_Router', name=name))
        database = self.database(self.server.remote)
        database.start()
        with database.rows() as tables:
            routers = tables['Logical_Router']
            del routers[next(iter(routers))]
            database.ask(
                [{'op': 'select', 'table': 'Logical_Router', 'where': [],
                  'columns': ['_uuid']}],
                lambda answers, tables: database.distrust('a test'))
            # The change is behind the answer, and both wait to be read.
            answer = self.eventually_waiting(database, 0)
            self.server.transact(ovsdb.insert('Logical_Router', name='r3'))
            self.eventually_waiting(database, answer)
        waiting.eventually(lambda: self.names_if(database) == [
            'r1', 'r2', 'r3'], lambda: self.names_if(database))

    def test_a_doubt_after_the_stop_does_nothing(self):
        """An answer may come at the same time as the stop."""
        self.server.start()
        database = self.database(self.server.remote)
        database.start()
        database.stop()
        database.distrust('a test')
        self.assertFalse(database.started)

    def names_if(self, database):
        """The names, None while nobody may read them."""
        with contextlib.suppress(connection.Unavailable):
            return self.names(database)

    def eventually_waiting(self, database, more_than):
        """Wait for bytes in the socket's buffer; how many there are."""
        opened = database._connection.idl.session.rpc.stream.socket

        def pending():
            return int.from_bytes(fcntl.ioctl(
                opened, termios.FIONREAD, bytes(4)), sys.byteorder)
        waiting.eventually(lambda: pending() > more_than, 'to be read')
        return pending()


class FrozenAfterSchema:
    """Passes get_schema on to a real server and swallows the rest."""

    def __init__(self, remote):
        self._server = ('127.0.0.1', int(remote.rpartition(':')[2]))
        self.total = 0
        self._open = set()

    def __enter__(self):
        self._listening = socket.create_server(('127.0.0.1', 0))
        self.remote = f'tcp:127.0.0.1:{self._listening.getsockname()[1]:d}'
        threading.Thread(target=self._accept, daemon=True,
                         name='fake-frozen').start()
        return self

    def __exit__(self, *_exc):
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for opened in list(self._open):
            opened.close()

    def open_now(self):
        return len(self._open)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                accepted = self._listening.accept()[0]
                self.total += 1
                self._open.add(accepted)
                threading.Thread(target=self._serve, args=(accepted,),
                                 name='fake-session', daemon=True).start()

    def _serve(self, accepted):
        with contextlib.suppress(OSError):
            while True:
                data = accepted.recv(65536)
                if not data:
                    break
                if b'get_schema' in data:
                    with socket.create_connection(self._server) as server:
                        server.sendall(data)
                        server.settimeout(0.5)
                        with contextlib.suppress(TimeoutError):
                            while True:
                                accepted.sendall(server.recv(65536))
        self._open.discard(accepted)
        accepted.close()


class ReplicaTest(base.OvsdbTestCase):

    def test_only_rows_and_columns_that_are_needed(self):
        self.cloud.add_router('r1')
        self.cloud.add_static_route('r1', '0.0.0.0/0')
        self.cloud.add_static_route('r1', '203.0.113.0/24')
        self.cloud._add_binding(self.cloud.network, 'vm-1', '')
        eyes = self.eyes()
        with eyes.databases['nb'].rows() as nb:
            self.assertEqual(['0.0.0.0/0'], [
                r.ip_prefix for r in
                nb['Logical_Router_Static_Route'].values()])
            self.assertNotIn('Logical_Switch_Port', nb)
        with eyes.databases['sb'].rows() as sb:
            self.assertEqual(
                {'localnet', 'chassisredirect', 'patch'},
                {r.type for r in sb['Port_Binding'].values()})
            self.assertFalse(hasattr(
                next(iter(sb['Port_Binding'].values())), 'mac'))

    def test_a_busy_replica_is_not_waited_for(self):
        eyes = self.eyes()
        release, held = threading.Event(), threading.Event()

        def hold():
            with eyes.databases['nb'].rows():
                held.set()
                release.wait(base.TIMEOUT)

        holder = threading.Thread(target=hold, daemon=True)
        holder.start()
        held.wait(base.TIMEOUT)
        try:
            with self.assertRaises(connection.Unavailable):
                with eyes.databases['nb'].rows(timeout=0.05):
                    self.fail('read beside somebody else')
        finally:
            release.set()
            holder.join()

    def test_nothing_hangs_on_a_server_that_is_gone(self):
        eyes = self.eyes()
        self.nb.kill()
        self.eventually(lambda: not eyes.databases['nb'].connected,
                        'the loss is noticed')
        with self.assertRaises(connection.Unavailable):
            eyes.databases['nb'].connection
        with eyes.databases['nb'].rows():
            pass
