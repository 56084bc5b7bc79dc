# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Servers and clients that TLS refuses, and the reasons in the log."""

import os
import time

from ovn_network_agent.conf import tls
from ovn_network_agent.ovsdb import streams
from ovn_network_agent.tests import pki
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.ovsdb import tls as servers
from ovn_network_agent.tests.unit import world

HERE = servers.HERE


class RefusalTest(servers.TlsTestCase):

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
        with servers.OldServer(
                self.authority.issue('old-server', HERE)) as remote:
            self.configure(remote)
            self.refused(remote, 'TLS 1.2')

    def test_files_that_went_bad_while_running(self):
        server = self.server()
        self.configure(server.remote_ssl)
        database = self.accepted(server.remote_ssl)
        os.chmod(self.client[1], 0o644)
        server.kill()
        server.start()
        waiting.eventually(lambda: 'chmod 600' in database.problem,
                           lambda: database.problem)
        before = time.process_time()
        waiting.lasts(lambda: self.assertFalse(database.connected), 1)
        self.assertLess(time.process_time() - before, 0.5)
        os.chmod(self.client[1], 0o600)
        waiting.eventually(lambda: database.connected, 'connected again')
        self.assertEqual('', database.problem)
