# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The command as an operator runs it before the first start."""

import json

from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.cmd import base

# Nothing is wrong with these.
_FINE = {'configuration', 'single-agent'}


class DoctorCommandTest(base.ProgramTestCase):

    def setUp(self):
        super().setUp()
        self.namespace = namespaces.hold(self)

    def doctor(self, *arguments, config=None):
        return self.run_program(
            'ctl', '--config-file', config or self.config(), 'doctor',
            *arguments, inside=self.namespace.inside)

    def test_an_empty_node(self):
        """All checks answer, and what is missing fails."""
        ended = self.doctor('--json')
        self.assertEqual((1, ''), (ended.returncode, ended.stderr))
        said = json.loads(ended.stdout)
        self.assertEqual({'failed', 'findings'}, set(said))
        self.assertEqual(
            [check.name for check in examination.CHECKS],
            list(dict.fromkeys(one['check'] for one in said['findings'])))
        self.assertEqual(set(), {'provider-bridge', 'vrf', 'nb-database',
                                 'sb-database', 'ovs-database'} -
                         set(said['failed']))
        verdicts = {one['check']: one['verdict'] for one in said['findings']}
        self.assertEqual({'PASS'}, {verdicts[name] for name in _FINE})
        for one in said['findings']:
            self.assertEqual({'check', 'layer', 'verdict', 'evidence',
                              'remedy'}, set(one))

    def test_for_people(self):
        ended = self.doctor('configuration', 'provider-bridge')
        self.assertEqual(1, ended.returncode, ended.stderr)
        first, second, remedy, counts = ended.stdout.splitlines()
        self.assertTrue(first.startswith('PASS '), first)
        self.assertRegex(second, '^FAIL +provider-bridge .*br-ex')
        self.assertIn('-> create the provider bridge', remedy)
        self.assertEqual('1 PASS, 0 WARN, 1 FAIL, 0 NOT CHECKED', counts)

    def test_a_warning_is_no_failure(self):
        ended = self.doctor('configuration', config=self.config(
            '[nonsense]\nx = 1\n'))
        self.assertEqual(0, ended.returncode, ended.stdout)
        self.assertIn('WARN', ended.stdout)
        self.assertIn('nonsense', ended.stdout)

    def test_a_configuration_that_prevents_a_start(self):
        """The other checks are made all the same."""
        ended = self.doctor('configuration', 'provider-bridge', 'rp-filter',
                            config=self.config(drivers='nobody'))
        self.assertEqual(1, ended.returncode, ended.stderr)
        self.assertIn('nobody', ended.stdout)
        self.assertRegex(ended.stdout, r'(?m)^FAIL +provider-bridge')
        self.assertRegex(ended.stdout, r'(?m)^PASS +rp-filter')

    def test_a_value_that_cannot_be_used(self):
        ended = self.doctor('configuration', 'rp-filter', config=self.config(
            '[frr]\nvtysh_timeout = soon\n'))
        self.assertEqual(1, ended.returncode, ended.stderr)
        self.assertIn('vtysh_timeout', ended.stdout)
        self.assertNotIn('Traceback', ended.stdout + ended.stderr)

    def test_usage(self):
        for arguments in (('nothing',), ('vrf', 'nothing')):
            ended = self.doctor(*arguments)
            self.assertEqual(2, ended.returncode)
            self.assertIn('nothing', ended.stderr)
        ended = self.doctor(config='/nowhere.conf')
        self.assertEqual(2, ended.returncode)
        self.assertIn('/nowhere.conf', ended.stderr)

    def test_list(self):
        ended = self.doctor('--list', config='/nowhere.conf')
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertEqual([check.name for check in examination.CHECKS], [
            line.split()[0] for line in ended.stdout.splitlines()])
