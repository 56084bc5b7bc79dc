# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Connections over TLS that work, and files that cannot be read."""

import os
import time

from ovn_network_agent.conf import validate
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import streams
from ovn_network_agent.tests import pki
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.ovsdb import tls as servers
from ovn_network_agent.tests.unit import world

HERE = servers.HERE


class ReachTest(servers.TlsTestCase):

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


class ConfigurationTest(servers.TlsTestCase):

    def test_what_the_agent_may_not_read_is_said_at_the_start(self):
        os.unlink(self.client[1])
        error = self.assertRaises(validate.ConfigError, self.configure,
                                  'ssl:127.0.0.1:1')
        self.assertIn(f'[ovn] ovn_ssl_key = {self.client[1]}: '
                      'cannot be read', str(error))
