# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Mistakes of a configuration; unit.conf.test_mistakes has all of them."""

import os

from ovn_network_agent.tests.functional.cmd import base


class MistakesTest(base.ProgramTestCase):
    """Exit status 2, and one line with option, value and remedy."""

    def said(self, *args):
        """Lines of the messages of a program that did not start."""
        ended = self.run_agent(*args)
        self.assertEqual(2, ended.returncode, ended.stderr)
        self.assertEqual('', ended.stdout)
        lines = ended.stderr.splitlines()
        for line in lines:
            # Nothing but messages: no traceback, and no log of a start.
            self.assertTrue(line.startswith(
                'ovn-network-agent: configuration: '), ended.stderr)
        return lines

    def check_one(self, words, *args):
        line, = self.said(*args)
        for word in words:
            self.assertIn(word, line)

    def test_all_at_once(self):
        # Values, what goes together, drivers, and what is missing.
        self.assertEqual(4, len(self.said(
            '--check-config', '--config-file', self.config(
                '[DEFAULT]\nreconcile_interval = often\n'
                'drivers = fip_route,veth_leak,magic\n'
                '[veth_leak]\nveth_nexthop = 169.254.0.2\n',
                remotes=False))))

    def rules(self, text):
        """Arguments with a file of port forwards."""
        path = os.path.join(self.directory, 'rules.yaml')
        with open(path, 'w') as opened:
            opened.write(text)
        return path, ('--config-file', self.config(
            f'[port_forward]\nrules_file = {path}\n'))

    def test_mistakes_in_the_rules_file(self):
        """Each of them, at a check, a dry run and a start."""
        path, config = self.rules(
            'port_forwards:\n- vip: 192.0.2.300\n  manage: true\n  rules:\n'
            '  - {proto: icmp, port: "53", dest_addr: 10.0.0.5}\n')
        for arguments in (('--check-config',), ('--dry-run',), ()):
            said = self.said(*arguments, *config)
            self.assertEqual(4, len(said), said)
            for line, text in zip((2, 3, 5, 5), said, strict=True):
                self.assertIn(f'configuration: {path}, line {line:d}: '
                              'port_forwards[0]', text)

    def test_a_rules_file_that_is_not_there(self):
        self.check_one(('/nowhere/rules.yaml', 'No such file', 'rules_file'),
                       '--config-file',
                       self.config('[port_forward]\n'
                                   'rules_file = /nowhere/rules.yaml\n'))

    def test_a_rules_file_without_rules(self):
        path, config = self.rules('port_forwards: []\n')
        ended = self.run_agent('--check-config', *config)
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertIn(f'warning: [port_forward] rules_file = {path}: has no '
                      'rules', ended.stderr)

    def test_unknown_is_a_warning_with_a_suggestion(self):
        self.env['OVN_NETWORK_BRIDGE_DEV'] = 'br-ex'
        self.env['OS_FRR__VRF_NAMES'] = 'x'
        ended = self.run_agent('--check-config', '--config-file', self.config(
            '[DEFAULT]\ncleanup_on_shutdow = false\nvrf_name = x\n'
            '[veth-leak]\nveth_nexthop = x\n'))
        self.assertEqual((0, 'configuration OK\n'),
                         (ended.returncode, ended.stdout), ended.stderr)
        for text in (
                'option cleanup_on_shutdow in section [DEFAULT]; did you '
                'mean cleanup_on_shutdown?',
                'option vrf_name in section [DEFAULT]; it belongs to '
                'section [frr]',
                'unknown section [veth-leak]; did you mean veth_leak?',
                'OVN_NETWORK_BRIDGE_DEV in the environment is a name of the '
                'original program and counts as [DEFAULT] bridge_dev; set '
                'OS_DEFAULT__BRIDGE_DEV instead',
                'OS_FRR__VRF_NAMES in the environment is no option; did you '
                'mean OS_FRR__VRF_NAME?'):
            self.assertIn(text, ended.stderr)
        self.assertEqual(5, len(ended.stderr.splitlines()), ended.stderr)

    def test_a_file_of_the_original(self):
        path = os.path.join(self.directory, 'agent.yaml')
        with open(path, 'w') as opened:
            opened.write('bridge_dev: br-ex\n')
        self.check_one((path + ':1', 'below a section like [DEFAULT]'),
                       '--config-file', path)
