# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The three sources of the original, and which of them wins."""

from oslotest import base

from ovn_network_agent.migrate import sources


def values(source):
    return {name: setting.value for name, setting in source.settings.items()}


class YamlTest(base.BaseTestCase):

    def test_settings_with_their_lines(self):
        found = sources.from_yaml(
            b'# base\nbridge_dev: br-x\nnetwork_cidr:\n'
            b'  - 192.0.2.0/24\n  - 198.51.100.0/24\ndry_run: false\n'
            b'gateway_port:\n', 'a.yaml')
        self.assertEqual(
            {'bridge_dev': 'br-x', 'dry_run': False,
             'network_cidr': ['192.0.2.0/24', '198.51.100.0/24']},
            values(found))
        self.assertEqual('a.yaml, line 2', found.settings['bridge_dev'].where)
        self.assertEqual(([], []), (found.problems, found.warnings))

    def test_unknown_keys_are_warnings(self):
        found = sources.from_yaml(b'drain_on_shutdow: true\n', 'a.yaml')
        self.assertEqual({}, found.settings)
        self.assertEqual([], found.problems)
        warning, = found.warnings
        for text in ('a.yaml, line 1: drain_on_shutdow = True:',
                     'did you mean drain_on_shutdown?'):
            self.assertIn(text, warning)

    def test_what_is_no_file_of_the_original(self):
        for content, text in (
                (b'- a\n', 'holds no options'), (b'a: [\n', 'no YAML'),
                (b'\xff\xfe\xff', 'UTF-8'),
                (b'bridge_dev: br-x\nbridge_dev: br-y\n', 'twice'),
                (b'vrf_name: {a: b}\n', 'is a mapping')):
            problem, = sources.from_yaml(content, 'a.yaml').problems
            self.assertIn('a.yaml', problem)
            self.assertIn(text, problem)


class EnvironmentFileTest(base.BaseTestCase):

    def test_the_forms_of_systemd(self):
        found = sources.from_environment(
            b'# comment\r\n; comment\r\n\r\nOVN_NETWORK_BRIDGE_DEV=br-x\r\n'
            b'OVN_NETWORK_OVN_NB_REMOTE="tcp:192.0.2.1:6641"\n'
            b"OVN_NETWORK_OVS_WRAPPER='docker exec -i \\\n  ovs'\n"
            b'OVN_NETWORK_VRF_NAME = \n'
            b'OVN_NETWORK_CONFIG=/etc/x.yaml\n', 'env')
        self.assertEqual(
            {'bridge_dev': 'br-x', 'ovn_nb_remote': 'tcp:192.0.2.1:6641',
             'ovs_wrapper': 'docker exec -i ovs', 'vrf_name': '',
             'config': '/etc/x.yaml'}, values(found))
        self.assertEqual('env, line 6', found.settings['ovs_wrapper'].where)

    def test_other_variables(self):
        found = sources.from_environment(
            b'GOMAXPROCS=2\nOVN_NETWORK_RESTART_ON_UPGRADE=true\n'
            b'OVN_NETWORK_BRIDGE_DEF=br-x\n', 'env')
        self.assertEqual(({}, []), (found.settings, found.problems))
        for text, warning in zip(
                ('GOMAXPROCS = 2: is no variable of the original',
                 'never restarts a running agent',
                 'did you mean OVN_NETWORK_BRIDGE_DEV?'),
                found.warnings, strict=True):
            self.assertIn(text, warning)

    def test_a_line_that_is_none(self):
        problem, = sources.from_environment(b'\nbridge_dev\n', 'env').problems
        self.assertIn("env, line 2: 'bridge_dev' has no", problem)


class FlagsTest(base.BaseTestCase):

    def test_the_forms_of_go(self):
        found = sources.from_flags([
            '--bridge-dev', 'br-x', '-vrf-name=', '--dry-run',
            '--veth-leak-enabled=false', '--config', 'a.yaml', '--version'])
        self.assertEqual(
            {'bridge_dev': 'br-x', 'vrf_name': '', 'dry_run': 'true',
             'veth_leak_enabled': 'false', 'config': 'a.yaml'},
            values(found))
        self.assertEqual([], found.problems)
        self.assertIn('--version: sets no option', found.warnings[0])

    def test_what_go_refuses(self):
        for words, text in (
                (['--bridge-def', ], '--bridge-def: is no flag of the '
                 'original; remove it; did you mean --bridge-dev?'),
                (['--bridge_dev=x'], 'did you mean --bridge-dev?'),
                (['--port-forwards=x'], 'is no flag of the original'),
                (['br-ex'], 'br-ex: is no flag'),
                (['--bridge-dev'], '--bridge-dev: has no value')):
            problem, = sources.from_flags(words).problems
            self.assertIn(text, problem)


class MergedTest(base.BaseTestCase):

    def test_the_first_source_wins(self):
        found = sources.merged([
            sources.from_flags(['--bridge-dev=a', '--frr-prefix-list=']),
            sources.from_environment(b'OVN_NETWORK_BRIDGE_DEV=b\n'
                                     b'OVN_NETWORK_VRF_NAME=b\n', 'env'),
            sources.from_yaml(b'bridge_dev: c\nvrf_name: c\nbridge_ip: c\n'
                              b'frr_prefix_list: c\n', 'a.yaml')])
        self.assertEqual({'bridge_dev': 'a', 'vrf_name': 'b',
                          'bridge_ip': 'c', 'frr_prefix_list': ''},
                         values(found))

    def test_empty_counts_as_missing_but_for_flags(self):
        found = sources.merged([
            sources.from_environment(b'OVN_NETWORK_VRF_NAME=\n', 'env'),
            sources.from_yaml(b'vrf_name: c\nfrr_prefix_list: ""\n',
                              'a.yaml')])
        self.assertEqual({'vrf_name': 'c'}, values(found))
        self.assertEqual(2, len(found.warnings))
        self.assertIn('a.yaml, line 2: frr_prefix_list = :', found.warnings[1])
