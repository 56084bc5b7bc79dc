# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Certificates that are revoked, and files that change under the agent.

The servers are real ones; a server of Open vSwitch knows no lists of revoked
certificates, so one test has the answer of a server that does.
"""

import os
import shutil

from ovn_network_agent.tests import pki
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovsdb import tls


class RevokedTest(tls.TlsTestCase):

    def certificate(self, server):
        """Path of the certificate of a server."""
        return os.path.join(self.authority.directory, f'server-{server}.crt')

    def test_a_list_without_the_server(self):
        server = self.server()
        self.authority.revoke(self.client[0])
        self.configure(server.remote_ssl)
        self.accepted(server.remote_ssl)

    def test_a_server_that_is_revoked(self):
        server = self.server()
        self.authority.revoke(self.certificate('nb'))
        self.configure(server.remote_ssl)
        self.refused(server.remote_ssl, 'certificate revoked',
                     'give the server a new one',
                     '[ovn] ovn_ssl_ca = ' + self.authority.path)

    def test_without_the_check_of_names_too(self):
        server = self.server()
        self.authority.revoke(self.certificate('nb'))
        self.configure(server.remote_ssl, check_name=False)
        self.refused(server.remote_ssl, 'certificate revoked')

    def test_a_list_whose_time_is_over(self):
        server = self.server()
        self.authority.revoke(expired=True)
        self.configure(server.remote_ssl)
        self.refused(server.remote_ssl, 'CRL has expired',
                     'put a present list')

    def test_a_list_of_another_authority_alone(self):
        server = self.server()
        other = pki.Authority(self.directory(), 'other')
        other.revoke()
        with open(other.path) as opened, open(
                self.authority.path, 'a') as behind:
            behind.write(opened.read())
        self.configure(server.remote_ssl)
        self.refused(server.remote_ssl, 'unable to get certificate CRL',
                     'put a present list')

    def test_revoked_while_connected(self):
        """The next connection tells; a new certificate heals."""
        server = self.server()
        self.configure(server.remote_ssl)
        database = self.accepted(server.remote_ssl)
        self.authority.revoke(self.certificate('nb'))
        server.kill()
        server.start()
        waiting.eventually(lambda: 'revoked' in database.problem,
                           lambda: database.problem)
        server.kill()
        self.authority.issue('server-nb', tls.HERE)
        server.start()
        waiting.eventually(lambda: database.connected, 'connected again')
        self.assertEqual('', database.problem)

    def test_a_server_that_has_our_certificate_revoked(self):
        with RevokingServer(self.authority.issue('x', tls.HERE)) as remote:
            self.configure(remote)
            self.refused(remote, 'our certificate was revoked; renew',
                         self.client[0])


class RevokingServer(tls.OldServer):
    """Ends each handshake with the alert certificate_revoked (RFC 5246)."""

    ALERT = bytes((21, 3, 3, 0, 2, 2, 44))


class SwappedTest(tls.TlsTestCase):
    """Files are exchanged while the agent runs, and the connection breaks."""

    def setUp(self):
        super().setUp()
        self.running = self.server()
        self.configure(self.running.remote_ssl)
        self.database_ = self.accepted(self.running.remote_ssl)

    def again(self):
        """Have the server close the connection, and listen again."""
        self.running.kill()
        self.running.start()

    def in_trouble(self, *parts):
        waiting.eventually(
            lambda: all(part in self.database_.problem for part in parts),
            lambda: self.database_.problem)
        self.assertFalse(self.database_.connected)

    def well(self):
        waiting.eventually(lambda: self.database_.connected,
                           lambda: self.database_.problem)
        self.assertEqual('', self.database_.problem)

    def test_a_pair_that_is_exchanged_in_two_steps(self):
        new = self.authority.issue('new')
        shutil.copy(new[0], self.client[0])
        self.again()
        self.in_trouble('[ovn] ovn_ssl_key = ' + self.client[1],
                        'does not belong to')
        shutil.copy(new[1], self.client[1])
        self.well()

    def test_a_file_that_cannot_be_used_for_a_while(self):
        """It is gone, or written in part."""
        cert, _key = self.client
        with open(cert, 'rb') as opened:
            whole = opened.read()
        for path, content, said in (
                (self.authority.path, None, 'cannot be read'),
                (cert, whole[:len(whole) // 2], '')):
            os.rename(path, path + '.away')
            if content is not None:
                with open(path, 'wb') as opened:
                    opened.write(content)
            self.again()
            self.in_trouble(path, said)
            os.rename(path + '.away', path)
            self.well()

    def test_another_authority(self):
        """First the agent trusts both, then the server moves."""
        other = pki.Authority(self.directory(), 'other')
        with open(other.path) as opened:
            theirs = opened.read()
        with open(self.authority.path) as opened:
            ours = opened.read()
        with open(self.authority.path, 'w') as opened:
            opened.write(theirs)
        self.again()
        self.in_trouble('authority is not in')
        with open(self.authority.path, 'w') as opened:
            opened.write(theirs + ours)
        self.well()
