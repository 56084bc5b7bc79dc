# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Peerings in a real database, for the tests of their backend."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import locked_rows
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world

PEER = ownership.EXT_ID_PEER
TABLES = ('Logical_Router_Port', 'Logical_Router_Static_Route',
          'Logical_Router_Policy', 'Address_Set')


class Transactions:
    """Counts the transactions that change a database."""

    def __init__(self, server):
        self._client = _Counting(server._path('sock'))
        schema = self._client.call('get_schema', [server.database])
        self._client.call('monitor', [server.database, 'all', {
            table: {} for table in schema['tables']}])
        self._client.updates = 0

    def since(self):
        """The number since the last call."""
        # The server answers in order.
        self._client.call('echo', [])
        found, self._client.updates = self._client.updates, 0
        return found

    def close(self):
        self._client.close()


class _Counting(ovsdb._Client):
    updates = 0

    def _receive(self):
        message = super()._receive()
        self.updates += message.get('method') == 'update'
        return message


def side(router, number, other, extra=(), name='x'):
    """One side; router number n has 10.0.n.0/24 and fd00:n::/64.

    :param router: UUID
    :param extra: further prefixes of the other router
    """
    port, sets = f'peer-{number}-{other}', f'peer_{number}_{name}'
    nets = [*extra, f'10.0.{other}.0/24', f'fd00:{other}::/64']
    by_family = {family: tuple(sorted(
        net for net in nets if (':' in net) == (family == 6)))
        for family in (4, 6)}
    return resources.PeerSide(
        router, port, f'0a:00:00:00:00:{number:02x}',
        (f'10.0.{number}.1/32', f'fd00:{number}::1/128'),
        tuple(sorted((net, f'fd00:{other}::1' if ':' in net else
                      f'10.0.{other}.1') for net in nets)),
        tuple(sorted((
            resources.PeerPolicy(500, f'inport == "{port}"', 'drop'),
            *(resources.PeerPolicy(600, f'inport == "{port}" && ip{family}.'
                                   f'src == ${sets}_ip{family}', 'allow')
              for family in (4, 6))))),
        tuple((f'{sets}_ip{family}', by_family[family])
              for family in (4, 6)))


class PeeringTestCase(base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        self.routers = {n: self.cloud.add_router(f'r{n}') for n in (1, 2, 3)}
        self.eyes_ = self.eyes(drivers=['network_peer'])
        self.backend = self.agent()
        self.transactions = Transactions(self.nb)
        self.addCleanup(self.transactions.close)

    def agent(self, eyes=None, wake=None, **options):
        """The backend of an agent."""
        made = locked_rows.PeeringBackend(world.conf(
            drivers=['network_peer'], ovn__ovn_nb_remote=[self.nb.remote],
            ovn__transaction_timeout=5, **options))
        made.attach(backends.Context((eyes or self.eyes_).databases,
                                     wake=wake))
        self.addCleanup(made.close)
        return made

    def peering(self, one=1, other=2, back='x', **values):
        """The peering of two routers by number."""
        sides = sorted((side(self.routers[one], one, other, **values),
                        side(self.routers[other], other, one, name=back)),
                       key=lambda each: each.router)
        return resources.Peering(ownership.peer_pair(
            self.routers[one], self.routers[other]), tuple(sides))

    def create(self, *wanted, backend=None):
        return (backend or self.backend).apply(backends.Delta(create=wanted))

    def change(self, old, new):
        return self.backend.apply(backends.Delta(update=((old, new),)))

    def delete(self, *unwanted, backend=None):
        return (backend or self.backend).apply(
            backends.Delta(delete=unwanted))

    def read_until(self, *wanted, backend=None):
        """The replica follows the server; read until it has."""
        backend = backend or self.backend
        self.eventually(
            lambda: sorted(backend.read(frozenset()), key=str) ==
            sorted(wanted, key=str), lambda: backend.read(frozenset()))


    def ours(self):
        """The marked rows in all tables, by UUID."""
        return {row['_uuid'][1]: row for table in TABLES
                for row in self.nb.rows(table)
                if PEER in dict(row['external_ids'][1])}
