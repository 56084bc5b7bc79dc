# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rows of a cloud, as Neutron, ovn-northd and the agents write them."""

from collections import abc
import contextlib
import ipaddress
import random

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import processes

# Seconds that a loaded server may take for an answer.
LIMIT = 600


class Patient(ovsdb._Client):
    """The client of the tests, but for its limit."""

    def __init__(self, path):
        super().__init__(path)
        self._socket.settimeout(LIMIT)


class Server(ovsdb.Server):
    """An ovsdb-server that many clients load."""

    def _call(self, method, params):
        if self._client is None:
            self._client = Patient(self._path('sock'))
        return self._client.call(method, params)

    def transact(self, *operations):
        """One transaction; gives the results.

        :raises RuntimeError: when the server refuses an operation
        """
        results = self._call('transact', [self.database, *operations])
        for result in results:
            if result and 'error' in result:
                raise RuntimeError(f'{results}')
        return results

    @property
    def pid(self) -> int:
        """Of the present process."""
        return self._process.pid

    def processor(self) -> float:
        """Seconds of processor time so far."""
        return processes.load([self.pid]).processor / 1000

    def memory(self, most: bool = False) -> float:
        """Resident memory in MB, now or at most so far."""
        return processes.resident(self.pid, most)


# Candidates of a gateway port, as Neutron schedules them.
_CANDIDATES = 5
_BATCH = 10
# Both are in the provider network 198.18.0.0/16.
_PORTS = ipaddress.ip_network('198.18.0.0/17')
_FIPS = ipaddress.ip_network('198.18.128.0/18')
# The first tunnel key of a virtual machine; those of routers are below.
MACHINES = 30000


def gateway(number):
    """The name of a chassis."""
    return f'gw{number}'


def hostname(number):
    """The host name of a chassis."""
    return f'gw{number}.example.org'


def lrp(number):
    """The name of the gateway port of a router."""
    return f'lrp-{number}'


class Cloud:
    """The rows that agents replicate, written in large transactions.

    As a context manager, it ends its servers.

    :param written: function(number of a router) that says whether its owner
        has written its rows
    :param clustered: have the servers be clusters of one member, which know
        after a restart what their clients have
    """

    def __init__(self, gateways: int, routers: int, fips,
                 written: abc.Callable = lambda number: True,
                 no_standby: int | None = None, clustered=False):
        self.gateways = gateways
        self.routers = routers
        self._written = written
        self._no_standby = no_standby
        # The same cloud each time.
        self._random = random.Random(gateways)  # noqa: S311
        with contextlib.ExitStack() as opened:
            self.nb, self.sb = (
                opened.enter_context(contextlib.closing(
                    Server(name)))
                for name in ('nb', 'sb'))
            if clustered:
                self.nb.create_cluster()
                self.sb.create_cluster()
            self._fill(routers, fips)
            # A failure ends the servers, which live on otherwise.
            self._servers = opened.pop_all()

    def _fill(self, routers, fips):
        gateways = self.gateways
        self.nb.start()
        self.sb.start()
        self.sb.transact(
            ovsdb.insert('Datapath_Binding', tunnel_key=1),
            *(operation for n in range(gateways) for operation in (
                ovsdb.insert('Encap', f'e{n}', type='geneve',
                             ip=f'10.9.{n // 250}.{n % 250 + 1}',
                             chassis_name=f'gw{n}'),
                ovsdb.insert('Chassis', name=f'gw{n}',
                             hostname=f'gw{n}.example.org',
                             encaps=['named-uuid', f'e{n}']))))
        self.chassis = {row['name']: row['_uuid'] for row in self.sb.rows(
            'Chassis', 'name', '_uuid')}
        self._network = self.sb.rows('Datapath_Binding', '_uuid')[0]['_uuid']
        self.sb.transact(ovsdb.insert(
            'Port_Binding', logical_port='provnet-1', type='localnet',
            datapath=self._network, tunnel_key=MACHINES - 1,
            options=ovsdb.ovsdb_map(network_name='physnet1')))
        for first in range(0, routers, _BATCH):
            numbers = range(first, min(first + _BATCH, routers))
            self.nb.transact(*(
                operation for n in numbers
                for operation in self._in_nb(n, fips)))
            self.sb.transact(*(
                operation for n in numbers for operation in self._in_sb(n)))

    def close(self):
        """End the servers, and remove their files."""
        self._servers.close()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()

    def _members(self, n):
        """The numbers of the candidates of a router, its owner first."""
        owner = n % self.gateways
        others = [c for c in range(self.gateways)
                  if c not in (owner, self._no_standby)]
        return [owner, *self._random.sample(
            others, min(_CANDIDATES - 1, len(others)))]

    def _in_nb(self, n, fips):
        members = self._members(n)
        for c, member in enumerate(members):
            yield ovsdb.insert(
                'Gateway_Chassis', f'g{n}x{c}',
                name=f'{lrp(n)}_{gateway(member)}',
                chassis_name=gateway(member), priority=_CANDIDATES - c)
        for f in range(fips):
            yield ovsdb.insert(
                'NAT', f'n{n}x{f}', type='dnat_and_snat',
                external_ip=str(_FIPS[(n * fips + f) % _FIPS.num_addresses]),
                logical_ip=f'10.0.0.{f + 1}',
                external_ids=ovsdb.ovsdb_dict({
                    'neutron:fip_id': f'00000000-0000-4000-8000-{n:06d}{f:06d}'
                }))
        routes = []
        if self._written(n):
            yield from _of_the_owner(n, hostname(members[0]))
            routes = [f's{n}']
        yield ovsdb.insert(
            'Logical_Router_Port', f'p{n}', name=lrp(n),
            mac=f'fa:16:3e:00:{n // 256:02x}:{n % 256:02x}',
            networks=f'{_PORTS[n + 1]}/16', gateway_chassis=_named(
                f'g{n}x{c}' for c in range(len(members))))
        yield ovsdb.insert(
            'Logical_Router', name=f'neutron-{n}',
            ports=['named-uuid', f'p{n}'], static_routes=_named(routes),
            nat=_named(f'n{n}x{f}' for f in range(fips)),
            external_ids=ovsdb.ovsdb_dict({'neutron:router_name': f'r{n}'}))

    def _in_sb(self, n):
        yield ovsdb.insert('Datapath_Binding', f'd{n}', tunnel_key=n + 2)
        owner = self.chassis[gateway(n % self.gateways)]
        for name, kind, options, place in (
                (f'cr-{lrp(n)}', 'chassisredirect',
                 {'distributed-port': lrp(n)}, {
                     'datapath': ['named-uuid', f'd{n}'], 'tunnel_key': 1,
                     'chassis': owner}),
                (lrp(n), 'patch', {'peer': f'lsp-{n}'}, {
                    'datapath': ['named-uuid', f'd{n}'], 'tunnel_key': 2}),
                (f'lsp-{n}', 'patch', {'peer': lrp(n)}, {
                    'datapath': self._network, 'tunnel_key': n + 1})):
            yield ovsdb.insert(
                'Port_Binding', logical_port=name, type=kind,
                options=ovsdb.ovsdb_dict(options), **place)

    def relays(self, first: int = _CANDIDATES):
        """The most relays that a node has.

        :param first: number of the candidates of a port, the first ones in its
            order, that have relays with each other
        """
        found, groups = {}, {}
        for row in self.nb.rows('Gateway_Chassis', 'name', 'chassis_name',
                                'priority'):
            port = row['name'].partition('_')[0]
            groups.setdefault(port, []).append(
                (row['priority'], row['chassis_name']))
        for group in groups.values():
            names = {name for _priority, name in sorted(group)[-first:]}
            for name in names:
                found.setdefault(name, set()).update(names - {name})
        return max(map(len, found.values()))

    # -- events -----------------------------------------------------------

    def add_fip(self, n):
        """A floating IP."""
        self.nb.transact(
            ovsdb.insert('NAT', 'nat', type='dnat_and_snat',
                         external_ip=f'198.19.0.{n + 1}',
                         logical_ip='10.0.0.200'),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-0'}, 'nat',
                         'insert', ['named-uuid', 'nat']))

    def move(self, n):
        """A gateway port moves to another chassis, in SB."""
        name = f'gw{(n + 1) % self.gateways}'
        self.sb.transact(ovsdb.update(
            'Port_Binding', {'logical_port': 'cr-lrp-0'},
            chassis=self.chassis[name]))

    def take_over(self, n):
        """The rows of the next owner in NB: route and proof."""
        owner = f'gw{(n + 1) % self.gateways}.example.org'
        self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {'output_port': 'lrp-0'},
            external_ids=ovsdb.ovsdb_dict({
                'ovn-network-agent': 'managed',
                'ovn-network-agent-chassis': owner,
                'ovn-network-agent-advertised': owner})))

    def bind_machine(self, n):
        """A port of a virtual machine is bound in a network."""
        self.sb.transact(ovsdb.insert(
            'Port_Binding', logical_port=f'vm-{n}', type='',
            datapath=self._network, tunnel_key=MACHINES + n))

    def add_network(self, n):
        """A network without a router."""
        self.sb.transact(ovsdb.insert('Datapath_Binding',
                                      tunnel_key=900000 + n))

    def mark(self, name, number):
        """Write a text of a fixed length that all replicas get; gives it."""
        text = f'mark-{number:06d}'
        if name == 'nb':
            self.nb.transact(ovsdb.update(
                'Logical_Router', {'name': 'neutron-1'},
                external_ids=ovsdb.ovsdb_dict({'neutron:router_name': text})))
        else:
            self.sb.transact(ovsdb.update('Chassis', {'name': 'gw0'},
                                          hostname=text))
        return text.encode()


def _named(names):
    return ovsdb.ovsdb_set(['named-uuid', name] for name in names)


def _of_the_owner(n, owner):
    """The rows that the agent of an owner writes."""
    yield ovsdb.insert(
        'Logical_Router_Static_Route', f's{n}', ip_prefix='0.0.0.0/0',
        nexthop='198.18.255.254', output_port=lrp(n),
        external_ids=ovsdb.ovsdb_dict({
            'ovn-network-agent': 'managed',
            'ovn-network-agent-chassis': owner,
            'ovn-network-agent-advertised': owner}))
    yield ovsdb.insert('Static_MAC_Binding', logical_port=lrp(n),
                       ip='198.18.255.254', mac='02:00:00:00:00:01')
