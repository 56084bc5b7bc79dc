# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The options for TLS: row PRE-13 and trap T67."""

import os
import shutil

import fixtures

from ovn_network_agent.conf import tls
from ovn_network_agent.conf import validate
from ovn_network_agent.tests import pki
from ovn_network_agent.tests.unit.conf import base

REMOTES = {'ovn_nb_remote': 'ssl:192.0.2.1:6641',
           'ovn_sb_remote': 'ssl:192.0.2.1:6642'}
TCP = {name: remote.replace('ssl', 'tcp') for name, remote in REMOTES.items()}


class TlsTestCase(base.ConfTestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        temporary = fixtures.TempDir()
        temporary.setUp()
        cls.addClassCleanup(temporary.cleanUp)
        cls.authority = pki.Authority(temporary.path)
        cls.pair = cls.authority.issue('client')
        cls.other = cls.authority.issue('other')
        cls.expired = cls.authority.issue('expired', expired=True)
        cls.encrypted = cls.authority.issue('encrypted', password='secret')

    def setUp(self):
        super().setUp()
        self.files = {'ovn_ssl_ca': self.authority.path,
                      'ovn_ssl_cert': self.pair[0],
                      'ovn_ssl_key': self.pair[1]}

    def conf(self, ovs=None, **options):
        text = ''
        for section, values in (
                ('ovn', {**REMOTES, **self.files, **options}),
                ('ovs', ovs or {})):
            text += f'[{section}]\n' + ''.join(
                f'{option} = {value}\n' for option, value in values.items())
        return self.load(text, remotes=False)

    def problems(self, **options):
        return validate.problems(self.conf(**options))

    def warnings(self, **options):
        conf = self.conf(**options)
        self.assertEqual([], validate.problems(conf))
        return validate.warnings(conf)


class ProblemsTest(TlsTestCase):

    def test_schemes_in_any_case(self):
        conf = self.conf(ovn_nb_remote='SSL:192.0.2.1:6641, '
                                       'sSl:192.0.2.2:6641,')
        self.assertEqual([], validate.problems(conf))
        self.assertEqual(['ssl:192.0.2.1:6641', 'ssl:192.0.2.2:6641'],
                         conf.ovn.ovn_nb_remote)
        self.assertEqual({*conf.ovn.ovn_nb_remote, 'ssl:192.0.2.1:6642'},
                         set(tls.by_remote(conf)))

    def test_one_problem_each(self):
        """Trap T67: a failover must not drop the encryption silently."""
        garbage, tls_remote = self.file('garbage'), 'tls:192.0.2.1:6641'
        nowhere, folder = '/nonexistent/x.pem', os.path.dirname(self.pair[0])
        for options, *parts in (
                ({'ovn_nb_remote': tls_remote}, 'ovn_nb_remote',
                 repr(tls_remote), 'ssl:'),
                *(({option: f'ssl:192.0.2.1:{port},TCP:192.0.2.2:{port}'},
                   f'[ovn] {option} = ssl:192.0.2.1', 'mixes tcp and ssl',
                   'use one of them for all')
                  for option, port in (('ovn_nb_remote', '6641'),
                                       ('ovn_sb_remote', '6642'))),
                *(({missing: ''}, '[ovn] ovn_ssl_cert = ', 'set both or none')
                  for missing in ('ovn_ssl_cert', 'ovn_ssl_key')),
                *(({option: nowhere}, f'[ovn] {option} = {nowhere}',
                   'No such file', 'name a PEM file')
                  for option in self.files),
                *(({option: folder}, option) for option in self.files),
                *(({option: garbage}, f'[ovn] {option} = {garbage}',
                   '-----BEGIN') for option in self.files),
                ({'ovn_ssl_cert': self.pair[1], 'ovn_ssl_key': self.pair[0]},
                 '[ovn] ovn_ssl_cert = ' + self.pair[1], 'no certificate'),
                ({'ovn_ssl_key': self.other[1]},
                 '[ovn] ovn_ssl_key = ' + self.other[1], 'does not belong',
                 'ovn_ssl_cert = ' + self.pair[0]),
                # A password must not be asked for at a terminal.
                ({'ovn_ssl_cert': self.encrypted[0],
                  'ovn_ssl_key': self.encrypted[1]},
                 '[ovn] ovn_ssl_key', 'is encrypted'),
                ({'ovn_ssl_ca': '', 'ovn_ssl_check_name': 'false'},
                 '[ovn] ovn_ssl_check_name = False', '[ovn] ovn_ssl_ca'),
                # The local database alike, and one server with two sets.
                ({'ovs': {'ovs_ssl_ca': garbage}},
                 '[ovs] ovs_ssl_ca = ' + garbage),
                ({'ovs': {'ovs_ssl_cert': self.pair[0]}},
                 '[ovs] ovs_ssl_cert = ', 'set both or none'),
                ({'ovs': {'ovsdb_connection': REMOTES['ovn_nb_remote'],
                          'ovs_ssl_cert': self.other[0],
                          'ovs_ssl_key': self.other[1],
                          'ovs_ssl_ca': self.authority.path}},
                 '[ovs] ovsdb_connection = ssl:192.0.2.1:6641')):
            self.check_one(self.problems(**options), *parts)
        self.assertEqual([], self.problems(ovn_ssl_check_name='false'))

    def test_a_key_that_others_can_get_at(self):
        # Trap T67, any bit for group or others.
        for bit in range(6):
            path = self.copy(self.pair[1], 0o600 | 1 << bit)
            self.check_one(self.problems(ovn_ssl_key=path),
                           '[ovn] ovn_ssl_key = ' + path, 'chmod 600',
                           f'mode {0o600 | 1 << bit:o}')
        for mode in (0o400, 0o600):
            self.assertEqual([], self.problems(
                ovn_ssl_key=self.copy(self.pair[1], mode)))

    def copy(self, path, mode):
        made = os.path.join(self.useFixture(fixtures.TempDir()).path, 'key')
        shutil.copy(path, made)
        os.chmod(made, mode)
        return made


class WarningsTest(TlsTestCase):

    def test_one_warning_each(self):
        self.assertEqual([], self.warnings())
        for options, *parts in (
                ({'ovn_ssl_ca': ''}, '[ovn] ovn_ssl_ca', 'this system trusts'),
                ({'ovs': {'ovs_ssl_ca': self.authority.path}},
                 '[ovs] ovs_ssl_ca'),
                ({'ovn_sb_remote': 'tcp:192.0.2.1:6642'},
                 'only one of the databases'),
                ({'ovn_ssl_cert': self.expired[0],
                  'ovn_ssl_key': self.expired[1]},
                 '[ovn] ovn_ssl_cert = ' + self.expired[0], 'has expired',
                 'renew it')):
            self.check_one(self.warnings(**options), *parts)

    def test_options_without_ssl(self):
        found = self.warnings(**TCP)
        self.assertEqual(3, len(found), found)
        for option, path in self.files.items():
            self.assertTrue(any(text.startswith(
                f'[ovn] {option} = {path}: has no effect')
                for text in found), found)
        # The local database may be what they are for.
        self.assertEqual([], self.warnings(
            **TCP, ovs={'ovsdb_connection': 'ssl:192.0.2.3:6640'}))

    def test_files_for_agents_that_ask_each_other(self):
        conf = self.conf(**TCP)
        for port, number in ((6643, 0), (0, 3)):
            conf.set_override('drivers', ['egress_ip'])
            conf.set_override('probe_port', port, 'egress_ip')
            self.assertEqual(number, len(list(tls.warnings(conf))))
        self.assertFalse(tls.between_agents(conf).check_name)
        for name in self.files:
            self.assertIsNone(tls.between_agents(
                self.conf(**TCP, **{name: ''})), name)
