# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent's side of the databases, for the tests here."""

import itertools
import threading
import uuid

from oslotest import base
from ovsdbapp.backend.ovs_idl import event as ovsdb_event

from ovn_network_agent import model
from ovn_network_agent.common import trigger
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import sources
from ovn_network_agent.ovn import view
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world

# Of one attempt to connect, seconds.
TIMEOUT = 10


# Tables that nobody else watches, for marks, and a column for the text.
MARKS = {'nb': ('Address_Set', 'name'), 'sb': ('Address_Set', 'name'),
         'ovs': ('QoS', 'type')}


class MarkEvent(ovsdb_event.RowEvent):
    """Seen after everything that was written before it."""

    def __init__(self, table, column, text):
        super().__init__((self.ROW_CREATE,), table, ((column, '=', text),))
        self.seen = threading.Event()

    def run(self, event, row, old):
        self.seen.set()


def meanwhile(backend, *happens):
    """Have something happen each time that a backend builds a transaction.

    After it has decided on what its replica has, and before the server hears
    of that.

    :param backend: :class:`backends.ovsdb_writer.NbWriter`
    :param happens: function() for each time, from the first one on
    """
    command = backend.command
    left = list(reversed(happens))

    def made(verb, resource):
        def make(api):
            one = command(verb, resource)(api)
            run = one.run_idl

            def run_idl(txn):
                run(txn)
                if left:
                    left.pop()()
            one.run_idl = run_idl
            return one
        return make
    backend.command = made


class Eyes:
    """The databases, the trigger and the view, wired like the service.

    :param remotes: dict of 'nb', 'sb', 'ovs' to a remote
    :ivar unfit: whether this node could not announce a gateway
    :ivar recovers: whether what was lacking is back
    """

    def __init__(self, remotes, timeout=TIMEOUT, coalesce=0, probe=60000,
                 **options):
        self.unfit = False
        self.recovers = False
        self.trigger = trigger.Trigger(coalesce)
        self.handlers = {name: replica.Handler() for name in remotes}
        self.databases = {
            name: self.database(name, remote, timeout, probe)
            for name, remote in remotes.items()}
        self.conf = conf = world.conf(bridge_dev=cloud.BRIDGE, **options)
        own = events.OwnRows(lambda: self.view.last,
                             lambda: self.view.dead)
        made = [world.driver(name, conf) for name in conf.drivers]
        for watch in itertools.chain(events.of_view(conf), *(
                driver.events() for driver in made)):
            self.databases[watch.database].require(watch.table,
                                                   watch.columns)
            for event in events.of_watch('view', watch, own,
                                         self.trigger):
                self.handlers[watch.database].watch_event(event)
        for name, table, clauses in events.conditions(conf):
            self.databases[name].only(table, clauses)
        for name, (table, column) in MARKS.items():
            self.databases[name].require(table, (column,))
        self.view = view.View(
            conf, self.databases, observers=[self],
            made_of_rows=sources.of_drivers(made))

    def database(self, name, remote, timeout, probe):
        return connection.Database(name, remote, self.handlers[name], timeout,
                                   probe, objection=events.objection)

    def start(self):
        """Load all databases."""
        for database in self.databases.values():
            database.start()
        return self

    def stop(self):
        for database in self.databases.values():
            database.stop()
        for handler in self.handlers.values():
            handler.stop()

    def answered(self, name):
        """Wait until a server has answered all questions so far."""
        answered = threading.Event()
        with self.databases[name].rows():
            # The server answers the questions of a connection in order.
            self.databases[name].ask([], lambda *_answer: answered.set())
        if not answered.wait(ovsdb.DEADLINE):
            raise RuntimeError(f'no answer of {name}')

    def look(self, full=False, phase=model.Phase.RUNNING, **options):
        """The present :class:`model.Snapshot`.

        As the loop of the agent does, it waits for the ports of machines.

        :param options: see :meth:`ovn.view.View.snapshot`
        """
        def there():
            try:
                return self.view.snapshot(phase, full, **options)
            except view.Incomplete:
                return None
        return waiting.eventually(there, 'the ports of machines are there')

    def router(self, name):
        """The router neutron-<name> as seen now, or None."""
        return next((r for r in self.look().routers
                     if r.name == 'neutron-' + name), None)

    def addresses(self, name):
        """The addresses of that router as seen now, {} without it."""
        router = self.router(name)
        return self.view.last.addresses[router.uuid] if router else {}

    def fips(self, name):
        """Those of its addresses that are floating IPs, a set."""
        return {each.address for each in self.addresses(name).values()
                if 'fip' in each.kinds}

    def sources(self, name, address):
        """What an address of it is made from, :class:`served.Sources`."""
        return self.view._builder._by_router[
            self.router(name).uuid].sources(address)


@ovsdb.needs_ovsdb
class OvsdbTestCase(base.BaseTestCase):
    """With NB, SB and Open_vSwitch, a small cloud in them."""

    schema_changes = {}
    tcp = False
    bridge = cloud.BRIDGE

    def setUp(self):
        super().setUp()
        self.servers = {}
        for name in ('nb', 'sb', 'ovs'):
            server = self.server(name)
            self.addCleanup(server.close)
            self.servers[name] = server.start()
        self.nb, self.sb, self.ovs = self.servers.values()
        self.cloud = cloud.Cloud(self.nb, self.sb, self.ovs,
                                 self.bridge)
        self.cloud.fill()

    def server(self, name):
        """The server of a database, not yet started."""
        return ovsdb.Server(name, self.schema_changes.get(name), self.tcp,
                            self.certificates(name))

    def certificates(self, name):
        """(authority, certificate, key) of a server that speaks TLS."""

    def remotes(self):
        return {name: server.remote
                for name, server in self.servers.items()}

    def eyes(self, start=True, **options):
        """:class:`Eyes` on this cloud."""
        made = Eyes(self.remotes(), **options)
        self.addCleanup(made.stop)
        return made.start() if start else made

    def witnessed(self):
        """See each change of a static route of a router.

        :returns: (:class:`Eyes`, list to which each change adds the new
            external_ids, a dict)
        """
        seen = []

        class Witness(ovsdb_event.RowEvent):
            def run(self, _event, row, _old):
                seen.append(dict(row.external_ids))

        eyes = self.eyes(start=False)
        eyes.handlers['nb'].watch_event(Witness(
            ('update',), 'Logical_Router_Static_Route', ()))
        return eyes.start(), seen

    def synchronise(self, eyes):
        """Wait until all that was written has been seen and handed on."""
        text = f'mark{uuid.uuid4().hex}'
        marks = []
        for name, (table, column) in MARKS.items():
            marks.append(MarkEvent(table, column, text))
            eyes.handlers[name].watch_event(marks[-1])
            self.servers[name].transact(
                ovsdb.insert(table, **{column: text}))
        for mark in marks:
            self.assertTrue(mark.seen.wait(ovsdb.DEADLINE))

    eventually = staticmethod(waiting.eventually)
