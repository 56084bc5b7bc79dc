# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Where values come from, and that everything can be listed."""

import contextlib
import io
import pathlib

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import reload
from ovn_network_agent.conf.options import base as main
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.unit.conf import base

DRIVERS = ['fip_route', 'veth_leak', 'gateway_drain', 'port_forward']
PAGE = (pathlib.Path(reload.__file__).parents[2] / 'doc' / 'source' /
        'configuration' / 'sources.rst')


class SourcesTest(base.ConfTestCase):

    def test_defaults(self):
        conf = self.load(remotes=False)
        for section, values in {
                None: {
                    'drivers': DRIVERS, 'bridge_dev': 'br-ex',
                    'bridge_ip': '169.254.169.254', 'network_cidr': [],
                    'gateway_port': '', 'reconcile_interval': 60,
                    'event_coalesce': 0.05, 'dry_run': False,
                    'log_level': 'info', 'cleanup_on_shutdown': True},
                'ovn': {'ovn_nb_remote': []},
                'ovs': {'ovs_wrapper': '', 'ovsdb_connection':
                        'unix:/run/openvswitch/db.sock'},
                'frr': {'vrf_name': 'vrf-provider',
                        'frr_prefix_list': 'ANNOUNCED-NETWORKS'},
                'fip_route': {'announce_method': 'static', 'route_table_id': 0,
                              'route_rule_priority': 1000},
                'veth_leak': {
                    'veth_leak_enabled': True, 'veth_provider_ip': '',
                    'veth_nexthop': '169.254.0.1', 'veth_leak_table_id': 200,
                    'veth_leak_rule_priority': 2000},
                'gateway_drain': {
                    'stale_chassis_grace_period': 300,
                    'silent_chassis_limit': 0, 'drain_on_shutdown': True,
                    'drain_timeout': 60, 'drain_settle_delay': 0.5,
                    'handover_timeout': 30, 'restore': 'standby',
                    'relay': True}}.items():
            where = conf[section] if section else conf
            self.assertEqual(values, {name: where[name] for name in values})

    def test_every_default_is_valid(self):
        conf = self.load(remotes=False)
        for group, opt in opts.everything():
            where = conf if group == 'DEFAULT' else conf[group]
            self.assertEqual(opt.default, where[opt.dest], opt.name)
            if opt.default is not None:
                self.assertEqual(opt.default, opt.type(opt.default))

    def test_booleans_work_in_both_directions(self):
        # Trap T66
        for text, value in (('true', True), ('1', True), ('yes', True),
                            ('false', False), ('0', False), ('no', False)):
            conf = self.load(f'[DEFAULT]\ncleanup_on_shutdown = {not value}\n',
                             env={'OS_DEFAULT__CLEANUP_ON_SHUTDOWN': text})
            self.assertIs(value, conf.cleanup_on_shutdown, text)

    def test_empty_text_is_a_value_in_file_and_environment(self):
        # Trap T73
        conf = self.load('[frr]\nfrr_prefix_list =\nvrf_name =\n')
        self.assertEqual(('', ''), (conf.frr.frr_prefix_list,
                                    conf.frr.vrf_name))
        conf = self.load(env={'OS_FRR__FRR_PREFIX_LIST': ''})
        self.assertEqual('', conf.frr.frr_prefix_list)

    def test_a_file_that_cannot_be_read_is_named(self):
        """It is not there, or cannot be parsed."""
        for path, raised in (
                ('/nonexistent/a.conf', cfg.ConfigFilesNotFoundError),
                (self.file('bridge_dev\n'), cfg.ConfigFileParseError)):
            self.assertIn(path, str(self.assertRaises(
                raised, configs.loaded, '--config-file', path)))

    def test_arguments_that_end_the_program(self):
        """--version needs no other option; unknown ones are refused."""
        for argument, status, redirect, said in (
                ('--version', 0, contextlib.redirect_stdout, '^1.2.3$'),
                ('--bridge', 2, contextlib.redirect_stderr, '--bridge')):
            with redirect(io.StringIO()) as written:
                code = self.assertRaises(SystemExit, self.load,
                                         argv=[argument]).code
            self.assertEqual(status, code or 0)
            self.assertRegex(written.getvalue().strip(), said)


class ListTest(base.ConfTestCase):

    def test_groups(self):
        self.assertEqual(
            ['DEFAULT', 'agent', 'ovn', 'ovs', 'frr', 'fip_route',
             'announce', 'veth_leak', 'gateway_drain', 'port_forward',
             'provider_port', 'tenant_network', 'load_balancer', 'evpn',
             'network_peer', 'egress_ip', 'metrics', *opts.DAEMONS],
            [group for group, opts_ in opts.list_opts()])

    def test_the_daemons(self):
        self.assertEqual(opts.DAEMONS, tuple(
            context.cfg_section for context in privileged.CONTEXTS))

    def test_every_option_is_explained_in_sentences(self):
        for group, listed in opts.list_opts():
            for opt in listed:
                self.assertTrue(opt.help.isascii(), opt.name)
                self.assertTrue(opt.help.endswith('.'), opt.name)
                self.assertGreater(len(opt.help), 40, opt.name)

    def test_a_copy_is_listed(self):
        # Documentation tools change what they are given.
        opts.list_opts()[0][1][0].default = 'changed'
        self.assertEqual(DRIVERS, opts.list_opts()[0][1][0].default)

    def test_drivers_may_register_their_options_again(self):
        conf = self.load()
        for group, options in opts.SECTIONS[1:]:
            conf.register_opts(options, group=group)


class RestartTest(base.ConfTestCase):

    def test_the_reasons_are_about_options_that_need_a_restart(self):
        known = {(group, option.dest): option
                 for group, option in opts.everything()}
        groups = {group for group, _name in known}
        for key in reload.REASONS:
            if len(key) == 1:
                self.assertIn(key[0], groups)
            elif key != ('port_forward', 'rules_file'):
                self.assertFalse(known[key].mutable, key)
        for group, option in opts.everything():
            self.assertTrue(reload.reason(group, option))

    def test_the_page_has_each_reason_with_its_options(self):
        text = ' '.join(PAGE.read_text().split())
        for key, reason in reload.REASONS.items():
            self.assertIn(reason, text)
            self.assertIn(key[1] if len(key) > 1 else f'[{key[0]}]', text)
        # No other option goes without one.
        for group, option in opts.everything():
            if not option.mutable:
                self.assertNotEqual('is read at the start only',
                                    reload.reason(group, option), option.dest)

    def test_each_option_says_whether_a_change_needs_a_restart(self):
        """As the sample and the reference have it; the library says the rest.
        """
        for _group, options in opts.list_opts():
            for option in options:
                self.assertEqual(
                    not option.mutable,
                    option.help.endswith(' A change needs a restart.'),
                    option.name)
        # The help of the command line has no such sentence.
        for _group, option in opts.everything():
            self.assertNotIn('A change needs a restart.', option.help)


# Texts of which each option takes two.
TEXTS = ('false', 'true', '7', '11', '203.0.113.9', '203.0.113.10',
         '203.0.113.0/24', '198.51.100.0/24', 'tcp:192.0.2.7:6641',
         'tcp:192.0.2.8:6641', '/tmp/first/a', '/tmp/second/b', 'alpha',
         'beta', 'cr-alpha', 'cr-beta', 'one:4400001', 'two:4400002',
         '5000', '6000', 'red:1001', 'blue:1002', '2001:db8::1',
         '2001:db8::2',
         '11111111-2222-4333-8444-555555555555',
         '22222222-2222-4333-8444-555555555555')
# What oslo.log has on the command line, beside what is a boolean there.
LOG_TEXTS = ('log-file', 'log-dir', 'log-date-format',
             'syslog-log-facility', 'log-config-append')
LOG_BOOLEANS = ('debug', 'use-journal', 'use-syslog', 'use-json')


def two(option):
    """Two texts for an option, the first of them not its default.

    :returns: (text, text) with different values
    """
    # Of a type with choices these are the keys.
    texts = list(getattr(option.type, 'choices', None) or TEXTS)
    values = {}
    for text in map(str, texts):
        try:
            values.setdefault(repr(option.type(text)), text)
        except ValueError:
            continue
    first = next(text for value, text in values.items()
                 if value != repr(option.default))
    second = next(text for text in values.values() if text != first)
    return first, second


def value(conf, group, option):
    return (conf if group == 'DEFAULT' else conf[group])[option.dest]


class EveryOptionTest(base.ConfTestCase):

    def setUp(self):
        super().setUp()
        self.options = [(group, option, *two(option))
                        for group, option in opts.everything()]

    def file_of(self, which):
        """A file with the first or the second text of each option."""
        return ''.join(f'[{group}]\n{option.dest} = {texts[which]}\n'
                       for group, option, *texts in self.options)

    def environment(self, which):
        return {opts.env_name(group, option.dest): texts[which]
                for group, option, *texts in self.options}

    def check(self, conf, which):
        self.assertGreater(len(self.options), 50)
        for group, option, *texts in self.options:
            self.assertEqual(option.type(texts[which]),
                             value(conf, group, option), option.name)

    def test_the_file_beats_the_default(self):
        self.check(self.load(self.file_of(0), remotes=False), 0)

    def test_the_environment_beats_the_file(self):
        self.check(self.load(self.file_of(0), env=self.environment(1)), 1)

    def test_a_later_file_beats_an_earlier_one(self):
        first = self.file(self.file_of(0))
        self.check(self.load(self.file_of(1), ['--config-file', first],
                             remotes=False), 1)


class EveryArgumentTest(base.ConfTestCase):
    """Arguments beat the rest, and count wherever they stand."""

    def arguments(self):
        """(argument, name of the option, texts, their values)."""
        for name in (*(option.name for option in (
                *main.CLI_OPTS, *main.CLI_ONLY_OPTS)), *LOG_BOOLEANS):
            yield name, ('true', 'false'), (True, False)
        for name in LOG_TEXTS:
            yield name, ('/tmp/first', 'user'), ('/tmp/first', 'user')

    def argument(self, name, texts, values, which):
        """The argument for the first or the second value."""
        return (['--' + name, texts[which]] if values == texts else
                ['--' + ('' if values[which] else 'no') + name])

    def test_each_beats_environment_and_file(self):
        for name, texts, values in self.arguments():
            dest = name.replace('-', '_')
            for which in (0, 1):
                argv = self.argument(name, texts, values, which)
                other = texts[not which]
                conf = self.load(f'[DEFAULT]\n{dest} = {other}\n', argv,
                                 {'OS_DEFAULT__' + dest.upper(): other})
                self.assertEqual(values[which], conf[dest], argv)

    def test_it_counts_behind_the_file_too(self):
        for name, texts, values in self.arguments():
            dest = name.replace('-', '_')
            path = self.file(f'[DEFAULT]\n{dest} = {texts[1]}\n')
            conf = self.load('', ['--config-file', path, *self.argument(
                name, texts, values, 0)])
            self.assertEqual(values[0], conf[dest], name)

    def test_one_that_was_not_given_overrides_nothing(self):
        for name, texts, values in self.arguments():
            dest = name.replace('-', '_')
            for which in (0, 1):
                conf = self.load(f'[DEFAULT]\n{dest} = {texts[which]}\n')
                self.assertEqual(values[which], conf[dest], name)
