# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Port-forward-only mode: when it is, what is refused, what is loaded."""

from importlib import metadata

import fixtures

from ovn_network_agent.conf import mode as options
from ovn_network_agent.conf import validate
from ovn_network_agent.forward import rules
from ovn_network_agent.model import port_forwards
from ovn_network_agent.runtime.process import mode
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.conf import base

RULES = '[port_forward]\nrules_file = /etc/ovn-network-agent/rules.yaml\n'
DRIVERS = '[DEFAULT]\ndrivers = fip_route,veth_leak,port_forward\n'
RULES_FILE = '''\
port_forwards:
- vip: 192.0.2.53
  router_masquerade: true
  hairpin_masquerade: true
  rules:
  - {proto: tcp, port: 53, dest_addr: 10.0.0.5}
'''
NB = {'OS_OVN__OVN_NB_REMOTE': 'tcp:192.0.2.1:6641'}
SB = {'OS_OVN__OVN_SB_REMOTE': 'tcp:192.0.2.1:6642'}


def used(conf, what):
    """Names of the plugins that have a use in the mode of a file."""
    points = metadata.entry_points(group='ovn_network_agent.' + what)
    return {point.name for point in points
            if (what != 'drivers' or point.name in conf.drivers) and
            mode.uses(conf, point.load(), conf)}


class ModeTest(base.ConfTestCase):

    def test_one_problem_each(self):
        """Row PFM-01: the text names the other remote, with the remedy."""
        for text, env, *parts in (
                (DRIVERS + RULES, NB, '[ovn] ovn_sb_remote is not set',
                 'tcp:192.0.2.1:6642'),
                # Also without any rules.
                ('', SB, '[ovn] ovn_nb_remote is not set',
                 'tcp:192.0.2.1:6641'),
                ('', {}, 'nothing to do', 'ovn_nb_remote', 'ovn_sb_remote',
                 '[port_forward] rules_file'),
                ('[DEFAULT]\ndrivers = fip_route\n' + RULES, {},
                 '[DEFAULT] drivers = fip_route: lacks port_forward'),
                (DRIVERS + RULES + 'vip_announce = with-gateway\n', {},
                 '[port_forward] vip_announce = with-gateway', 'always')):
            for name in {*NB, *SB}:
                self.useFixture(fixtures.EnvironmentVariable(name))
            self.check_one(validate.problems(self.load(
                text, remotes=False, env=env)), *parts)

    def test_both_remotes_are_the_full_mode(self):
        """Row PFM-01."""
        conf = self.load(DRIVERS + RULES)
        self.assertEqual([], validate.problems(conf))
        self.assertEqual(mode.FULL, mode.name(conf))
        self.assertEqual({'fip_route', 'veth_leak', 'port_forward'},
                         used(conf, 'drivers'))
        self.assertEqual(set(world.BACKENDS), used(conf, 'backends'))

    def test_no_remote_and_rules_are_port_forward_only(self):
        """Rows PFM-01, PFM-02."""
        conf = self.load(DRIVERS + RULES, remotes=False)
        self.assertEqual([], validate.problems(conf))
        self.assertEqual([], validate.warnings(conf))
        self.assertEqual('port-forward-only', mode.name(conf))
        self.assertEqual({'veth_leak', 'port_forward'}, used(conf, 'drivers'))
        self.assertEqual({'link', 'sysctl', 'address', 'neighbour',
                          'neighbour_proxy', 'route', 'rule', 'nftables'},
                         used(conf, 'backends'))

    def test_without_a_vrf_there_is_no_leak(self):
        conf = self.load(DRIVERS + RULES + '[frr]\nvrf_name =\n',
                         remotes=False)
        self.assertEqual({'port_forward'}, used(conf, 'drivers'))

    def test_only_the_daemons_that_are_needed(self):
        names = [context.name for context in mode.contexts(
            self.load(DRIVERS + RULES, remotes=False))]
        self.assertIn('kernel', names)
        self.assertTrue({'ovs', 'frr'}.isdisjoint(names), names)
        full = [context.name for context in mode.contexts(self.load(RULES))]
        self.assertTrue({'kernel', 'ovs', 'frr'} <= set(full), full)


class LacksTest(base.ConfTestCase):
    """Row PFM-03."""

    def load_rules(self, content, text=''):
        path = self.file(content, 'rules.yaml')
        conf = self.load(
            f'{DRIVERS}{text}[port_forward]\nrules_file = {path}\n',
            remotes=False)
        return path, rules.problems(conf)

    def test_messages_name_file_line_and_value(self):
        path, messages = self.load_rules(RULES_FILE)
        self.assertEqual(
            [f'{path}, line 3: port_forwards[0].router_masquerade = true: '
             'needs the SNAT addresses',
             f'{path}, line 4: port_forwards[0].hairpin_masquerade = true: '
             'needs the provider networks'],
            [message.partition(' of routers')[0].partition(', and')[0]
             for message in messages])
        path, (message,) = self.load_rules('port_forwards: []\n')
        self.assertTrue(message.startswith(
            f'{path}, line 1: port_forwards: has no VIP'), message)
        _path, (message,) = self.load_rules(
            RULES_FILE.replace('  router_masquerade: true\n', ''))
        self.assertIn('hairpin_masquerade', message)
        self.assertEqual([], self.load_rules(
            RULES_FILE.replace('  router_masquerade: true\n', ''),
            '[DEFAULT]\nnetwork_cidr = 198.51.100.0/24\n')[1])

    def test_with_ovn_all_of_it_is_fine(self):
        vip = port_forwards.Vip('192.0.2.1', hairpin_masquerade=True,
                                router_masquerade=True)
        for vips in (vip,), ():
            self.assertEqual([], list(options.lacks(self.load(), vips)))
