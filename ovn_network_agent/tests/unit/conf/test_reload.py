# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A reload takes in what is good and leaves alone what is not."""

import itertools
import logging
import os
import re

import fixtures
from oslo_log import log

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import reload
from ovn_network_agent.conf import validate
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.unit.conf import base

# Values for types of all kinds; the first that fits is taken.
VALUES = ('false', 'true', '61', '1001', '201', '3000', '400.5', '0', '5',
          '169.254.99.1', '198.51.100.0/24', 'tcp:127.0.0.1:6640',
          '127.0.0.1:9132', 'other', '/nowhere/other', 'other:4400001',
          '2001:db8::1', '11111111-2222-4333-8444-555555555555')
# These have to fit to other options.
ANOTHER = {
    'exclude_cidrs': '192.0.2.0/24', 'exclude_routers': 'another',
    'exclude_networks': 'another',
    'drivers': 'fip_route,gateway_drain', 'veth_nexthop': '169.254.3.2',
    'veth_provider_ip': '169.254.3.1', 'silent_chassis_limit': '400',
    'bridge_dev': 'br-new', 'vrf_name': 'vrf-new',
    'port_forward_dev': 'loopback2', 'veth_leak_table_id': '77',
    'port_forward_table_id': '78', 'route_table_id': '79'}
SEVEN = '[DEFAULT]\nreconcile_interval = 7\n'
CERTIFICATE = re.compile('_ssl_(ca|cert|key)$')


def another(option):
    """Another value of an option than its default, as in a file."""
    if option.dest in ANOTHER:
        return ANOTHER[option.dest]
    choices = getattr(option.type, 'choices', None) or ()
    for value in (*choices, *VALUES):
        try:
            if option.type(value) != option.default:
                return value
        except ValueError:
            continue
    raise AssertionError(f'no value for {option.name}; add one to VALUES')


class ReloadTest(base.ConfTestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.conf = self.load('[DEFAULT]\nreconcile_interval = 5\n')

    def rewrite(self, text):
        with open(self.conf.config_file[0], 'wb') as opened:
            opened.write(text.encode(errors='surrogateescape'))

    def refused(self, text, *args, **kwargs):
        """What is said of the text of a file, None for no file."""
        if text is None:
            os.unlink(self.conf.config_file[0])
        else:
            self.rewrite(text)
        error = self.assertRaises(validate.ConfigError, reload.reload,
                                  self.conf, *args, **kwargs)
        self.assertEqual(5, self.conf.reconcile_interval)
        return str(error)

    def test_others_stay_and_are_named(self):
        self.rewrite(f'{SEVEN}bridge_dev = br-new\n')
        reload.reload(self.conf)
        self.assertEqual((7, 'br-ex'), (self.conf.reconcile_interval,
                                        self.conf.bridge_dev))
        self.assertIn('bridge_dev', self.log.output)

    def test_what_cannot_be_used_changes_nothing(self):
        path, interval = self.conf.config_file[0], 'reconcile_interval = 7\n'
        for text, *words in (
                # oslo.config raises SystemExit for it, when it is an
                # argument, and the loop goes on.
                ('[DEFAULT]\ndry_run = maybe\n',
                 "[DEFAULT] dry_run: Unexpected boolean value 'maybe'"),
                ('[DEFAULT]\nreconcile_interval = 0\ndebug = true\n',
                 'reconcile_interval'),
                # What contradicts itself.
                (f'[DEFAULT]\n{interval}'
                 '[veth_leak]\nveth_nexthop = 169.254.0.2\n',
                 'veth_nexthop'),
                ('reconcile_interval\n', path),
                (f'[DEFAULT]\n# l\udce4uft\n{interval}', 'cannot be read'),
                (None, path)):
            self.assertIn(*words, self.refused(text))
        self.assertIs(False, self.conf.debug)

    def test_a_mistake_beside_the_files_changes_nothing(self):
        self.assertIn('no 7', self.refused(SEVEN, problems=lambda files: [
            f'no {files.reconcile_interval}']))

    def test_port_forwarding_neither_begins_nor_ends(self):
        """The rest takes effect, and the file of the start stays."""
        self.rewrite(f'{SEVEN}[port_forward]\n'
                     'rules_file = /etc/rules.yaml\n')
        for _time in range(2):
            change, = reload.reload(self.conf).waiting
            self.assertEqual(('rules_file', '', '/etc/rules.yaml'), (
                change.option, change.before, change.after))
            self.assertIn('only a start', change.reason)
            self.assertEqual(('', 7), (self.conf.port_forward.rules_file,
                                       self.conf.reconcile_interval))
        # Back again, nothing waits.
        self.rewrite(SEVEN)
        self.assertEqual(((), ()), self.reloaded())
        self.conf = self.load('[port_forward]\nrules_file = /etc/a.yaml\n')
        self.rewrite(SEVEN)
        change, = reload.reload(self.conf).waiting
        self.assertEqual(('rules_file', '/etc/a.yaml', ''), (
            change.option, change.before, change.after))
        self.assertEqual('/etc/a.yaml', self.conf.port_forward.rules_file)
        # Another name is no end.
        self.rewrite('[port_forward]\nrules_file = /etc/b.yaml\n')
        self.assertEqual(
            (('[DEFAULT] reconcile_interval: 7 -> 60',
              '[port_forward] rules_file: /etc/a.yaml -> /etc/b.yaml'), ()),
            self.reloaded())
        self.assertEqual('/etc/b.yaml', self.conf.port_forward.rules_file)

    def reloaded(self):
        """What a reload has changed, and what waits, as texts."""
        done = reload.reload(self.conf)
        return (tuple(map(str, done.changed)), tuple(map(str, done.waiting)))

    def test_the_answer(self):
        ovn = '[ovn]\novn_nb_remote = {}\novn_sb_remote = tcp:192.0.2.1:2\n'
        for name in base.REMOTES:
            self.useFixture(fixtures.EnvironmentVariable(name))
        self.conf = configs.loaded('--config-file', self.file(
            '[DEFAULT]\nreconcile_interval = 5\n' +
            ovn.format('tcp:192.0.2.1:1')))
        self.rewrite(f'{SEVEN}bridge_dev = br-new\n' +
                     ovn.format('tcp:192.0.2.9:1'))
        changed, waiting = self.reloaded()
        self.assertEqual(('[DEFAULT] reconcile_interval: 5 -> 7',), changed)
        self.assertEqual(
            ('[DEFAULT] bridge_dev: br-ex -> br-new (the privileged side '
             'keeps to the values with which it was started)',
             '[ovn] ovn_nb_remote: tcp:192.0.2.1:1 -> tcp:192.0.2.9:1 '
             '(the connections are made at the start)'), waiting)
        # What waits goes on waiting, and is said again.
        self.assertEqual(((), waiting), self.reloaded())
        self.assertEqual('br-ex', self.conf.bridge_dev)

    def test_every_option_is_in_the_answer(self):
        """Live, or named with the reason why not."""
        sections, live, waits = {}, set(), set()
        for group, option in opts.everything():
            if (opts.env_name(group, option.dest) in base.REMOTES or
                    CERTIFICATE.search(option.dest)):
                # The environment has precedence over the file; and a
                # certificate and its key have to exist.
                continue
            sections.setdefault(group, []).append(
                f'{option.dest} = {another(option)}\n')
            # Here, forwarding would begin.
            (live if option.mutable and option.dest != 'rules_file'
             else waits).add((group, option.dest))
        self.assertLess(10, len(live))
        self.assertLess(20, len(waits))
        self.conf = self.load()
        self.rewrite(''.join(f'[{group}]\n{"".join(lines)}'
                             for group, lines in sections.items()))
        done = reload.reload(self.conf)
        self.assertEqual(live, {(c.section, c.option) for c in done.changed})
        self.assertEqual(waits, {(c.section, c.option) for c in done.waiting})
        self.assertTrue(all(c.reason for c in done.waiting))

    def test_a_value_of_the_command_line_waits_for_nothing(self):
        self.conf = self.load(argv=['--debug', '--dry-run'])
        self.rewrite('[DEFAULT]\ndebug = false\ndry_run = false\n')
        self.assertEqual(((), ()), self.reloaded())
        self.assertEqual((True, True), (self.conf.debug, self.conf.dry_run))

    def test_files_that_change_meanwhile_are_read_again(self):
        """A value that was not checked never gets in force."""
        texts = ['[DEFAULT]\nreconcile_interval = often\n',
                 '[DEFAULT]\nreconcile_interval = 8\n']

        def prepare(read):
            if texts:
                # That is after the check, and before the use.
                self.rewrite(texts.pop(0))
        self.assertIn('often', self.refused(SEVEN, prepare))
        self.rewrite(SEVEN)
        done = reload.reload(self.conf, prepare)
        self.assertEqual(('5', '8'), (done.changed[0].before,
                                      done.changed[0].after))
        self.assertEqual(8, self.conf.reconcile_interval)

    def test_files_that_never_stay_the_same(self):
        numbers = itertools.count(10)

        def prepare(read):
            self.rewrite('[DEFAULT]\nreconcile_interval = '
                         f'{next(numbers)}\n')
        self.assertIn('change while they are read', self.refused('', prepare))

    def test_a_log_that_cannot_be_set_up_changes_nothing(self):
        """The library sets the log up after it has changed all values."""
        log.setup(self.conf, 'test')
        self.addCleanup(logging.getLogger().setLevel,
                        logging.getLogger().level)
        bad = self.file('nonsense', 'logging.ini')
        self.assertIn('log_config_append', self.refused(
            f'{SEVEN}log_config_append = {bad}\n'))
        self.assertIsNone(self.conf.log_config_append)

    def test_a_password_is_not_in_the_answer(self):
        self.rewrite('[frr]\nvtysh_wrapper = ssh --password=geheim frr\n')
        change, = reload.reload(self.conf).waiting
        self.assertEqual('ssh --password=*** frr', change.after)

    def test_the_environment_counts_as_at_the_start(self):
        self.rewrite(SEVEN)
        self.useFixture(fixtures.EnvironmentVariable(
            'OS_DEFAULT__RECONCILE_INTERVAL', '9'))
        reload.reload(self.conf)
        self.assertEqual(9, self.conf.reconcile_interval)
