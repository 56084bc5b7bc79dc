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

"""TLS to real servers, and every way in which it fails.

Row PRE-13 and trap T67.
"""

import os
import shutil
import socket
import tempfile
import threading
import time

import fixtures

from ovn_network_agent.conf import tls
from ovn_network_agent.conf import validate
from ovn_network_agent.ovn import events
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import streams
from ovn_network_agent.tests import pki
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import loss
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
        handler = events.Handler()
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


class ReachTest(TlsTestCase):

    def test_with_a_client_certificate(self):
        server = self.server()
        server.transact(ovsdb.insert('Logical_Router', name='r1'))
        self.configure(server.remote_ssl)
        database = self.accepted(server.remote_ssl)
        with database.rows() as nb:
            self.assertEqual(['r1'], [
                row.name for row in nb['Logical_Router'].values()])
        server.transact(ovsdb.insert('Logical_Router', name='r2'))
        self.eventually_has(database, 2)

    def eventually_has(self, database, number):
        def counted():
            with database.rows() as nb:
                return len(nb['Logical_Router']) == number
        waiting.eventually(counted, f'{number:d} routers')

    def test_a_server_that_is_started_anew_is_found_again(self):
        server = self.server()
        self.configure(server.remote_ssl)
        database = self.accepted(server.remote_ssl)
        server.kill()
        waiting.eventually(lambda: not database.connected, 'lost')
        server.start()
        server.transact(ovsdb.insert('Logical_Router', name='r1'))
        self.eventually_has(database, 1)

    def test_a_big_database(self):
        # More than one record of TLS, and more than one read.
        server = self.server()
        server.transact(*(
            ovsdb.insert('Logical_Router', name=f'router-{n}' * 20)
            for n in range(2000)))
        self.configure(server.remote_ssl)
        database = self.accepted(server.remote_ssl)
        self.eventually_has(database, 2000)
        server.transact(*(
            ovsdb.insert('Logical_Router', name=f'another-{n}' * 20)
            for n in range(2000)))
        self.eventually_has(database, 4000)

    def test_a_host_name(self):
        server = self.server(hosts=('localhost',))
        port = server.remote_ssl.rpartition(':')[2]
        remote = 'ssl:localhost:' + port
        self.configure(remote)
        # It has an address of the other family as well; chance decides.
        database = self.database(remote)
        said = set()
        waiting.eventually(lambda: self.starts(database, said), 'connected')
        for text in said:
            self.assertIn('refused', text)

    def starts(self, database, said):
        try:
            database.start()
        except connection.Unavailable as e:
            said.add(str(e))
        return database.connected

    def test_a_list_needs_only_one(self):
        server = self.server()
        remotes = ['ssl:127.0.0.1:1', server.remote_ssl]
        self.configure(server.remote_ssl)
        conf = world.conf(ovn__ovn_nb_remote=remotes,
                          ovn__ovn_ssl_ca=self.authority.path,
                          ovn__ovn_ssl_cert=self.client[0],
                          ovn__ovn_ssl_key=self.client[1])
        streams.configure(conf)
        self.accepted(','.join(remotes))

    def test_the_local_database_may_have_files_of_its_own(self):
        # python-ovs itself knows one set of files in a process.
        other = pki.Authority(self.directory(), 'other')
        nb = self.server()
        ovs = self.server('ovs', authority=other, trusts=other)
        pair = other.issue('client')
        streams.configure(world.conf(
            ovn__ovn_nb_remote=[nb.remote_ssl],
            ovn__ovn_ssl_ca=self.authority.path,
            ovn__ovn_ssl_cert=self.client[0],
            ovn__ovn_ssl_key=self.client[1],
            ovs__ovsdb_connection=ovs.remote_ssl,
            ovs__ovs_ssl_ca=other.path, ovs__ovs_ssl_cert=pair[0],
            ovs__ovs_ssl_key=pair[1]))
        self.accepted(nb.remote_ssl)
        self.accepted(ovs.remote_ssl, 'ovs')

    def test_the_local_database_uses_the_files_of_ovn_by_default(self):
        ovs = self.server('ovs')
        streams.configure(world.conf(
            ovs__ovsdb_connection=ovs.remote_ssl,
            ovn__ovn_ssl_ca=self.authority.path,
            ovn__ovn_ssl_cert=self.client[0],
            ovn__ovn_ssl_key=self.client[1]))
        self.accepted(ovs.remote_ssl, 'ovs')

    def test_a_renewed_certificate_needs_no_restart(self):
        server = self.server()
        expired = self.authority.issue('client', expired=True)
        self.configure(server.remote_ssl)
        self.refused(server.remote_ssl, 'expired', expired[0])
        self.assertEqual(expired, self.authority.issue('client'))
        self.accepted(server.remote_ssl)

    def test_a_handshake_that_gets_no_answer_costs_no_time(self):
        server = self.server()
        server.pause()
        self.configure(server.remote_ssl)
        before = time.process_time()
        self.assertRaises(connection.Unavailable, self.database(
            server.remote_ssl, timeout=3).start)
        self.assertLess(time.process_time() - before, 1)
        server.resume()


class RefusalTest(TlsTestCase):

    def test_a_server_of_another_authority(self):
        other = pki.Authority(self.directory(), 'other')
        server = self.server(authority=other)
        self.configure(server.remote_ssl)
        self.refused(server.remote_ssl, server.remote_ssl,
                     '[ovn] ovn_ssl_ca = ' + self.authority.path,
                     'authority is not in', 'put it there')

    def test_a_server_whose_certificate_has_expired(self):
        server = self.server(expired=True)
        self.configure(server.remote_ssl)
        self.refused(server.remote_ssl, 'certificate has expired',
                     'renew it on the server')

    def test_a_server_by_another_name(self):
        for hosts in (('192.0.2.1',), ('nb.example.org',), ()):
            server = self.server(hosts=hosts)
            self.configure(server.remote_ssl)
            self.refused(server.remote_ssl, 'ovn_ssl_check_name = false',
                         HERE)
            self.configure(server.remote_ssl, check_name=False)
            self.accepted(server.remote_ssl)

    def test_without_the_check_of_names_the_authority_still_counts(self):
        other = pki.Authority(self.directory(), 'other')
        server = self.server(authority=other)
        self.configure(server.remote_ssl, check_name=False)
        self.refused(server.remote_ssl, 'authority is not in')

    def test_without_an_authority_those_of_the_system_count(self):
        server = self.server()
        self.configure(server.remote_ssl, ca='')
        self.refused(server.remote_ssl, 'authority is not in',
                     'ovn_ssl_ca = (not set)')

    def test_a_client_that_the_server_does_not_know(self):
        other = pki.Authority(self.directory(), 'other')
        server = self.server(trusts=other)
        self.configure(server.remote_ssl)
        self.refused(server.remote_ssl, '[ovn] ovn_ssl_cert = ' +
                     self.client[0], 'server')

    def test_a_client_without_a_certificate(self):
        server = self.server()
        self.configure(server.remote_ssl, cert='', key='')
        self.refused(server.remote_ssl, 'wants a certificate',
                     '[ovn] ovn_ssl_cert = (not set)')

    def test_a_client_whose_certificate_has_expired(self):
        server = self.server()
        self.client = self.authority.issue('old', expired=True)
        conf = self.configure(server.remote_ssl)
        self.refused(server.remote_ssl, 'our certificate has expired',
                     self.client[0])
        warned = [text for text in tls.warnings(conf) if 'expired' in text]
        self.assertEqual(1, len(warned), warned)
        self.assertIn('[ovn] ovn_ssl_cert = ' + self.client[0], warned[0])

    def test_a_server_without_tls(self):
        server = ovsdb.Server('nb', tcp=True)
        self.addCleanup(server.close)
        server.start()
        remote = server.remote_tcp.replace('tcp', 'ssl')
        self.configure(remote)
        self.refused(remote, remote)

    def test_a_remote_without_files_is_not_reached_at_all(self):
        server = self.server()
        streams.configure(world.conf())
        self.refused(server.remote_ssl, 'no certificates are configured')

    def test_an_old_version_of_tls(self):
        with OldServer(self.authority.issue('old-server', HERE)) as remote:
            self.configure(remote)
            self.refused(remote, 'TLS 1.2')

    def test_files_that_went_bad_while_running(self):
        server = self.server()
        self.configure(server.remote_ssl)
        database = self.accepted(server.remote_ssl)
        os.chmod(self.client[1], 0o644)
        server.kill()
        server.start()
        waiting.eventually(lambda: 'chmod 600' in database.trouble,
                           lambda: database.trouble)
        before = time.process_time()
        waiting.lasts(lambda: self.assertFalse(database.connected), 1)
        self.assertLess(time.process_time() - before, 0.5)
        os.chmod(self.client[1], 0o600)
        waiting.eventually(lambda: database.connected, 'connected again')
        self.assertEqual('', database.trouble)


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


class ConfigurationTest(TlsTestCase):

    def test_what_the_agent_may_not_read_is_said_at_the_start(self):
        os.unlink(self.client[1])
        error = self.assertRaises(validate.ConfigError, self.configure,
                                  'ssl:127.0.0.1:1')
        self.assertIn(f'[ovn] ovn_ssl_key = {self.client[1]}: '
                      'cannot be read', str(error))


class AgentTest(loss.LossTestCase):
    """The whole agent over TLS, and what it says of it."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='pki-')
        self.authority = pki.Authority(self.directory)
        super().setUp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.addCleanup(streams.configure, world.conf())

    def remotes(self):
        return {name: server.remote_ssl
                for name, server in self.servers.items()}

    def certificates(self, name):
        return (self.authority.path,
                *self.authority.issue('server-' + name, HERE))

    def options(self):
        cert, key = self.authority.issue('client')
        return {'ovn__ovn_ssl_ca': self.authority.path,
                'ovn__ovn_ssl_cert': cert, 'ovn__ovn_ssl_key': key}

    def configured(self):
        """Options of an agent whose streams know them."""
        options = self.options()
        remotes = self.remotes()
        streams.configure(world.conf(
            ovn__ovn_nb_remote=[remotes['nb']],
            ovn__ovn_sb_remote=[remotes['sb']],
            ovs__ovsdb_connection=remotes['ovs'], **options))
        return options

    def test_all_three_and_a_certificate_that_expires(self):
        agent = self.running(**self.configured())
        before = self.world.values()
        for name, server in self.servers.items():
            server.kill()
            self.authority.issue('server-' + name, HERE, expired=True)
            server.start()
            self.degraded(agent, ovsdb.DATABASES[name],
                          'certificate has expired',
                          'renew it on the server')
            server.kill()
            self.authority.issue('server-' + name, HERE)
            server.start()
            self.well(agent)
        self.assertEqual(before, self.world.values())

    def test_never_reached(self):
        self.sb.kill()
        self.authority.issue('server-sb', 'sb.example.org')
        self.sb.start()
        agent = self.agent(**self.configured())
        self.degraded(agent, 'waiting for OVN', 'OVN_Southbound',
                      'ovn_ssl_check_name = false')
        self.assertEqual(set(), self.announced())
        self.authority.issue('server-sb', HERE)
        self.sb.kill()
        self.sb.start()
        self.eventually(self.announced, 'there')
        self.well(agent)
