# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The whole agent over TLS."""

import shutil
import tempfile

from ovn_network_agent.ovsdb import streams
from ovn_network_agent.tests import pki
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.ovsdb import tls as servers
from ovn_network_agent.tests.functional.service import loss
from ovn_network_agent.tests.unit import world

HERE = servers.HERE


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
