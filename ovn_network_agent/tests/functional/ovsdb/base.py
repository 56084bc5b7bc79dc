# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Real ovsdb-servers, private to a test and without privileges."""

import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from ovn_network_agent.tests import needs
from ovn_network_agent.tests import waiting

SCHEMA_FILES = {'nb': '/usr/share/ovn/ovn-nb.ovsschema',
                'sb': '/usr/share/ovn/ovn-sb.ovsschema',
                'ovs': '/usr/share/openvswitch/vswitch.ovsschema'}
DATABASES = {'nb': 'OVN_Northbound', 'sb': 'OVN_Southbound',
             'ovs': 'Open_vSwitch'}
DEADLINE = waiting.DEADLINE


def available():
    """Whether the programs and schemas are installed."""
    return (all(map(shutil.which, ('ovsdb-server', 'ovsdb-tool'))) and
            all(map(os.path.exists, SCHEMA_FILES.values())))


needs_ovsdb = needs.needs(available(),
                          'needs ovsdb-server and the OVN schemas')


@functools.cache
def _empty(schema):
    """The file of an empty database: most tests begin with the same three.

    :param schema: text
    :returns: bytes
    """
    with tempfile.TemporaryDirectory(prefix='ovsdb-') as directory:
        source = os.path.join(directory, 'schema')
        with open(source, 'w') as schema_file:
            schema_file.write(schema)
        made = os.path.join(directory, 'db')
        subprocess.run(['ovsdb-tool', 'create', made, source], check=True,
                       capture_output=True)
        with open(made, 'rb') as database:
            return database.read()


class Server:
    """One ovsdb-server.

    :param name: 'nb', 'sb' or 'ovs'
    :param change_schema: function that changes the schema in place, to
        have that of another version
    :param tcp: listen on an ephemeral port of 127.0.0.1, too
    :param ssl: (authority, certificate, key): likewise, but by TLS
    :ivar remote: where it listens, likewise remote_tcp and remote_ssl
    """

    def __init__(self, name, change_schema=None, tcp=False, ssl=None):
        self.name = name
        self.database = DATABASES[name]
        self.directory = tempfile.mkdtemp(prefix='ovsdb-')
        self.file = self._path('db')
        self.remote = 'unix:' + self._path('sock')
        self.ssl = ssl
        self._scheme = 'ssl' if ssl else 'tcp' if tcp else ''
        self._port = '0'
        self._process = None
        self._paused = False
        self._client = None
        self.create(change_schema)

    def create(self, change_schema=None):
        """Make a new, empty database in the place of the old one."""
        with open(SCHEMA_FILES[self.name]) as schema_file:
            schema = json.load(schema_file)
        if change_schema:
            change_schema(schema['tables'])
            schema.pop('cksum', None)
        text = json.dumps(schema)
        with open(self._path('schema'), 'w') as schema_file:
            schema_file.write(text)
        if os.path.exists(self.file):
            os.unlink(self.file)
        with open(self.file, 'wb') as database:
            database.write(_empty(text))

    def convert(self, change_schema):
        """Give the running server another schema, as an upgrade does.

        :param change_schema: function that changes the present one in place
        """
        with open(self._path('schema')) as schema_file:
            schema = json.load(schema_file)
        change_schema(schema['tables'])
        schema.pop('cksum', None)
        with open(self._path('schema'), 'w') as schema_file:
            json.dump(schema, schema_file)
        # The server closes all connections.
        self._disconnect()
        subprocess.run(['ovsdb-client', 'convert', self.remote,
                        self._path('schema')], check=True,
                       capture_output=True)

    def create_cluster(self):
        """Make it a cluster of one member: it numbers its transactions."""
        os.unlink(self.file)
        subprocess.run(['ovsdb-tool', 'create-cluster', self.file,
                        self._path('schema'), 'unix:' + self._path('raft')],
                       check=True, capture_output=True)

    def program(self):
        """The program and its arguments, a list of str."""
        argv = ['ovsdb-server', self.file, '--no-chdir',
                '--unixctl=' + self._path('ctl'),
                '--remote=p' + self.remote]
        if self._scheme:
            argv.append(f'--remote=p{self._scheme}:{self._port}:127.0.0.1')
        if self.ssl:
            argv += ['--ca-cert=' + self.ssl[0],
                     '--certificate=' + self.ssl[1],
                     '--private-key=' + self.ssl[2]]
        return argv

    def start(self):
        """Start it and wait until it answers."""
        log = self._path('log')
        with open(log, 'wb') as stderr:
            self._process = subprocess.Popen(
                self.program(), cwd=self.directory,
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
                env={**os.environ, 'OVS_RUNDIR': self.directory})
        waiting.eventually(self._answers, 'ovsdb-server listens')
        if self._scheme:
            # The same port again after a restart.
            self._port = waiting.eventually(self._listening_port, 'a port')
            setattr(self, 'remote_' + self._scheme,
                    f'{self._scheme}:127.0.0.1:{self._port}')
        self._greet()
        return self

    def _greet(self):
        """Return when the server takes transactions."""
        self.transact({'op': 'comment', 'comment': 'hello'})

    @property
    def runs(self):
        """Whether the server is there and not paused."""
        return self._process is not None and not self._paused

    def _answers(self):
        """Whether it takes connections: the socket is there before that."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            return probe.connect_ex(self._path('sock')) == 0

    def _listening_port(self):
        with open(self._path('log')) as log:
            found = re.search(r'127\.0\.0\.1: listening on port (\d+)',
                              log.read())
        if not found and self._port != '0':
            return self._port
        return found and found.group(1)

    def kill(self):
        """End it as a crash would."""
        self._disconnect()
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()
            self._process = None
            self._paused = False
        for name in ('sock', 'ctl'):
            if os.path.exists(self._path(name)):
                os.unlink(self._path(name))

    def pause(self):
        """It accepts connections but says nothing any more."""
        self._disconnect()
        self._process.send_signal(signal.SIGSTOP)
        self._paused = True

    def resume(self):
        self._paused = False
        self._process.send_signal(signal.SIGCONT)

    def close(self):
        """End it and leave nothing behind."""
        self.kill()
        shutil.rmtree(self.directory)

    def transact(self, *operations):
        """One transaction, as another client.

        :returns: list of the operations' results
        :raises AssertionError: when one of them is refused
        """
        if self._client is None:
            self._client = _Client(self._path('sock'))
        results = self._client.call('transact',
                                    [self.database, *operations])
        for result in results:
            if result and 'error' in result:
                raise AssertionError(f'{operations}: {results}')
        return results

    def rows(self, table, *columns, where=()):
        """Rows of a table, sorted; sets and maps as in the protocol."""
        select = {'op': 'select', 'table': table, 'where': list(where)}
        if columns:
            select['columns'] = list(columns)
        found = self.transact(select)[0]['rows']
        return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))

    def content(self):
        """Everything in the database with its row versions."""
        schema = self._call('get_schema', [self.database])
        return {table: self.rows(table) for table in schema['tables']}

    def _call(self, method, params):
        if self._client is None:
            self._client = _Client(self._path('sock'))
        return self._client.call(method, params)

    def _disconnect(self):
        if self._client is not None:
            self._client.close()
            self._client = None

    def _path(self, name):
        return os.path.join(self.directory, name)


class _Client:
    """JSON-RPC with one server, one call at a time."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(DEADLINE)
        self._socket.connect(path)
        self._decoder = json.JSONDecoder()
        self._buffer = ''
        self._id = 0

    def call(self, method, params):
        self._id += 1
        self._send({'method': method, 'params': params, 'id': self._id})
        while True:
            message = self._receive()
            if message.get('method') == 'echo':
                self._send({'result': message['params'], 'error': None,
                            'id': message['id']})
            elif message.get('id') == self._id:
                if message['error']:
                    raise AssertionError(message['error'])
                return message['result']

    def close(self):
        self._socket.close()

    def _send(self, message):
        self._socket.sendall(json.dumps(message).encode())

    def _receive(self):
        while True:
            if self._buffer:
                try:
                    message, end = self._decoder.raw_decode(self._buffer)
                except ValueError:
                    pass
                else:
                    self._buffer = self._buffer[end:].lstrip()
                    return message
            data = self._socket.recv(1 << 20)
            if not data:
                raise AssertionError('the server closed the connection')
            self._buffer += data.decode()


def ovsdb_map(**values):
    """A map column; '__' in a name stands for ':', and '_' stays."""
    return ['map', [[k.replace('__', ':'), v] for k, v in values.items()]]


def ovsdb_dict(values):
    """A map column from a dict."""
    return ['map', [[k, v] for k, v in values.items()]]


def ovsdb_set(values):
    """A set column."""
    return ['set', list(values)]


def insert(table, handle=None, /, **row):
    """An insert operation; ``handle`` names the row in the transaction."""
    operation = {'op': 'insert', 'table': table, 'row': row}
    if handle:
        operation['uuid-name'] = handle
    return operation


def update(table, where, **row):
    """An update operation.

    :param where: dict of column to value
    """
    return {'op': 'update', 'table': table, 'where': clauses(where),
            'row': row}


def mutate(table, where, column, mutator, values):
    """Put values into a set column or take them out."""
    return {'op': 'mutate', 'table': table, 'where': clauses(where),
            'mutations': [[column, mutator, values]]}


def delete(table, where):
    """A delete operation."""
    return {'op': 'delete', 'table': table, 'where': clauses(where)}


def clauses(where):
    """A where of equal columns."""
    return [[column, '==', value] for column, value in where.items()]
