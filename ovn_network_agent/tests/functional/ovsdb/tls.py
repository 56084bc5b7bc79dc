# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Servers of OVSDB behind TLS, and the files of their clients.

Row PRE-13 and trap T67.
"""

import socket
import threading

import fixtures

from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.ovsdb import streams
from ovn_network_agent.tests import pki
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world

HERE = '127.0.0.1'


@ovsdb.needs_ovsdb
class TlsTestCase(base.base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.addCleanup(streams.configure, world.conf())
        self.authority = pki.Authority(self.directory())
        self.client = self.authority.issue('client')

    def directory(self):
        return self.useFixture(fixtures.TempDir()).path

    def server(self, name='nb', *, authority=None, hosts=(HERE,),
               trusts=None, start=True, **issue):
        """A server that speaks TLS, and wants a certificate of clients."""
        authority = authority or self.authority
        made = ovsdb.Server(name, ssl=(
            (trusts or self.authority).path,
            *authority.issue('server-' + name, *hosts, **issue)))
        self.addCleanup(made.close)
        return made.start() if start else made

    def configure(self, remote, group='ovn', **options):
        """Give the streams the files for a remote."""
        option = {'ovn': 'ovn_nb_remote', 'ovs': 'ovsdb_connection'}[group]
        files = {'ca': self.authority.path, 'cert': self.client[0],
                 'key': self.client[1], **options}
        conf = world.conf(
            **{f'{group}__{option}':
               [remote] if group == 'ovn' else remote},
            **{f'{group}__{group}_ssl_{what}': value
               for what, value in files.items()})
        streams.configure(conf)
        return conf

    def database(self, remote, name='nb', timeout=base.TIMEOUT, probe=60000,
                 changed=lambda database: None):
        handler = replica.Handler()
        self.addCleanup(handler.stop)
        made = connection.Database(name, remote, handler, timeout, probe,
                                   changed)
        made.require('Logical_Router', ('name',))
        made.require('Open_vSwitch', ('external_ids',))
        self.addCleanup(made.stop)
        return made

    def refused(self, remote, *parts):
        """A connection fails, and the text has these parts."""
        error = self.assertRaises(connection.Unavailable,
                                  self.database(remote).start)
        for part in parts:
            self.assertIn(part, str(error))

    def accepted(self, remote, name='nb'):
        """A connection works; gives the database."""
        made = self.database(remote, name)
        made.start()
        self.assertTrue(made.connected)
        return made


class OldServer:
    """Ends each handshake as one does that knows TLS 1.1 at most."""

    ALERT = bytes((21, 3, 2, 0, 2, 2, 70))

    def __init__(self, pair):
        self._pair = pair

    def __enter__(self):
        self._listening = socket.create_server((HERE, 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        host, port = self._listening.getsockname()
        return f'ssl:{host}:{port}'

    def __exit__(self, *_exc):
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(5)

    def _serve(self):
        try:
            while True:
                accepted = self._listening.accept()[0]
                accepted.recv(4096)
                accepted.sendall(self.ALERT)
                accepted.close()
        except OSError:
            return
