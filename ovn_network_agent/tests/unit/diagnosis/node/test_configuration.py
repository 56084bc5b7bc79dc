# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import datetime
import os
import sys

import fixtures

from ovn_network_agent.diagnosis.node import configuration
from ovn_network_agent.tests.unit.diagnosis.node import base

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


def tls(*, days=400, **changed):
    return configuration.Tls(
        True, (), (), (('/cert.pem', NOW + datetime.timedelta(days)),)
    )._replace(**changed)


class ConfigurationTest(base.JudgeTestCase):

    def test_messages(self):
        self.judged_each(configuration.judge_configuration, *(
            (configuration.Problems(*found, ('/a.conf',)), *said)
            for found, *said in (
                (((), ()), base.OK, '/a.conf'),
                ((('x: bad; set y',), ()), base.BROKEN),
                ((('x; y', 'z'), ('w; v',)),
                 (base.BROKEN, base.BROKEN, base.WARN)))))

    def test_prerequisites(self):
        """Two backends need vtysh."""
        self.judged_each(configuration.judge_prerequisites, ((), base.OK),
                         (('x; y', 'x; y'), base.BROKEN))

    def test_tls(self):
        """Unused, with files without an effect, and by the dates."""
        unused = configuration.Tls(False, (), (), ())
        self.judged_each(
            lambda found: configuration.judge_tls(found, NOW),
            (unused, base.NOT_CHECKED),
            (unused._replace(warnings=('x; y',)), (base.WARN, base.OK)),
            (tls(), base.OK, '2031'),
            (tls(problems=('x; y',), ends=()), base.BROKEN),
            (tls(days=configuration.DAYS - 1), (base.WARN, base.OK)),
            (tls(days=-1, warnings=(
                'ovn_ssl_cert = /cert.pem: has expired at x; renew it',)),
             base.BROKEN, '/cert.pem has expired'))


class AccessTest(base.JudgeTestCase):

    def judge(self, *cases):
        self.judged_each(configuration.judge_access, *cases)

    def test_verdicts(self):
        access = configuration.Access
        self.judge((access(False, (), 2), base.NOT_CHECKED),
                   (access(True, (), 2), base.OK),
                   (access(True, ('/a', '/b'), 2), (base.BROKEN, base.BROKEN),
                    '/a'))

    def test_a_program_for_root_alone(self):
        """Installed with the umask 077, or with a Python below /root."""
        inside = os.path.join(sys.prefix, 'lib/x.py')
        one = configuration.Access(True, (), 2, (inside,))
        self.judge((one, base.BROKEN,
                    f'cannot read files of the program ({inside})'))
        if sys.prefix != sys.base_prefix:
            self.judge((one, base.BROKEN, f'"chmod -R go+rX {sys.prefix}"'),
                       (configuration.Access(True, (), 2, (
                           inside, '/root/python/lib/os.py')), base.BROKEN,
                        '1 more directory', '/usr/bin/python3 -m venv'))

    def test_modes(self):
        """As the kernel decides: the first class that fits counts."""
        folder = self.useFixture(fixtures.TempDir()).path
        # The directory of all temporary files of a test is closed, too.
        for way in (folder, os.path.dirname(folder)):
            os.chmod(way, 0o755)
        path = os.path.join(folder, 'file')
        with open(path, 'w'):
            pass
        own, group = os.getuid(), os.getgid()

        def reads(uid, groups=frozenset()):
            return configuration.reads(path, uid, groups)
        for mode, expected in ((0o400, (True, False, False)),
                               (0o040, (False, True, False)),
                               (0o004, (False, False, True))):
            os.chmod(path, mode)
            self.assertEqual(expected, (
                reads(own), reads(own + 1, {group}), reads(own + 1)))
        os.chmod(folder, 0o700)
        self.assertFalse(reads(own + 1))


class VersionsTest(base.JudgeTestCase):

    def test_versions(self):
        """Tried, between two that were tried, never run, and unknown."""
        def found(**versions):
            return configuration.Versions(tuple(
                (getattr(configuration, name), version)
                for name, version in versions.items()))

        self.judged_each(
            configuration.judge_versions,
            (found(KERNEL='6.1.0-25-amd64', FRR='8.4.4', OVN='23.03',
                   OVS='3.1.0', NFT='1.0.6'), base.OK,
             'Linux 6.1.0-25-amd64'),
            (found(FRR='10.3', OVN='24.03.2'), base.OK,
             'FRR 10.3, OVN 24.03.2 (no test ran with it, but with 23.03, '
             '25.03, 26.03.1)'),
            (found(FRR='8.1'), base.WARN), (found(FRR='11.0'), base.WARN),
            (found(OVN='22.03'), base.WARN),
            (found(FRR='9.1'), base.WARN, 'never run'),
            (found(KERNEL='4.19.0-amd64'), base.BROKEN),
            (found(KERNEL='6.12.0', FRR='', OVN='', OVS=''), base.OK))
        self.assertNotIn('no test', self.judged(
            configuration.judge_versions,
            found(FRR='10.3', OVN='26.03', OVS='3.5.1'), base.OK))

    def test_numbers(self):
        self.assertEqual((6, 12), configuration.numbers('6.12.0-amd64'))
        self.assertLess(configuration.numbers('8.4.4'),
                        configuration.numbers('10.3'))
