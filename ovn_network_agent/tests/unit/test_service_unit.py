# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The unit file that is shipped."""

import configparser
import pathlib
import unittest

from ovn_network_agent import privileged
from ovn_network_agent.cmd import agent
from ovn_network_agent.conf.options import base
from ovn_network_agent.tests.unit import world

ROOT = pathlib.Path(__file__).resolve().parents[3]
# What takes the agent along when another unit stops.
BINDING = ('Requires', 'Requisite', 'BindsTo', 'PartOf')


class ServiceUnitTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        path, = (ROOT / 'contrib').rglob('*.service')
        self.text = path.read_text()
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str
        unit.read_string(self.text)
        self.unit, self.service = unit['Unit'], unit['Service']

    def test_a_restart_of_frr_does_not_stop_the_agent(self):
        # Trap T45: it would withdraw every floating IP of the node.
        for name in BINDING:
            self.assertNotIn(name, self.unit)
        for name in 'Wants', 'After':
            self.assertIn('frr.service', self.unit[name].split())

    def test_the_directory_of_the_control_socket(self):
        default = next(option.default for option in base.OPTS
                       if option.name == 'control_socket')
        self.assertEqual(
            pathlib.PurePath(default).parent,
            pathlib.PurePath('/run') / self.service['RuntimeDirectory'])

    def test_ovn_controller_goes_on_whatever_is_killed(self):
        # The program that ends an overlap dies with the control group.
        self.assertIn('\nExecStopPost=-+/usr/bin/ovn-appctl -t '
                      'ovn-controller debug/resume\n', self.text)

    def test_what_was_stopped_stays_so(self):
        # Row DRN-27.
        never = set(map(int, self.service['RestartPreventExitStatus'].split()))
        self.assertEqual({agent.EXIT_CONFIGURATION, agent.EXIT_INCOMPLETE,
                          agent.EXIT_NOT_TAKEN_OVER}, never)

    def test_a_lack_of_memory_is_no_orderly_stop(self):
        # The default, "stop", would withdraw all because of one vtysh.
        self.assertIn('\nOOMPolicy=continue\n', self.text)

    def test_it_never_gives_up(self):
        # It may be the first one up, and what it lacks may take minutes.
        self.assertEqual('0', self.unit['StartLimitIntervalSec'])
        self.assertNotIn('StartLimitBurst', self.unit)

    def test_a_call_that_is_given_up_comes_before_the_watchdog(self):
        # A pass waits for FRR for a second at most, beside the loop.
        longest = max(context.timeout for context in privileged.CONTEXTS
                      if context is not privileged.frr)
        self.assertGreater(int(self.service['WatchdogSec']), longest)
        self.assertEqual('on-failure', self.service['Restart'])
        # Type=notify and the main process alone: its signs count.
        self.assertEqual('main', self.service['NotifyAccess'])
        self.assertNotIn('WatchdogSignal', self.service)

    def test_it_may_take_the_time_of_a_drain_and_of_the_clean_up(self):
        # Row DRN-22: systemd kills what is not done by then.
        conf = world.conf()
        self.assertGreater(
            int(self.service['TimeoutStopSec']),
            conf.gateway_drain.drain_timeout + conf.shutdown_timeout)
