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
        sections = {'ovn': {**REMOTES, **self.files, **options},
                    'ovs': ovs or {}}
        lines = []
        for section, values in sections.items():
            lines.append(f'[{section}]')
            lines += [f'{option} = {value}'
                      for option, value in values.items()]
            lines.append('')
        return self.load('\n'.join(lines), remotes=False)

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

    def test_other_schemes_are_refused(self):
        self.check_one(self.problems(ovn_nb_remote='tls:192.0.2.1:6641'),
                       'ovn_nb_remote', "'tls:192.0.2.1:6641'", 'ssl:')

    def test_a_list_must_not_mix_tcp_and_ssl(self):
        # Trap T67: a failover would drop the encryption without a word.
        for option, database in (('ovn_nb_remote', '6641'),
                                 ('ovn_sb_remote', '6642')):
            self.check_one(self.problems(**{
                option: f'ssl:192.0.2.1:{database},TCP:192.0.2.2:{database}'}),
                f'[ovn] {option} = ssl:192.0.2.1', 'mixes tcp and ssl',
                'use one of them for all')

    def test_certificate_and_key_only_together(self):
        for missing in ('ovn_ssl_cert', 'ovn_ssl_key'):
            self.check_one(self.problems(**{missing: ''}),
                           '[ovn] ovn_ssl_cert = ', 'set both or none')

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

    def test_files_have_to_be_there(self):
        for option in self.files:
            self.check_one(self.problems(**{option: '/nonexistent/x.pem'}),
                           f'[ovn] {option} = /nonexistent/x.pem',
                           'No such file', 'name a PEM file')

    def test_a_directory_is_no_file(self):
        for option, path in self.files.items():
            self.check_one(self.problems(**{option: os.path.dirname(path)}),
                           option)

    def test_what_is_no_pem(self):
        garbage = self.file('garbage')
        for option in self.files:
            self.check_one(self.problems(**{option: garbage}),
                           f'[ovn] {option} = {garbage}', '-----BEGIN')

    def test_certificate_and_key_in_the_wrong_order(self):
        self.check_one(
            self.problems(ovn_ssl_cert=self.pair[1], ovn_ssl_key=self.pair[0]),
            '[ovn] ovn_ssl_cert = ' + self.pair[1], 'no certificate')

    def test_a_key_of_another_certificate(self):
        self.check_one(self.problems(ovn_ssl_key=self.other[1]),
                       '[ovn] ovn_ssl_key = ' + self.other[1],
                       'does not belong', 'ovn_ssl_cert = ' + self.pair[0])

    def test_a_key_with_a_password(self):
        # It must not be asked for at a terminal.
        self.check_one(self.problems(ovn_ssl_cert=self.encrypted[0],
                                     ovn_ssl_key=self.encrypted[1]),
                       '[ovn] ovn_ssl_key', 'is encrypted')

    def test_names_unchecked_need_an_authority(self):
        self.check_one(self.problems(ovn_ssl_ca='',
                                     ovn_ssl_check_name='false'),
                       '[ovn] ovn_ssl_check_name = False', '[ovn] ovn_ssl_ca')
        self.assertEqual([], self.problems(ovn_ssl_check_name='false'))

    def test_the_local_database_alike(self):
        garbage = self.file('garbage')
        self.check_one(self.problems(ovs={'ovs_ssl_ca': garbage}),
                       '[ovs] ovs_ssl_ca = ' + garbage)
        self.check_one(self.problems(ovs={'ovs_ssl_cert': self.pair[0]}),
                       '[ovs] ovs_ssl_cert = ', 'set both or none')

    def test_one_server_with_two_sets_of_files(self):
        self.check_one(self.problems(ovs={
            'ovsdb_connection': REMOTES['ovn_nb_remote'],
            'ovs_ssl_cert': self.other[0], 'ovs_ssl_key': self.other[1],
            'ovs_ssl_ca': self.authority.path}),
            '[ovs] ovsdb_connection = ssl:192.0.2.1:6641')


class WarningsTest(TlsTestCase):

    def test_none(self):
        self.assertEqual([], self.warnings())

    def test_ssl_without_an_authority(self):
        self.check_one(self.warnings(ovn_ssl_ca=''), '[ovn] ovn_ssl_ca',
                       'this system trusts')

    def test_options_without_ssl(self):
        tcp = {name: remote.replace('ssl', 'tcp')
               for name, remote in REMOTES.items()}
        found = self.warnings(**tcp)
        self.assertEqual(3, len(found), found)
        for option, path in self.files.items():
            self.assertTrue(any(text.startswith(
                f'[ovn] {option} = {path}: has no effect')
                for text in found), found)
        # The local database may be what they are for.
        self.assertEqual([], self.warnings(
            **tcp, ovs={'ovsdb_connection': 'ssl:192.0.2.3:6640'}))
        self.check_one(self.warnings(ovs={'ovs_ssl_ca': self.authority.path}),
                       '[ovs] ovs_ssl_ca')

    def test_files_for_agents_that_ask_each_other(self):
        tcp = {name: remote.replace('ssl', 'tcp')
               for name, remote in REMOTES.items()}
        conf = self.conf(**tcp)
        for port, number in ((6643, 0), (0, 3)):
            conf.set_override('drivers', ['egress_ip'])
            conf.set_override('probe_port', port, 'egress_ip')
            self.assertEqual(number, len(list(tls.warnings(conf))))
        self.assertFalse(tls.between_agents(conf).check_name)
        for name in self.files:
            self.assertIsNone(tls.between_agents(
                self.conf(**tcp, **{name: ''})), name)

    def test_one_database_by_ssl(self):
        self.check_one(self.warnings(ovn_sb_remote='tcp:192.0.2.1:6642'),
                       'only one of the databases')

    def test_a_certificate_that_has_expired(self):
        self.check_one(self.warnings(ovn_ssl_cert=self.expired[0],
                                     ovn_ssl_key=self.expired[1]),
                       '[ovn] ovn_ssl_cert = ' + self.expired[0],
                       'has expired',
                       'renew it')
