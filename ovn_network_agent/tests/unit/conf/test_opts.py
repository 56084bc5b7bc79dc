# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Where values come from, and that everything can be listed."""

import contextlib
import io
import pathlib

from oslo_config import cfg
from oslotest import base

from ovn_network_agent import privileged
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import reload
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.unit.conf import base as confs


class SourcesTest(confs.ConfTestCase):

    def test_defaults(self):
        conf = self.load(remotes=False)
        self.assertEqual(['fip_route', 'veth_leak', 'gateway_drain',
                          'port_forward'],
                         conf.drivers)
        self.assertEqual('br-ex', conf.bridge_dev)
        self.assertEqual('169.254.169.254', conf.bridge_ip)
        self.assertEqual([], conf.network_cidr)
        self.assertEqual('', conf.gateway_port)
        self.assertEqual(60, conf.reconcile_interval)
        self.assertEqual(0.05, conf.event_coalesce)
        self.assertIs(False, conf.dry_run)
        self.assertEqual('info', conf.log_level)
        self.assertEqual('', conf.ovs.ovs_wrapper)
        self.assertIs(True, conf.veth_leak.veth_leak_enabled)
        self.assertEqual('', conf.veth_leak.veth_provider_ip)
        self.assertIs(True, conf.cleanup_on_shutdown)
        self.assertEqual([], conf.ovn.ovn_nb_remote)
        self.assertEqual('unix:/run/openvswitch/db.sock',
                         conf.ovs.ovsdb_connection)
        self.assertEqual('vrf-provider', conf.frr.vrf_name)
        self.assertEqual('ANNOUNCED-NETWORKS', conf.frr.frr_prefix_list)
        self.assertEqual('static', conf.fip_route.announce_method)
        self.assertEqual(0, conf.fip_route.route_table_id)
        self.assertEqual(1000, conf.fip_route.route_rule_priority)
        self.assertEqual('169.254.0.1', conf.veth_leak.veth_nexthop)
        self.assertEqual(200, conf.veth_leak.veth_leak_table_id)
        self.assertEqual(2000, conf.veth_leak.veth_leak_rule_priority)
        self.assertEqual(300, conf.gateway_drain.stale_chassis_grace_period)
        self.assertEqual(0, conf.gateway_drain.silent_chassis_limit)
        self.assertEqual(
            (True, 60, 0.5, 30, 'standby', True),
            tuple(conf.gateway_drain[name] for name in (
                'drain_on_shutdown', 'drain_timeout', 'drain_settle_delay',
                'handover_timeout', 'restore', 'relay')))

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
        self.assertEqual('', conf.frr.frr_prefix_list)
        self.assertEqual('', conf.frr.vrf_name)
        conf = self.load(env={'OS_FRR__FRR_PREFIX_LIST': ''})
        self.assertEqual('', conf.frr.frr_prefix_list)

    def test_a_file_that_is_not_there_is_named(self):
        error = self.assertRaises(cfg.ConfigFilesNotFoundError, configs.loaded,
                                  '--config-file', '/nonexistent/a.conf')
        self.assertIn('/nonexistent/a.conf', str(error))

    def test_a_file_that_cannot_be_parsed_is_named(self):
        path = self.file('bridge_dev\n')
        error = self.assertRaises(
            cfg.ConfigFileParseError, configs.loaded, '--config-file', path)
        self.assertIn(path, str(error))

    def test_version_needs_no_other_option(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = self.assertRaises(SystemExit, self.load,
                                     argv=['--version']).code
        self.assertEqual((0, '1.2.3'), (code or 0, out.getvalue().strip()))

    def test_unknown_arguments_are_refused(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            code = self.assertRaises(SystemExit, self.load,
                                     argv=['--bridge']).code
        self.assertEqual(2, code)
        self.assertIn('--bridge', err.getvalue())

    def test_an_option_given_by_argument_survives_a_reload(self):
        conf = self.load('[DEFAULT]\ndry_run = false\n', ['--dry-run'])
        conf.mutate_config_files()
        self.assertIs(True, conf.dry_run)


class ListTest(confs.ConfTestCase):

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
        self.assertEqual(['fip_route', 'veth_leak', 'gateway_drain',
                          'port_forward'],
                         opts.list_opts()[0][1][0].default)

    def test_drivers_may_register_their_options_again(self):
        conf = self.load()
        for group, options in opts.SECTIONS[1:]:
            conf.register_opts(options, group=group)


PAGE = (pathlib.Path(reload.__file__).parents[2] / 'doc' / 'source' /
        'configuration' / 'sources.rst')


class RestartTest(base.BaseTestCase):

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
