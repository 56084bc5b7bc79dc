# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A replica that lacks rows removes nothing.

Row ST-13, traps T3, T4 and T5, and decision record 0005.  The replica of a
running agent is changed behind python-ovs's back, as by a bug in python-ovs.
"""

import contextlib
import json
import socket
import threading
import time

from ovn_network_agent import resources
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.service import loss

HERE = cloud.CHASSIS


class ConfirmTest(loss.LossTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_nat('r1', '198.51.100.11')
        self.wanted = {f'198.51.100.{n}/32' for n in (1, 10, 11)}
        self.balancers = set()

    def running(self, **options):
        agent = super().running(**options)
        self.eventually(lambda: self.announced() == self.wanted, 'all')
        self.world.journal.clear()
        return agent

    @contextlib.contextmanager
    def tampered(self, agent, name, table):
        """The rows of a table, while the replica's thread holds still."""
        with agent._databases[name].rows() as tables:
            yield tables[table]

    def heals(self, agent, name, table, present):
        """The next whole view withdraws nothing, and the replica is mended.

        :param present: function of the table's rows: whether it is mended
        """
        self.look_at_all(agent)
        self.mended(agent, name, table, present)
        self.well(agent)
        # It goes on as ever.
        self.cloud.add_nat('r1', '198.51.100.12')
        self.cloud.remove_nat('r1', '198.51.100.10')
        self.eventually(lambda: self.announced() == {
            f'198.51.100.{n}/32' for n in (1, 11, 12)} | self.balancers,
            self.announced)
        self.assertEqual({'198.51.100.10/32'}, {
            ref.key[1] for ref in self.deleted()
            if ref.kind == resources.Announcement.kind})

    def mended(self, agent, name, table, present):
        """Wait until the replica is loaded again."""
        def there():
            with contextlib.suppress(connection.Unavailable):
                with agent._databases[name].rows(5) as tables:
                    return present(tables[table])
        self.eventually(there, 'loaded again')

    def look_at_all(self, agent):
        """Have the next view built from whole tables."""
        agent._databases['sb'].dirty.mark_all()
        agent.trigger.fire('test')

    def deleted(self):
        return [ref for verb, ref in self.world.journal if verb == 'delete']

    def redirect(self, bindings):
        return [key for key, row in bindings.items()
                if row.type == 'chassisredirect']

    def test_a_row_that_was_never_seen(self):
        """Trap T3: the replica has no row, the server has it."""
        self.balanced()
        agent = self.running()
        for name, table, lost in (
                ('sb', 'Port_Binding',
                 lambda row: row.type == 'chassisredirect'),
                ('nb', 'NAT',
                 lambda row: row.external_ip == '198.51.100.11'),
                ('nb', 'Load_Balancer', bool),
                ('nb', 'Logical_Router', bool)):
            with self.tampered(agent, name, table) as rows:
                before = len(rows)
                for key in [key for key, row in rows.items() if lost(row)]:
                    del rows[key]
                self.assertLess(len(rows), before, table)
            self.look_at_all(agent)
            self.mended(agent, name, table,
                        lambda rows, b=before: len(rows) == b)
            self.well(agent)
            self.assertEqual([], self.deleted(), table)
        self.heals(agent, 'sb', 'Port_Binding', self.redirect)

    def test_rows_with_stale_content(self):
        """Trap T4: the same UUID, another chassis or address."""
        self.balanced()
        agent = self.running()
        for name, table, spoil in (
                ('sb', 'Port_Binding', self.move_away),
                ('nb', 'NAT', lambda rows: self.rename(
                    rows, 'external_ip', '203.0.113.77')),
                ('nb', 'Load_Balancer', lambda rows: self.rename(
                    rows, 'vips', '203.0.113.77:22'))):
            with self.tampered(agent, name, table) as rows:
                before = self.content(rows)
                spoil(rows)
                self.assertNotEqual(before, self.content(rows))
            self.look_at_all(agent)
            self.mended(agent, name, table, lambda rows, before=before:
                        self.content(rows) == before)
            self.well(agent)
            self.assertEqual([], self.deleted(), table)
        self.heals(agent, 'sb', 'Port_Binding', self.redirect)

    @staticmethod
    def content(rows):
        """What the rows have in the columns that are changed here."""
        return {key: [str(getattr(row, column, '')) for column in
                      ('external_ip', 'vips')] + [
                          chassis.name for chassis in
                          getattr(row, 'chassis', ())]
                for key, row in rows.items()}

    def move_away(self, bindings):
        (key,) = self.redirect(bindings)
        other = next(row for row in bindings[key]._idl.tables[
            'Chassis'].rows.values() if row.name == cloud.OTHER)
        self.repoint(bindings[key], other)

    @staticmethod
    def rename(rows, column, value):
        for row in rows.values():
            (atom,) = row._data[column].values
            if column == 'vips' or atom.value == '198.51.100.11':
                atom.value = value

    @staticmethod
    def repoint(binding, chassis):
        (atom,) = binding._data['chassis'].values
        atom.value = chassis.uuid

    def test_a_gateway_that_was_never_seen_to_come(self):
        """Trap T4: nothing is lost, and still something is missing."""
        agent = self.running()
        self.cloud.move('lrp-r1', cloud.OTHER)
        self.eventually(lambda: not self.announced(), 'withdrawn')
        self.world.journal.clear()
        with agent._databases['sb'].rows() as sb:
            # The server has it back here, and only the replica does not
            # know: what it says is put back before it is looked at.
            (key,) = self.redirect(sb['Port_Binding'])
            other = next(row for row in sb['Chassis'].values()
                         if row.name == cloud.OTHER)
            self.cloud.move('lrp-r1', HERE)
            agent._databases['sb']._connection.idl.run()
            self.eventually(lambda: self.moved(agent, sb, key), 'told')
            self.repoint(sb['Port_Binding'][key], other)
            agent._databases['sb'].dirty.take()
        self.look_at_all(agent)
        self.eventually(lambda: self.announced() == self.wanted,
                        self.announced)

    def moved(self, agent, sb, key):
        agent._databases['sb']._connection.idl.run()
        return sb['Port_Binding'][key].chassis[0].name == HERE

    def balanced(self):
        """Two more addresses, one of them by way of a group."""
        self.balancers = {'198.51.100.20/32', '198.51.100.21/32'}
        self.wanted |= self.balancers
        self.cloud.add_balancer('r1', '198.51.100.20:22')
        self.cloud.add_balancer('r1', '198.51.100.21:22', group=True)

    def test_an_update_that_does_not_fit(self):
        """Trap T3: python-ovs logs an error and leaves out the rest.

        Nobody has to ask for anything: the replica itself is at doubt.
        """
        agent = self.running()
        with self.tampered(agent, 'nb', 'NAT') as nats:
            nats.clear()
        self.cloud.change_nat('198.51.100.11', logical_ip='10.0.0.77')
        database = agent._databases['nb']
        self.eventually(lambda: not database.connected, 'at doubt')
        self.eventually(lambda: database.connected, 'loaded again')
        self.assertEqual([], self.deleted())
        self.heals(agent, 'nb', 'NAT', lambda nats: '10.0.0.77' in {
            row.logical_ip for row in nats.values()})

    def test_a_server_that_does_not_answer_costs_nothing_else(self):
        """Trap T5: the question is open, and nobody waits for it."""
        agent = self.running(ovn__ovsdb_probe_interval=5000)
        self.sb.pause()
        with self.tampered(agent, 'sb', 'Port_Binding') as bindings:
            for key in self.redirect(bindings):
                del bindings[key]
        started = time.monotonic()
        self.look_at_all(agent)
        address = next(iter(self.world.found(resources.Address)))
        self.world.objects.pop(resources.Ref('address', address))
        agent.trigger.fire('test', stale=('address',))
        self.eventually(lambda: address in self.world.found(resources.Address),
                        'repaired')
        # Before the probe takes the server for dead.
        self.assertLess(time.monotonic() - started, 4)
        # And the probe still finds it out.
        self.degraded(agent, 'OVN_Southbound', 'not connected')
        self.assertEqual([], self.deleted())
        self.sb.resume()
        self.heals(agent, 'sb', 'Port_Binding', self.redirect)

    def test_an_event_that_raises_costs_itself(self):
        agent = self.running()
        handler, notify = agent._side._handlers['nb'], []
        session = agent._databases['nb']._connection.idl.session
        before = session.get_seqno()

        def broken(event, row, updates=None):
            notify.append(event)
            raise ValueError('a bug in an event')
        self.addCleanup(setattr, handler, 'notify', handler.notify)
        handler.notify = broken
        self.cloud.add_nat('r1', '198.51.100.12')
        self.eventually(lambda: '198.51.100.12/32' in self.announced(),
                        'the others are seen')
        self.assertTrue(notify)
        self.assertEqual(before, session.get_seqno(), 'connected anew')
        self.assertEqual([], self.deleted())


class Forgetful:
    """Passes everything on, but for a part of the first complete dump.

    :param remote: "tcp:" remote of the server
    :param table: where rows are left out
    :param forgets: function of a row's columns: whether to leave it out
    """

    def __init__(self, remote, table, forgets):
        self._server = ('127.0.0.1', int(remote.rpartition(':')[2]))
        self._table = table
        self._forgets = forgets
        self._open = []
        self.forgotten = 0

    def __enter__(self):
        self._listening = socket.create_server(('127.0.0.1', 0))
        self.remote = f'tcp:127.0.0.1:{self._listening.getsockname()[1]:d}'
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_exc):
        for each in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self._listening.accept()[0]
                server = socket.create_connection(self._server)
                self._open += [client, server]
                for target in (self._pass_on, self._pass_back):
                    threading.Thread(target=target, args=(client, server),
                                     daemon=True).start()

    def _pass_on(self, client, server):
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _pass_back(self, client, server):
        decoder, text = json.JSONDecoder(), ''
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                text += data.decode()
                while text:
                    try:
                        message, end = decoder.raw_decode(text)
                    except ValueError:
                        break
                    text = text[end:]
                    self._forget(message)
                    client.sendall(json.dumps(message).encode())

    def _forget(self, message):
        result = message.get('result')
        if (self.forgotten or not isinstance(result, list) or
                len(result) != 3 or not isinstance(result[2], dict)):
            return
        rows = result[2].get(self._table, {})
        for key in [k for k, row in rows.items()
                    if self._forgets(row.get('initial', {}))]:
            del rows[key]
            self.forgotten += 1


class FirstViewTest(loss.LossTestCase):

    tcp = True

    def test_a_start_with_an_incomplete_replica(self):
        """Trap T3: a former run's announcements outlive the first view."""
        first = self.running(cleanup_on_shutdown=False)
        self.stop(first)
        first.close()
        before = self.announced()
        self.world.journal.clear()
        with Forgetful(self.sb.remote_tcp, 'Port_Binding', lambda row:
                       row.get('type') == 'chassisredirect') as proxy:
            self.sb.remote = proxy.remote
            agent = self.running()
            self.eventually(lambda: agent._view.confirmed, 'confirmed')
            self.assertEqual(1, proxy.forgotten)
            self.assertEqual(before, self.announced())
            self.assertEqual([], [ref for verb, ref in self.world.journal
                                  if verb == 'delete'])
            self.stop(agent)
