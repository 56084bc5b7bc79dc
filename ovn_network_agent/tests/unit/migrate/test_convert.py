# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Settings of the original become options and rules, written together."""

import os

import fixtures
from oslotest import base

from ovn_network_agent.cmd import migrate
from ovn_network_agent.conf import original_options
from ovn_network_agent.migrate import sources

RULES = '/etc/x/rules.yaml'
VIPS = b'''
port_forwards:
  - vip: 192.0.2.10
    manage_vip: true
    managed: true
    rules:
      - {proto: TCP, port: "80", dest_addr: 10.0.0.1, dest_port: "8080"}
'''
# A value of the original for each option, and what it is here.
VALUES = {
    'network_cidr': ('192.0.2.0/24', '192.0.2.0/24'),
    'log_level': ('warn', 'warn'), 'bridge_ip': ('192.0.2.1', '192.0.2.1'),
    'veth_nexthop': ('169.254.9.1', '169.254.9.1'),
    'veth_provider_ip': ('169.254.9.2', '169.254.9.2'),
    'ovn_nb_remote': ('tcp:192.0.2.1:6641', 'tcp:192.0.2.1:6641'),
    'ovn_sb_remote': ('tcp:192.0.2.1:6642', 'tcp:192.0.2.1:6642'),
    'metrics_listen': ('127.0.0.1:9273', '127.0.0.1:9273'),
    'route_table_id': ('100', '100'), 'veth_leak_table_id': ('202', '202'),
    'port_forward_table_id': ('203', '203'),
    'port_forward_ct_zone': ('64001', '64001'),
    'veth_leak_rule_priority': ('2001', '2001'),
    'reconcile_interval': ('1m', '60'), 'drain_timeout': ('2m', '120'),
    'drain_settle_delay': ('250ms', '0.25'),
    'stale_chassis_grace_period': ('0', '0'),
    **{name: ('false', 'false') for name in (
        'cleanup_on_shutdown', 'dry_run', 'frr_watch', 'veth_leak_enabled',
        'drain_on_shutdown', 'port_forward_l3mdev_accept')}}


def made(content):
    return migrate.convert(
        sources.merged([sources.from_yaml(content, 'a.yaml')]), RULES)


class SettingsTest(base.BaseTestCase):

    def test_each_option_in_all_three_sources(self):
        for option in original_options.OPTIONS:
            value, here = VALUES.get(option.name, ('x', 'x'))
            flag = '--' + option.name.replace('_', '-')
            if option.why:
                value = 'true'
            for source in (sources.from_flags([f'{flag}={value}']),
                           sources.from_yaml(f'{option.name}: "{value}"'
                                             .encode(), 'a.yaml')):
                result = migrate.convert(sources.merged([source]), RULES)
                self.assertEqual([], result.problems)
                if option.why:
                    self.assertEqual({}, result.options)
                    self.assertIn(option.why, result.warnings[0])
                else:
                    self.assertEqual({(option.section, option.option): here},
                                     result.options)

    def test_bad_values_are_reported_together(self):
        result = made(b'reconcile_interval: 60\nbridge_dev: a b\n'
                      b'veth_leak_rule_priority: 3\ndry_run: maybe\n'
                      b'vrf_name: [a, b]\novs_wrapper: "a\\nb"\n')
        self.assertEqual(6, len(result.problems), result.problems)
        for text in (
                'a.yaml, line 1: reconcile_interval = 60: as [DEFAULT] '
                "reconcile_interval: '60' is not a duration",
                'a.yaml, line 2: bridge_dev = a b: as [DEFAULT] bridge_dev:',
                'a.yaml, line 3: veth_leak_rule_priority = 3: as',
                '3 is not between 4 and 32764', "'maybe' is not a boolean",
                'vrf_name = a,b: as [frr] vrf_name: is a list',
                'write it in one line'):
            self.assertIn(text, '\n'.join(result.problems))

    def test_what_changes_its_meaning_is_a_warning(self):
        result = made(b'reconcile_interval: 1500ms\nmetrics_listen: ":1"\n'
                      b'ovs_wrapper: docker exec ovs\n')
        self.assertEqual([], result.problems)
        self.assertEqual(
            {('DEFAULT', 'reconcile_interval'): '2',
             ('metrics', 'listen'): '0.0.0.0:1',
             ('ovs', 'ovs_wrapper'): 'docker exec -i ovs'}, result.options)
        for text in ('2 is written', '0.0.0.0:1 is written',
                     'docker exec -i ovs is written', 'ovsdb_connection'):
            self.assertIn(text, '\n'.join(result.warnings))

    def test_a_wrapper_that_needs_no_change(self):
        for wrapper in ('docker exec -i ovs', '/usr/bin/podman exec -it ovs',
                        'docker exec --user root --interactive ovs',
                        'ip netns exec ovs', 'nsenter -t 1 -n'):
            result = made(f'ovs_wrapper: {wrapper}\n'.encode())
            self.assertEqual({('ovs', 'ovs_wrapper'): wrapper}, result.options)
            warning, = result.warnings
            self.assertIn('ovsdb_connection', warning)

    def test_a_wrapper_that_passes_no_input_on(self):
        for wrapper, written in {
                '/usr/bin/podman --log-level error exec --user root ovs':
                '/usr/bin/podman --log-level error exec -i --user root ovs',
                'nerdctl exec ovs': 'nerdctl exec -i ovs'}.items():
            result = made(f'ovs_wrapper: {wrapper}\n'.encode())
            self.assertEqual({('ovs', 'ovs_wrapper'): written}, result.options)


class RulesTest(base.BaseTestCase):

    def test_what_the_original_lets_pass(self):
        result = made(VIPS)
        self.assertEqual([], result.problems)
        for line in ('- vip: 192.0.2.10', 'manage_vip: true', 'proto: tcp',
                     'port: 80', 'dest_port: 8080'):
            self.assertIn(line, result.forwards)
        warning, = result.warnings
        self.assertIn('port_forwards[0].managed = True: is no key', warning)
        self.assertEqual({('port_forward', 'rules_file'): RULES},
                         result.options)

    def test_with_ovn_a_vip_needs_a_gateway(self):
        result = made(VIPS + b'ovn_nb_remote: tcp:192.0.2.1:6641\n')
        self.assertEqual('with-gateway',
                         result.options['port_forward', 'vip_announce'])

    def test_bad_rules(self):
        problem, = made(b'port_forwards: 5\n').problems
        self.assertIn('is no list', problem)
        problems = made(VIPS.replace(b'dest_addr:', b'dst:')).problems
        self.assertIn('a.yaml, line 2: as ' + RULES, problems[0])

    def test_no_forwards(self):
        self.assertEqual(({}, ''), (lambda m: (m.options, m.forwards))(
            made(b'port_forwards: []\n')))


class IniTest(base.BaseTestCase):

    def test_a_dollar_is_kept(self):
        text = migrate.render({('frr', 'vrf_name'): 'a', ('ovs', 'x'): '$y',
                               ('DEFAULT', 'bridge_ip'): ''})
        self.assertTrue(text.endswith(
            '\n[DEFAULT]\nbridge_ip =\n\n[frr]\nvrf_name = a\n'
            '\n[ovs]\nx = $$y\n'), text)


class WriteTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.first = self.path('first')

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def content(self, path):
        with open(path) as opened:
            return opened.read()

    def refused(self, *paths, force=False):
        """The text of the refusal to write some files."""
        return str(self.assertRaises(
            migrate.Refused, migrate.write, dict.fromkeys(paths, 'new'),
            force))

    def test_both_are_written(self):
        second = self.path('a', 'folder', 'second')
        migrate.write({self.first: 'one', second: 'two'}, False)
        self.assertEqual(('one', 'two'),
                         (self.content(self.first), self.content(second)))
        self.assertEqual({'first', 'a'}, {*os.listdir(self.folder)})

    def test_a_second_one_that_cannot_be_written_leaves_none(self):
        migrate.write({self.path('file'): 'no folder'}, False)
        second = self.path('file', 'second')
        said = self.refused(self.first, second)
        self.assertIn(f'{second}: ', said)
        self.assertNotIn(self.first, said)
        self.assertEqual(['file'], os.listdir(self.folder))

    def test_a_second_one_that_cannot_get_its_name(self):
        # A folder has the name, which is found only at the end.
        second = self.path('second')
        os.mkdir(second)
        said = self.refused(self.first, second, force=True)
        self.assertIn(f'{second}: Is a directory', said)
        self.assertIn(f'written by then: {self.first}', said)
        self.assertEqual('new', self.content(self.first))
        self.assertEqual({'first', 'second'}, {*os.listdir(self.folder)})
