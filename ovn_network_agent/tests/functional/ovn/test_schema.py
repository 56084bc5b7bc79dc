# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Databases of older and newer versions of OVN.

The variants are the installed schema with what another version does not
have taken away, and with what nobody knows yet added.
"""

import gc
import weakref

from ovsdbapp import exceptions

from ovn_network_agent.ovn import view
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb


class SchemaTestCase(base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.cloud.add_static_route('r1')

    def look(self):
        """What is seen of the router."""
        eyes = self.eyes()
        router = eyes.router('r1')
        return (sorted(eyes.fips('r1')),
                [port.local for port in router.ports],
                [route.nexthop for route in router.default_routes])

    def reason(self, name, change):
        """Why a database with such a schema cannot be used."""
        server = ovsdb.Server(name, change)
        self.addCleanup(server.close)
        server.start()
        eyes = base.Eyes({**self.remotes(), name: server.remote})
        self.addCleanup(eyes.stop)
        return str(self.assertRaises(connection.Unavailable,
                                     eyes.databases[name].start))


class TestOvn2203(SchemaTestCase):
    """NB 6.1.0."""

    schema_changes = {'nb': schemas.without(
        'Static_MAC_Binding', 'NAT.match', 'NAT.priority',
        'Logical_Router_Static_Route.selection_fields')}

    def test_load_balancers(self):
        self.cloud.add_balancer('r1', '198.51.100.20:22')
        self.assertEqual({'198.51.100.10', '198.51.100.20'},
                         self.eyes().fips('r1'))

    def test_the_view_is_complete(self):
        self.assertEqual((['198.51.100.10'], [True], ['198.51.100.9']),
                         self.look())

    def test_what_is_essential_is_named(self):
        self.assertIn(
            'OVN_Northbound has no column external_ip of table NAT: it is '
            'of an OVN older than 22.03',
            self.reason('nb', schemas.without('NAT.external_ip')))
        self.assertIn(
            'no column nat_addresses of table Port_Binding',
            self.reason('sb', schemas.without('Port_Binding.nat_addresses')))
        self.assertIn(
            'no table Logical_Router_Static_Route',
            self.reason('nb', schemas.without(
                'Logical_Router_Static_Route',
                'Logical_Router.static_routes')))


class TestNoGroups(SchemaTestCase):
    """Neither groups of load balancers nor them are needed."""

    schema_changes = {'nb': schemas.without(
        'Load_Balancer_Group', 'Logical_Switch.load_balancer_group',
        'Logical_Router.load_balancer_group')}

    def test_the_view_is_complete(self):
        self.cloud.add_balancer('r1', '198.51.100.20:22')
        self.assertEqual((['198.51.100.10', '198.51.100.20'], [True],
                          ['198.51.100.9']), self.look())


class TestNoBalancers(SchemaTestCase):

    schema_changes = {'nb': schemas.without(
        'Load_Balancer', 'Load_Balancer_Group',
        'Logical_Switch.load_balancer', 'Logical_Switch.load_balancer_group',
        'Logical_Router.load_balancer', 'Logical_Router.load_balancer_group')}

    def test_the_view_is_complete(self):
        self.assertEqual((['198.51.100.10'], [True], ['198.51.100.9']),
                         self.look())


class TestFuture(SchemaTestCase):

    schema_changes = dict.fromkeys(('nb', 'sb', 'ovs'),
                                   schemas.from_the_future)

    def test_the_view_is_complete(self):
        self.assertEqual((['198.51.100.10'], [True], ['198.51.100.9']),
                         self.look())


class Interrupted(connection.Database):
    """The server stops answering once it has told its schema.

    :ivar interruptions: how many times more
    """

    interruptions = 0

    def _schema_helper(self):
        found = super()._schema_helper()
        if self.interruptions:
            self.interruptions -= 1
            raise exceptions.TimeoutException(commands=[], timeout=5,
                                              cause='interrupted')
        return found


class TestConverted(SchemaTestCase):
    """OVN is upgraded, or goes back, while the agent is at work."""

    schema_changes = {'nb': schemas.without('Static_MAC_Binding')}

    def seen(self, eyes, address):
        """Whether an address of the router has come through."""
        try:
            return address in eyes.fips('r1')
        except (connection.Unavailable, view.NotReady):
            return False

    def test_up_and_down(self):
        eyes = self.eyes()
        self.assertTrue(self.seen(eyes, '198.51.100.10'))
        for number, (change, there) in enumerate((
                (schemas.with_bindings, True),
                (schemas.without('Static_MAC_Binding'), False),
                (schemas.with_bindings, True))):
            address = f'198.51.100.{20 + number}'
            self.servers['nb'].convert(change)
            self.cloud.add_nat('r1', address)
            waiting.eventually(
                lambda a=address: self.seen(eyes, a),
                lambda a=address: f'{a}: {eyes.databases["nb"].problem}')
            # What is new is there, too.
            waiting.eventually(
                lambda t=there: t == self.replicated(eyes), 'the tables')

    def test_the_old_replica_is_given_back(self):
        """Its rows refer to each other, and were taken out of collections."""
        eyes = self.eyes()
        replica = weakref.ref(eyes.databases['nb'].connection.idl)
        gc.freeze()
        self.addCleanup(gc.unfreeze)
        self.servers['nb'].convert(schemas.with_bindings)
        waiting.eventually(lambda: self.replicated(eyes), 'the table')
        waiting.eventually(lambda: replica() is None, 'nothing keeps it')

    def test_a_load_that_fails_is_tried_again(self):
        handler = replica.Handler()
        self.addCleanup(handler.stop)
        database = Interrupted('nb', self.remotes()['nb'], handler, 5, 5000)
        database.require('Static_MAC_Binding', {'ip'})
        self.addCleanup(database.stop)
        database.start()
        database.interruptions = 2
        self.servers['nb'].convert(schemas.with_bindings)

        def there():
            with database.rows() as tables:
                return 'Static_MAC_Binding' in tables
        waiting.eventually(there, lambda: database.problem)
        self.assertEqual(0, database.interruptions)

    def replicated(self, eyes):
        """Whether the table that comes and goes is replicated."""
        try:
            with eyes.databases['nb'].rows() as tables:
                return 'Static_MAC_Binding' in tables
        except connection.Unavailable:
            return None
