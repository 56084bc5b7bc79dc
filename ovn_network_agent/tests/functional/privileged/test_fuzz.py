# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The wall, attacked at random by somebody who owns the agent's process.

What is called, and what has to hold, is in tests/fuzz/targets/privileged.py;
tests/functional/privileged/test_wall.py has the attacks that people thought
of.
"""

import json
import os
import subprocess
import sys

import fixtures
from oslotest import base

from ovn_network_agent.tests import budget
from ovn_network_agent.tests import entry_points
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.fuzz import corpus
from ovn_network_agent.tests.fuzz import foreign
from ovn_network_agent.tests.fuzz import peers
from ovn_network_agent.tests.fuzz import targets
from ovn_network_agent.tests.fuzz.targets import privileged

RUNS = 100
OF_ROOT = sorted(name for name, target in targets.TARGETS.items()
                 if target.root)


class FuzzTest(base.BaseTestCase):

    def test_every_entry_point(self):
        """In a process of its own, whose network namespace ends with it."""
        directory = self.useFixture(fixtures.TempDir()).path
        done = subprocess.run(
            [sys.executable, '-m', 'ovn_network_agent.tests.fuzz',
             '--target', r'^privileged\.', '--findings', directory,
             '--runs', str(budget.examples(RUNS))],
            text=True, capture_output=True)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        ran = {words[0]: int(words[1]) for words in map(
            str.split, done.stdout.splitlines()) if words[2:3] == ['inputs']}
        self.assertEqual(OF_ROOT, sorted(ran))
        for name, count in ran.items():
            self.assertLess(len(corpus.read(name)), count)
        self.assertEqual([], os.listdir(directory))


class ForeignTest(base.BaseTestCase):
    """What the search would say if something were touched."""

    def setUp(self):
        super().setUp()
        entered = namespaces.new()
        entered.__enter__()
        self.addCleanup(entered.__exit__, None, None, None)
        for command in privileged._POPULATION:
            self.ip(command)
        self.objects = foreign.Objects()

    def ip(self, command):
        subprocess.run(['ip', *command.split()], check=True)

    def test_ours_may_come_and_go(self):
        self.objects.check()
        for command in ('route add 198.51.100.10/32 dev br-ex proto {route}',
                        'rule add pref 9 from 10.0.0.0/24 table 9 '
                        'protocol {rule}',
                        'link del veth-default'):
            self.ip(command.format(
                route=foreign.ownership.ROUTE_PROTOCOL,
                rule=foreign.ownership.RULE_PROTOCOL))
            self.objects.check()

    def test_others_may_not(self):
        for command in (
                'neighbour change 10.8.8.1 lladdr 02:00:00:00:00:02 dev br-ex',
                'route del default', 'route replace default dev br-ex',
                'route add 10.1.0.0/16 dev br-ex proto static',
                'rule add pref 9 from 10.0.0.0/24 table 9',
                'rule del pref 100', 'address del 10.8.8.8/24 dev br-ex',
                'neighbour del 10.9.9.1 dev management',
                'address flush dev management',
                'link set management mtu 1400', 'link set management down',
                'link set br-ex alias x', 'link del management'):
            before = foreign.Objects()
            self.ip(command)
            try:
                before.check()
            except AssertionError:
                continue
            self.fail(command)

    def test_sysctls_of_others_may_not(self):
        for name in ('ip_forward', 'conf/management/proxy_arp',
                     'conf/all/rp_filter'):
            before = foreign.Objects()
            with open('/proc/sys/net/ipv4/' + name) as opened:
                value = '0' if int(opened.read()) else '1'
            with open('/proc/sys/net/ipv4/' + name, 'w') as opened:
                opened.write(value)
            self.assertRaises(AssertionError, before.check)

    def test_flows_of_others(self):
        ours = peers.Change(foreign.ownership.COOKIE_HAIRPIN, 0, 0, peers.ADD,
                            foreign.ownership.PRIORITY_HAIRPIN)
        privileged._check_flow(ours)
        gone = ours._replace(command=peers.DELETE_STRICT,
                             mask=(1 << 64) - 1, table=7)
        privileged._check_flow(gone)
        for bad in (ours._replace(cookie=1), ours._replace(table=1),
                    ours._replace(priority=1), ours._replace(command=3),
                    ours._replace(command=1), gone._replace(mask=0),
                    gone._replace(cookie=0)):
            with self.subTest(bad):
                self.assertRaises(AssertionError, privileged._check_flow, bad)

    def test_commands_that_are_not_of_the_agent(self):
        for command in ('configure terminal', 'enable',
                        'ip route 198.51.100.10/32 169.254.0.1',
                        'show daemons'):
            self.assertTrue(privileged._COMMANDS.fullmatch(command), command)
        for command in ('show running-config\nconfigure terminal', 'no router',
                        'ip route 0.0.0.0/0 169.254.0.1',
                        'no ip prefix-list OTHER permit 10.0.0.0/8',
                        'ip route 198.51.100.10/32 10.9.9.1',
                        'router bgp 65001', 'password x'):
            self.assertIsNone(privileged._COMMANDS.fullmatch(command), command)

    def test_inputs_are_calls(self):
        points = entry_points.found()
        for name in OF_ROOT:
            calls = [json.loads(data)[0] for data in corpus.read(name)[:1]]
            self.assertLess(0, len(calls))
            self.assertLessEqual(set(calls), set(points))
