# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents with the driver network_peer: one of them writes, all others watch.

The agents of a test are in one process, and have connections of their own.
"""

import time

from ovn_network_agent import ownership
from ovn_network_agent.backends.northbound import locked_rows
from ovn_network_agent.drivers import network_peer
from ovn_network_agent.tests.functional.backends import peerings
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services

NAME = 'network_peer'
MANY = 10000
# Seconds for what takes a tenth of one on an idle machine, or one if it is the
# fourth repair in a row.
SOON = 5
TARGET = ownership.EXT_ID_PEER_TARGET


class PeeringTestCase(services.ServiceTestCase):

    drivers = {NAME: network_peer.NetworkPeerDriver}
    real = {'peering': locked_rows.PeeringBackend}

    def setUp(self):
        super().setUp()
        self.routers = {}
        for number in (1, 2, 3):
            name = f'r{number}'
            self.routers[name] = self.cloud.add_router(name)
            self.cloud.add_tenant(name, 'inner', f'10.0.{number}.1/24')
        self.transactions = peerings.Transactions(self.nb)
        self.addCleanup(self.transactions.close)

    def agent(self, **options):
        return super().agent(drivers=[NAME], **options)

    def agree(self, one='r1', other='r2', name='x'):
        """Both routers name each other."""
        for each, of in ((one, other), (other, one)):
            self.cloud.say('Logical_Router', {'name': 'neutron-' + each},
                           external_ids={TARGET + name: self.routers[of]})

    def withdraw(self, router='r1', name='x'):
        self.cloud.say('Logical_Router', {'name': 'neutron-' + router},
                       external_ids={TARGET + name: None})

    def end(self, agent):
        """A stop, and the end of the process."""
        self.stop(agent)
        agent.close()

    def ports(self):
        """The marked ports."""
        return [row for row in self.nb.rows('Logical_Router_Port')
                if peerings.PEER in dict(row['external_ids'][1])]

    def peer(self, *pairs):
        """Wait until exactly these pairs of routers have ports."""
        wanted = {ownership.peer_pair(*map(self.routers.get, pair))
                  for pair in pairs}

        def found():
            return {dict(row['external_ids'][1])[peerings.PEER]
                    for row in self.ports()}
        self.eventually(lambda: found() == wanted, found)

    def written(self, peers=1):
        self.eventually(lambda: len(self.ports()) == 2 * peers,
                        f'{peers} peerings')

    def locks(self, *agents):
        """The states of the locks of some agents, sorted texts."""
        return sorted(backend.lock.state.value for agent in agents
                      for backend in agent._reconciler.backends.all
                      if backend.name == 'peering')


class WriterTest(PeeringTestCase):

    def test_the_other_agent_goes_on(self):
        """An intent that comes and goes, with and without the writer."""
        both = [self.agent() for _n in range(2)]
        self.well(*both)
        self.assertEqual(['not connected'] * 2, self.locks(*both))
        self.agree()
        self.written()
        self.agree('r1', 'r3', 'y')
        self.written(2)
        self.well(*both)
        self.assertEqual(1, self.locks(*both).count('held'))
        writer, = [agent for agent in both if self.locks(agent) == ['held']]
        both.remove(writer)
        self.end(writer)
        # Its rows stay, and the other agent is the writer.
        self.written(2)
        self.withdraw()
        self.written(1)
        self.well(*both)
        self.assertEqual(['held'], self.locks(*both))

    def test_damage_is_mended_at_once(self):
        """Two agents that start at once write once, here as there."""
        self.agree()
        self.transactions.since()
        both = [self.agent() for _n in range(2)]
        self.written()
        self.well(*both)
        self.assertEqual(1, self.transactions.since())
        self.assertEqual(1, self.locks(*both).count('held'))
        for table in peerings.TABLES:
            self.transactions.since()
            before = len(self.marked(table))
            began = time.monotonic()
            self.take(table)
            self.eventually(lambda table=table, before=before:
                            len(self.marked(table)) == before, table)
            took = time.monotonic() - began
            print(f'{self.id()}: {table}: {took:.3f} s')
            self.assertLess(took, SOON)
            self.well(*both)
            # That of the test, and that of one agent.
            self.assertEqual(2, self.transactions.since(), table)

    def marks(self, table):
        """The external_ids of the marked rows by their UUIDs."""
        return {row['_uuid'][1]: dict(row['external_ids'][1])
                for row in self.marked(table)}

    def marked(self, table):
        return [row for row in self.nb.rows(table)
                if peerings.PEER in dict(row['external_ids'][1])]

    def take(self, table):
        """Remove one row by hand."""
        uuid = self.marked(table)[0]['_uuid']
        column = {'Logical_Router_Port': 'ports',
                  'Logical_Router_Static_Route': 'static_routes',
                  'Logical_Router_Policy': 'policies'}.get(table)
        self.nb.transact(
            {'op': 'mutate', 'table': 'Logical_Router', 'where': [],
             'mutations': [[column, 'delete', uuid]]} if column else
            {'op': 'delete', 'table': table,
             'where': [['_uuid', '==', uuid]]})

    def test_what_a_former_writer_left(self):
        """Without an agent, one router has gone, and one intent."""
        self.agree()
        self.agree('r2', 'r3', 'y')
        agent = self.agent()
        self.written(2)
        self.end(agent)
        self.written(2)
        self.cloud.remove_router('r1')
        self.withdraw('r3', 'y')
        agent = self.agent()
        self.eventually(lambda: not any(map(self.marked, peerings.TABLES)),
                        'nothing left')
        self.well(agent)


class ManyTest(PeeringTestCase):
    """Bad intents by the thousand, and peers that go on."""

    def serves(self, peers):
        """Two routers peer, then two others come and go."""
        agent = self.agent()
        self.eventually(lambda: agent.ready, 'the agent is ready')
        for change, number in (
                (self.agree, peers),
                (lambda: self.agree('r2', 'r3', 'y'), peers + 1),
                (lambda: self.withdraw('r2', 'y'), peers)):
            began = time.monotonic()
            change()
            # To ask for all ports would keep the agent from work.
            self.eventually(lambda number=number: len(self.nb.rows(
                'Address_Set')) == 4 * number, f'{number} peerings')
            took = time.monotonic() - began
            longest = max(
                done.seconds for done in agent._loop.passes.last[-2:])
            print(f'{self.id()}: {took:.2f} s, a pass: {longest:.2f} s')
        return agent

    def test_thousands_of_routers_name_one(self):
        self.nb.transact(*(
            operation for number in range(MANY // 5) for operation in (
                ovsdb.insert(
                    'Logical_Router_Port', f'port{number}',
                    name=f'port-{number}', mac='fa:16:3e:00:00:04',
                    networks=f'172.{16 + (number >> 8)}.{number & 255}.1/24'),
                ovsdb.insert(
                    'Logical_Router', name=f'many-{number}',
                    ports=ovsdb.ovsdb_set([['named-uuid', f'port{number}']]),
                    options=ovsdb.ovsdb_dict(
                        {TARGET + 'hub': self.routers['r1']})))))
        self.well(self.serves(1))
