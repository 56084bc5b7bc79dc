# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What many agents ask of NB and SB: python3 -m tools.bench.fleet.

Real ovsdb-servers hold a cloud.  One real replica of the agent begins to
follow each server through a recorder.  Then many light clients send the
server what the replica has sent, read all that comes, and answer the probes
of the server.  So the server works as for as many agents, while this process
does not keep the rows of each.
"""

import argparse
import contextlib
import json
import os
import selectors
import socket
import tempfile
import threading
import time

from ovn_network_agent.ovn import events
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import notification
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

_TICKS = os.sysconf('SC_CLK_TCK')
_LIMIT = 600
# Bytes that are kept of what came last.
_END = 4096
# Candidates of a gateway port, as Neutron schedules them.
_CANDIDATES = 5
_BATCH = 10


class _Patient(ovsdb._Client):
    """The client of the tests, but for its limit."""

    def __init__(self, path):
        super().__init__(path)
        self._socket.settimeout(_LIMIT)


class Server(ovsdb.Server):
    """An ovsdb-server whose processor time and memory are seen."""

    def _call(self, method, params):
        # A server that many clients load answers late.
        if self._client is None:
            self._client = _Patient(self._path('sock'))
        return self._client.call(method, params)

    def transact(self, *operations):
        """One transaction; gives the results."""
        results = self._call('transact', [self.database, *operations])
        for result in results:
            if result and 'error' in result:
                raise RuntimeError(f'{results}')
        return results

    def processor(self):
        """Seconds of processor time so far."""
        with open(f'/proc/{self._process.pid}/stat') as opened:
            fields = opened.read().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self):
        """Resident memory in MB."""
        with open(f'/proc/{self._process.pid}/status') as opened:
            return next(int(line.split()[1]) / 1000 for line in opened
                        if line.startswith('VmRSS'))


class Cloud:
    """The rows that agents replicate, written in large transactions.

    As a context manager, it ends its servers.

    :param gateways: number of chassis
    :param routers: number of routers, each with one gateway port
    :param fips: floating IPs of each router
    """

    def __init__(self, gateways, routers, fips):
        self.gateways = gateways
        with contextlib.ExitStack() as servers:
            self.nb, self.sb = (
                servers.enter_context(contextlib.closing(Server(name)))
                for name in ('nb', 'sb'))
            self._fill(routers, fips)
            # A failure ends the servers, which live on otherwise.
            self._servers = servers.pop_all()

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

    def _in_nb(self, n, fips):
        candidates = range(min(_CANDIDATES, self.gateways))
        for c in candidates:
            name = f'gw{(n + c) % self.gateways}'
            yield ovsdb.insert(
                'Gateway_Chassis', f'g{n}x{c}', name=f'lrp-{n}_{name}',
                chassis_name=name, priority=_CANDIDATES - c)
        for f in range(fips):
            yield ovsdb.insert(
                'NAT', f'n{n}x{f}', type='dnat_and_snat',
                external_ip=f'198.18.{n % 250}.{f + 1}',
                logical_ip=f'10.0.0.{f + 1}',
                external_ids=ovsdb.ovsdb_dict({
                    'neutron:fip_id': f'00000000-0000-4000-8000-{n:06d}{f:06d}'
                }))
        owner = f'gw{n % self.gateways}.example.org'
        yield ovsdb.insert(
            'Logical_Router_Static_Route', f's{n}', ip_prefix='0.0.0.0/0',
            nexthop='198.18.255.254', output_port=f'lrp-{n}',
            external_ids=ovsdb.ovsdb_dict({
                'ovn-network-agent': 'managed',
                'ovn-network-agent-chassis': owner,
                'ovn-network-agent-advertised': owner}))
        yield ovsdb.insert('Static_MAC_Binding', logical_port=f'lrp-{n}',
                           ip='198.18.255.254', mac='02:00:00:00:00:01')
        yield ovsdb.insert(
            'Logical_Router_Port', f'p{n}', name=f'lrp-{n}',
            mac=f'fa:16:3e:00:{n // 256:02x}:{n % 256:02x}',
            networks='198.18.0.1/16', gateway_chassis=_named(
                f'g{n}x{c}' for c in candidates))
        yield ovsdb.insert(
            'Logical_Router', name=f'neutron-{n}',
            ports=['named-uuid', f'p{n}'],
            static_routes=['named-uuid', f's{n}'],
            nat=_named(f'n{n}x{f}' for f in range(fips)),
            external_ids=ovsdb.ovsdb_dict({'neutron:router_name': f'r{n}'}))

    def _in_sb(self, n):
        yield ovsdb.insert('Datapath_Binding', f'd{n}', tunnel_key=n + 2)
        for place, (name, kind, options) in enumerate((
                (f'cr-lrp-{n}', 'chassisredirect',
                 {'distributed-port': f'lrp-{n}'}),
                (f'lrp-{n}', 'patch', {'peer': f'lsp-{n}'}),
                (f'lsp-{n}', 'patch', {'peer': f'lrp-{n}'}))):
            row = {'chassis': self.chassis[f'gw{n % self.gateways}']} if (
                kind == 'chassisredirect') else {}
            yield ovsdb.insert(
                'Port_Binding', logical_port=name, type=kind,
                datapath=['named-uuid', f'd{n}'], tunnel_key=place + 1,
                options=ovsdb.ovsdb_dict(options), **row)

    def relays(self):
        """How many other candidates the gateway groups of a node have."""
        found, groups = {}, {}
        for row in self.nb.rows('Gateway_Chassis', 'name', 'chassis_name'):
            port = row['name'].partition('_')[0]
            groups.setdefault(port, set()).add(row['chassis_name'])
        for group in groups.values():
            for name in group:
                found.setdefault(name, set()).update(group - {name})
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
            datapath=self._network, tunnel_key=n + 1))

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


def _complete(decoder, text):
    """(list of the whole messages at the begin of a text, the rest)."""
    messages = []
    while text:
        try:
            message, end = decoder.raw_decode(text)
        except ValueError:
            break
        messages.append(message)
        text = text[end:]
    return messages, text


class Recorder:
    """Stands between a replica and a server, and keeps what it asks for.

    :param path: the server's socket
    :ivar remote: where the replica connects
    :ivar requests: messages of the replica, but for echoes and answers
    """

    def __init__(self, path, directory):
        self._path = path
        self.requests = []
        self._listener = socket.socket(socket.AF_UNIX)
        place = os.path.join(directory, 'recorder')
        self._listener.bind(place)
        self._listener.listen()
        self.remote = 'unix:' + place
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _address = self._listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._path)
            for source, target, keep in ((client, server, True),
                                         (server, client, False)):
                threading.Thread(target=self._copy, daemon=True,
                                 args=(source, target, keep)).start()

    def _copy(self, source, target, keep):
        decoder, text = json.JSONDecoder(), ''
        while data := source.recv(1 << 20):
            try:
                target.sendall(data)
            except BrokenPipeError:
                # The replica has ended.
                break
            messages, text = _complete(
                decoder, text + (data.decode() if keep else ''))
            for message in messages:
                if message.get('method', 'echo') != 'echo':
                    self.requests.append(message)
        target.close()


class Clients:
    """Light clients of one server.

    :param path: the server's socket
    :param requests: messages to begin with
    :param count: number of clients
    :ivar size: bytes that each of them gets at the beginning
    """

    def __init__(self, path, requests, count):
        self._path = path
        self._begin = ''.join(json.dumps(one) for one in requests).encode()
        self._ids = [json.dumps(one['id']) for one in requests]
        self._selector = selectors.DefaultSelector()
        self._received, self._ends = {}, {}
        with contextlib.ExitStack() as opened:
            opened.callback(self.close)
            self.size = self._first()
            for _number in range(count - 1):
                self._add()
            self._read(lambda: min(self._received.values()) >= self.size)
            opened.pop_all()

    def received(self):
        """Bytes so far, of all clients."""
        return sum(self._received.values())

    def until(self, mark):
        """Read until every client has got a text, the last of all."""
        self._read(lambda: all(mark in end for end in self._ends.values()))

    def close(self):
        """Close the connections of all clients, and the selector."""
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()

    def _add(self):
        made = socket.socket(socket.AF_UNIX)
        # From now on close() closes the socket.
        self._selector.register(made, selectors.EVENT_READ)
        made.connect(self._path)
        made.sendall(self._begin)
        self._received[made], self._ends[made] = 0, b''
        return made

    def _first(self):
        """Add a client whose answers are read; gives their size."""
        made, decoder, text = self._add(), json.JSONDecoder(), ''
        answered = set()
        while answered != set(self._ids):
            data = made.recv(1 << 20)
            self._received[made] += len(data)
            messages, text = _complete(decoder, text + data.decode())
            for message in messages:
                if 'result' in message:
                    answered.add(json.dumps(message['id']))
        return self._received[made]

    def _read(self, complete):
        started = time.monotonic()
        while not complete():
            if time.monotonic() - started > _LIMIT:
                raise RuntimeError('the server does not send everything')
            for key, _events in self._selector.select(0.1):
                made, data = key.fileobj, key.fileobj.recv(1 << 20)
                self._received[made] += len(data)
                self._ends[made] = (self._ends[made] + data)[-_END:]
                if b'"echo"' in data[-200:]:
                    made.sendall(b'{"id":"echo","result":[],"error":null}')


def replica(name, server, directory):
    """Follow a server as an agent does.

    :returns: (requests, dict of table to number of rows)
    """
    recorder = Recorder(server.remote.removeprefix('unix:'), directory)
    handler = notification.Handler()
    made = connection.Database(name, recorder.remote, handler, 10, 60000)
    for watch in events.VIEW:
        if watch.database == name:
            made.require(watch.table, watch.columns)
    for database, table, clauses in events.CONDITIONS:
        if database == name:
            made.only(table, clauses)
    made.start()
    try:
        waiting.eventually(lambda: made.connected, 'the replica', 120)
        with made.rows() as rows:
            counted = {table: len(rows[table]) for table in rows}
    finally:
        made.stop()
        handler.stop()
    # The schema is fetched before, on connections that end.
    monitors = [one for one in recorder.requests
                if one['method'].startswith(('monitor', 'set_db'))]
    return monitors, counted


def measure(cloud, name, requests, count, happenings, repeat):
    """Load a server with clients, and then with events."""
    server = getattr(cloud, name)
    before, memory = server.processor(), server.memory()
    started = time.monotonic()
    with contextlib.closing(Clients(server.remote.removeprefix('unix:'),
                                    requests, count)) as clients:
        print(f'{name}: {count} clients: {clients.size / 1000:.0f} kB each, '
              f'processor {server.processor() - before:.2f} s, '
              f'{time.monotonic() - started:.1f} s, memory '
              f'{memory:.0f} to {server.memory():.0f} MB', flush=True)
        mark, cost = 0, 0
        for what in (None, *happenings):
            before, read = server.processor(), clients.received()
            for number in range(repeat if what else 0):
                what(number)
            mark += 1
            clients.until(cloud.mark(name, mark))
            total = (clients.received() - read) / count
            if what is None:
                # The mark itself.
                cost = total
                continue
            print(f'{name}: {count} clients: {what.__name__}: '
                  f'{(total - cost) / repeat:.0f} bytes each, processor '
                  f'{(server.processor() - before) / repeat * 1000:.1f} ms',
                  flush=True)
        print(f'{name}: memory {server.memory():.0f} MB', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--gateways', type=int, nargs='+',
                        default=[3, 30, 300])
    parser.add_argument('--routers', type=int, default=300)
    parser.add_argument('--fips', type=int, default=10)
    parser.add_argument('--events', type=int, default=20)
    options = parser.parse_args()
    for count in options.gateways:
        print(f'{count} gateways, {options.routers} routers with '
              f'{options.fips} floating IPs each', flush=True)
        with Cloud(count, options.routers, options.fips) as cloud:
            print(f'relays: {cloud.relays()} on each node at most, '
                  f'{count - 1} if all are candidates with all, '
                  f'{count * (count - 1)} in the cloud then', flush=True)
            for name, happenings in (
                    ('nb', (cloud.add_fip, cloud.take_over)),
                    ('sb', (cloud.move, cloud.bind_machine,
                            cloud.add_network))):
                with tempfile.TemporaryDirectory() as directory:
                    requests, rows = replica(name, getattr(cloud, name),
                                             directory)
                print(f'{name}: asks with '
                      f'{[one["method"] for one in requests]}')
                print(f'{name}: {sum(rows.values())} rows: ' + ', '.join(
                    f'{table} {n}' for table, n in rows.items() if n),
                    flush=True)
                measure(cloud, name, requests, count, happenings,
                        options.events)


if __name__ == '__main__':
    main()
