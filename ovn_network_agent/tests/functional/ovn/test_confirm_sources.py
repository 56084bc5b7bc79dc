# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A replica that lacks rows of a driver's own tables removes nothing."""

import contextlib
import dataclasses

from ovn_network_agent import resources
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.drivers import source
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import loss

HERE = cloud.CHASSIS


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The addresses of an address set, and all ports of routers."""

    name: str
    addresses: tuple
    ports: tuple


class Places(source.Source):

    KIND = Place
    INDEXES = {('nb', 'Address_Set'): {'name': lambda row: [row.name]},
               ('sb', 'Port_Binding'): {'type': lambda row: [row.type]}}
    NAMES = ('nb', 'Address_Set', 'name')

    def build(self, name, find):
        row, = find(*self.NAMES, name)
        return Place(name, tuple(sorted(row.addresses)), tuple(sorted(
            each.logical_port for each in find('sb', 'Port_Binding', 'type',
                                               'patch'))))


class PlacesDriver(drivers.Driver):

    SUBJECTS = (Place,)
    SOURCES = (Places,)

    def events(self):
        yield drivers.Watch('nb', 'Address_Set', ('name', 'addresses'))

    def resources(self, subject, node):
        for address in subject.addresses if subject.ports else ():
            yield resources.Address('lo', address)


class SourceTest(loss.LossTestCase):
    """Rows that a replica lacks of the tables of a source of a driver."""

    drivers = {**loss.LossTestCase.drivers, 'places': PlacesDriver}

    def setUp(self):
        super().setUp()
        self.put('a', '192.0.2.1/32')
        self.put('b', '192.0.2.2/32')
        self.agent = self.running()
        self.become(1, 2)
        self.world.journal.clear()

    def put(self, name, address):
        self.nb.transact(ovsdb.insert('Address_Set', name=name,
                                      addresses=address))

    def become(self, *numbers):
        self.eventually(lambda: {
            key[1] for key in self.world.found(resources.Address)
            if key[1].startswith('192.0.2.')} == {
                f'192.0.2.{n}/32' for n in numbers}, 'addresses')

    def deleted(self):
        return {ref.key for verb, ref in self.world.journal
                if verb == 'delete' and ref.kind == resources.Address.kind}

    def goes_on(self):
        """The replica was mended, and what is reported is believed."""
        self.put('c', '192.0.2.3/32')
        self.nb.transact(ovsdb.delete('Address_Set', {'name': 'a'}))
        self.become(2, 3)
        self.assertEqual({('lo', '192.0.2.1/32')}, self.deleted())

    def look_at_all(self):
        self.agent._databases['nb'].dirty.mark_all()
        self.agent.trigger.fire('test')

    def mended(self, name, table, count):
        def same():
            with contextlib.suppress(connection.Unavailable):
                with self.agent._databases[name].rows(5) as tables:
                    return len(tables[table]) == count
        self.eventually(same, 'loaded again')

    def test_rows_that_were_never_seen(self):
        """All of a table, or those of the part that the replica has."""
        self.cloud.add_machine('machine', HERE)
        for name, table, lost in (
                ('nb', 'Address_Set', lambda row: True),
                ('sb', 'Port_Binding', lambda row: row.type == 'patch')):
            with self.agent._databases[name].rows() as tables:
                rows = tables[table]
                count = len(rows)
                for key in [key for key, row in rows.items() if lost(row)]:
                    del rows[key]
                self.assertLess(len(rows), count)
            self.look_at_all()
            self.mended(name, table, count)
            self.well(self.agent)
            self.assertEqual(set(), self.deleted())
        self.assertLess(count, len(self.sb.rows('Port_Binding')))
        self.goes_on()
